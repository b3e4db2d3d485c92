//! As much of HTTP/1.1 as the doors need on loopback.

use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than any answer takes, so that nothing hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends a request; gives the status and the body.
pub(crate) fn send(
    to: SocketAddr,
    method: &str,
    path: &str,
    body: &str,
) -> io::Result<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut reader = BufReader::new(stream);
    let mut status = String::new();
    reader.read_line(&mut status)?;
    let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| io::Error::other("no status line"))?;
    Ok((status, rest(&mut reader)?))
}

/// A request that was read.
pub(crate) struct Request {
    /// Method and path, query included.
    pub(crate) line: String,
    pub(crate) body: String,
}

/// Reads the next request of a connection; `None` at its end.
pub(crate) fn read(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let body = rest(reader)?;
    Ok(Some(Request { line, body }))
}

/// Headers and body, as long as the headers say.
fn rest(reader: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let header = header.trim_end().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    String::from_utf8(body).map_err(io::Error::other)
}
