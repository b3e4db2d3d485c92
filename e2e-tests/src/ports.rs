//! Ports for programs that cannot choose one themselves.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

/// How often ports are chosen anew.
const TRIES: usize = 3;

/// An address that was free just now.
///
/// # Errors
///
/// The system has none.
pub fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// Starts something, and starts it anew if somebody else took a port of its before it did.
///
/// # Errors
///
/// Why it does not start.
pub fn retried<T>(mut start: impl FnMut() -> Result<T, String>) -> Result<T, String> {
    for _ in 1..TRIES {
        match start() {
            // In the words of Go and in Rust's.
            Err(why) if why.to_lowercase().contains("address already in use") => {}
            came => return came,
        }
    }
    start()
}
