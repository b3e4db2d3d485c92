//! Ports for programs that cannot choose one themselves.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

/// The maximum number of attempts to choose ports.
const TRIES: usize = 3;

/// An address that was free a moment ago.
///
/// # Errors
///
/// If the system has no free address.
pub fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// Starts something, and starts it again if another process took one of its ports first.
///
/// # Errors
///
/// Why it cannot be started.
pub fn retried<T>(mut start: impl FnMut() -> Result<T, String>) -> Result<T, String> {
    for _ in 1..TRIES {
        match start() {
            // The wording of Go and of Rust.
            Err(why) if why.to_lowercase().contains("address already in use") => {}
            came => return came,
        }
    }
    start()
}
