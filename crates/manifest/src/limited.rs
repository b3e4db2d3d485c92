//! A limit for what is read.

use std::io::{self, ErrorKind, Read};

/// How many bytes a file may have.
pub const LIMIT: u64 = 256 << 20;

/// A reader with an error where there is too much: a device need not end.
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

    /// Limits a reader to so many bytes, which are whole MiB.
    pub fn to(reader: R, limit: u64) -> Self {
        Self {
            reader,
            limit,
            left: limit,
        }
    }

    /// Reads everything.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is too much.
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

/// The error about a file that has more than the limit.
fn too_large(limit: u64) -> io::Error {
    let what = format!("it has more than {} MiB", limit >> 20);
    io::Error::new(ErrorKind::FileTooLarge, what)
}
