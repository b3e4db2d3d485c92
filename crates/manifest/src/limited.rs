//! A limit for what is read.

use std::io::{self, ErrorKind, Read};

/// How many bytes a file may have.
pub const LIMIT: u64 = 256 << 20;

/// A reader with an error where there is too much: a device need not end.
#[derive(Debug)]
pub struct Limited<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Limited<R> {
    /// Limits a reader.
    pub fn new(reader: R) -> Self {
        let left = LIMIT;
        Self { reader, left }
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
        self.left = left.ok_or_else(too_large)?;
        Ok(length)
    }
}

/// The error about a file that has more than the limit.
fn too_large() -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, "it has more than 256 MiB")
}
