//! The part of HTTP/1.1 that the tests need on loopback.

use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than any response takes, also on a busy machine, so that only a server that hangs fails a test.
const PATIENCE: Duration = Duration::from_mins(10);

/// A received request.
pub struct Request {
    /// Method and path, including the query.
    pub line: String,
    /// The body.
    pub body: String,
}

/// A received response.
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The header with this name; empty if it is missing.
    pub location: String,
    /// The body.
    pub body: String,
}

/// Sends a request with JSON; returns the status and the body.
///
/// # Errors
///
/// If the connection fails, or the response is not HTTP.
pub fn send(to: SocketAddr, method: &str, path: &str, body: &str) -> io::Result<(u16, String)> {
    let headers = [("Content-Type", "application/json")];
    let response = exchange(to, &format!("{method} {path}"), &headers, body, PATIENCE)?;
    Ok((response.status, response.body))
}

/// Sends a request, with a time limit for each part of the response.
///
/// # Errors
///
/// If the connection fails, the time is up, or the response is not HTTP.
pub fn exchange(
    to: SocketAddr,
    line: &str,
    headers: &[(&str, &str)],
    body: &str,
    patience: Duration,
) -> io::Result<Response> {
    let mut stream = TcpStream::connect_timeout(&to, patience)?;
    stream.set_read_timeout(Some(patience))?;
    let headers: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    write!(
        stream,
        "{line} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n{}Content-Length: {}\r\n\r\n{body}",
        headers.concat(),
        body.len()
    )?;
    let mut reader = BufReader::new(stream);
    let mut status = String::new();
    reader.read_line(&mut status)?;
    let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| io::Error::other("no status line"))?;
    let (location, body) = headers_and_body(&mut reader)?;
    Ok(Response {
        status,
        location,
        body,
    })
}

/// Reads the next request of a connection; `None` at the end of the connection.
///
/// # Errors
///
/// If the connection fails, or the data is not HTTP.
pub fn read(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let (_, body) = headers_and_body(reader)?;
    Ok(Some(Request { line, body }))
}

/// The header `Location`, and the body with the length that the headers specify.
fn headers_and_body(reader: &mut BufReader<TcpStream>) -> io::Result<(String, String)> {
    let (mut length, mut location) = (0, String::new());
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let header = header.trim_end();
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').unwrap_or((header, ""));
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().map_err(io::Error::other)?,
            "location" => value.trim().clone_into(&mut location),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8(body).map_err(io::Error::other)?;
    Ok((location, body))
}
