//! A limit for the size of inputs.

use std::io::{self, ErrorKind, Read};

/// The maximum size of a file in bytes.
pub const LIMIT: u64 = 256 << 20;

/// A reader that returns an error at the limit, because a device can be endless.
#[derive(Debug)]
pub struct Limited<R> {
    reader: R,
    limit: u64,
    left: u64,
}

impl<R: Read> Limited<R> {
    /// Limits a reader to 256 MiB.
    pub fn new(reader: R) -> Self {
        Self::to(reader, LIMIT)
    }

    /// Limits a reader to this number of bytes, a multiple of 1 MiB.
    pub fn to(reader: R, limit: u64) -> Self {
        Self {
            reader,
            limit,
            left: limit,
        }
    }

    /// Reads everything.
    pub fn bytes(mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        let left = self.left.checked_sub(length as u64);
        self.left = left.ok_or_else(|| too_large(self.limit))?;
        Ok(length)
    }
}

/// The error for a file that exceeds the limit.
fn too_large(limit: u64) -> io::Error {
    let what = format!("it has more than {} MiB", limit >> 20);
    io::Error::new(ErrorKind::FileTooLarge, what)
}
