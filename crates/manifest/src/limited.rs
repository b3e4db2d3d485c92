//! A limit for the size of inputs.

use std::io::{self, ErrorKind, Read};

/// The maximum size of a file in bytes.
pub const LIMIT: u64 = 256 << 20;

/// Reads everything, up to this number of bytes, because a device can be endless. The limit is a multiple of 1 MiB.
pub fn read_up_to(limit: u64, reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = reader.take(limit + 1).read_to_end(&mut bytes)?;
    if length as u64 > limit {
        let what = format!("it has more than {} MiB", limit >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}
