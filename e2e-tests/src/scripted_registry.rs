//! Registries that answer as a test wants it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// A registry without TLS; it ends with the process.
pub struct ScriptedRegistry {
    /// Where it listens.
    pub host: String,
    paths: Arc<Mutex<Vec<String>>>,
}

/// A request to it.
pub struct RegistryRequest {
    /// With the query.
    pub path: String,
    /// The header of this name; empty without one.
    pub authorization: String,
    /// The registry's own.
    pub host: String,
}

/// An index for arm64, as short as possible.
pub const ARM64: &str = r#"{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [{"mediaType": "", "digest": "", "size": 1, "platform": {"os": "linux", "architecture": "arm64"}}]}"#;

/// A response with a body.
pub fn response(status: u16, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} Scripted\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

impl ScriptedRegistry {
    /// Starts one that answers each request so. Each connection has one request.
    pub fn start(
        answer: impl Fn(&RegistryRequest, &mut TcpStream) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let paths: Arc<Mutex<Vec<String>>> = Arc::default();
        let (own_host, seen, answer) = (host.clone(), Arc::clone(&paths), Arc::new(answer));
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (host, seen) = (own_host.clone(), Arc::clone(&seen));
                let answer = Arc::clone(&answer);
                thread::spawn(move || {
                    // A client may go before it has asked.
                    if let Some(request) = read(&stream, host) {
                        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                        seen.push(request.path.clone());
                        drop(seen);
                        answer(&request, &mut stream);
                    }
                });
            }
        });
        Self { host, paths }
    }

    /// Starts one that needs no login and has a fault.
    pub fn faulty(fault: Fault) -> Self {
        Self::start(move |request, to| {
            let answer = match request.path.as_str() {
                "/v2/" => response(200, ""),
                path => fault.response(path),
            };
            // A client does not read everything.
            let _ = to.write_all(answer.as_bytes());
        })
    }

    /// The paths that were asked for.
    pub fn paths(&self) -> Vec<String> {
        self.paths
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Reads a request; nothing if the client wants TLS, which is not spoken here.
fn read(stream: &TcpStream, host: String) -> Option<RegistryRequest> {
    const HANDSHAKE: u8 = 0x16;
    let mut first = [0];
    stream.peek(&mut first).ok()?;
    if first == [HANDSHAKE] {
        return None;
    }
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let mut authorization = String::new();
    for line in lines.take_while(|line| !line.is_empty()) {
        if let Some((name, value)) = line.split_once(": ")
            && name.eq_ignore_ascii_case("authorization")
        {
            value.clone_into(&mut authorization);
        }
    }
    Some(RegistryRequest {
        path,
        authorization,
        host,
    })
}

/// What a registry does instead of answering with a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It redirects once, to an image for arm64.
    Redirect,
    /// It redirects for ever.
    RedirectLoop,
    /// It closes the connection.
    Closed,
    /// It closes the connection in the middle of the answer.
    ClosedEarly,
    /// Its answer is not JSON.
    InvalidJson,
    /// Its answer is JSON, but neither a manifest nor an index.
    NoManifest,
    /// Its manifest is of the first version.
    SchemaVersion1,
    /// Its manifest is of another media type.
    OtherMediaType,
    /// It asks for credentials and does not say in which way.
    Unauthorized,
    /// It is behind a proxy that does not reach it.
    BadGateway,
    /// It was asked too often.
    TooManyRequests,
    /// It refuses, with characters that a terminal would obey.
    Forbidden,
    /// Its answer is an index of 100 MB.
    Large,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Redirect,
        Self::RedirectLoop,
        Self::Closed,
        Self::ClosedEarly,
        Self::InvalidJson,
        Self::NoManifest,
        Self::SchemaVersion1,
        Self::OtherMediaType,
        Self::Unauthorized,
        Self::BadGateway,
        Self::TooManyRequests,
        Self::Forbidden,
        Self::Large,
    ];

    /// The bytes that it sends if it is asked for a path.
    pub fn response(self, path: &str) -> String {
        const TOO_MANY: &str =
            r#"{"errors": [{"code": "TOOMANYREQUESTS", "message": "slow down"}]}"#;
        const FORBIDDEN: &str =
            r#"{"errors": [{"code": "DENIED", "message": "a\n::error::\u001b[2J\u202e"}]}"#;
        match self {
            Self::Redirect if path == "/elsewhere" => response(200, ARM64),
            Self::Redirect => redirect("/elsewhere"),
            Self::RedirectLoop => redirect(&format!("{path}x")),
            Self::Closed => String::new(),
            Self::ClosedEarly => "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{".to_owned(),
            Self::InvalidJson => response(200, "{]"),
            Self::NoManifest => response(200, r#"{"schemaVersion": 2}"#),
            Self::SchemaVersion1 => response(200, r#"{"schemaVersion": 1}"#),
            Self::OtherMediaType => {
                response(200, r#"{"schemaVersion": 2, "mediaType": "text/html"}"#)
            }
            Self::Unauthorized => response(401, ""),
            Self::BadGateway => response(502, "<html>Bad"),
            Self::TooManyRequests => response(429, TOO_MANY),
            Self::Forbidden => response(403, FORBIDDEN),
            Self::Large => {
                let annotation = "x".repeat(100_000_000);
                let annotations = format!(r#""annotations": {{"x": "{annotation}"}}, "manifests""#);
                response(200, &ARM64.replace(r#""manifests""#, &annotations))
            }
        }
    }
}

fn redirect(path: &str) -> String {
    format!(
        "HTTP/1.1 307 Elsewhere\r\nLocation: {path}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    )
}

/// A server that accepts connections and never answers. With this value, its connections end.
pub struct SilentServer {
    /// Where it listens.
    pub address: SocketAddr,
    connections: Receiver<TcpStream>,
    accepted: Mutex<Vec<TcpStream>>,
}

impl SilentServer {
    /// Starts one on a free port of the loopback interface.
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, connections) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // The server has ended.
                if sender.send(stream).is_err() {
                    break;
                }
            }
        });
        Self {
            address,
            connections,
            accepted: Mutex::default(),
        }
    }

    /// Waits until a client has connected.
    ///
    /// # Errors
    ///
    /// None has in this time.
    pub fn wait_for_client(&self, patience: Duration) -> Result<(), RecvTimeoutError> {
        let stream = self.connections.recv_timeout(patience)?;
        let mut accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        accepted.push(stream);
        Ok(())
    }
}
