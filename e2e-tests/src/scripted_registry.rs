//! Registries whose responses a test defines.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::docker_registry::{DockerRegistry, OCI, digest};

/// A registry without TLS; it stops with the process.
pub struct ScriptedRegistry {
    /// The address on which it listens.
    pub host: String,
    paths: Arc<Mutex<Vec<String>>>,
}

/// A request to the registry.
pub struct RegistryRequest {
    /// The path with the query.
    pub path: String,
    /// The header with this name; empty if it is missing.
    pub authorization: String,
    /// The address of the registry.
    pub host: String,
}

/// The content at a path of a registry in which each tag is an index with an image for arm64.
pub fn arm64(path: &str) -> String {
    let config = DockerRegistry::config("arm64").to_string();
    let descriptor = |media_type: &str, content: &str| {
        let (digest, size) = (digest(content), content.len());
        json!({"mediaType": media_type, "digest": digest, "size": size})
    };
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": OCI.manifest,
        "config": descriptor(OCI.config, &config),
        "layers": [],
    });
    let manifest = manifest.to_string();
    let mut entry = descriptor(OCI.manifest, &manifest);
    entry["platform"] = json!({"os": "linux", "architecture": "arm64"});
    let index = json!({"schemaVersion": 2, "mediaType": OCI.index, "manifests": [entry]});
    match path.rsplit('/').next() {
        Some(name) if name == digest(&manifest) => manifest,
        Some(name) if name == digest(&config) => config,
        _ => index.to_string(),
    }
}

/// A response with a body.
pub fn response(status: u16, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} Scripted\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

impl ScriptedRegistry {
    /// Starts a registry that answers each request with this function. Each connection has one request.
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
                    // A client may disconnect before it sends a request.
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

    /// Starts a registry that sends what this function returns for each request.
    pub fn answering(answer: impl Fn(&RegistryRequest) -> String + Send + Sync + 'static) -> Self {
        Self::start(move |request, to| {
            // A client may not read everything.
            let _ = to.write_all(answer(request).as_bytes());
        })
    }

    /// Starts a registry that needs no login and has a fault.
    pub fn faulty(fault: Fault) -> Self {
        Self::answering(move |request| match request.path.as_str() {
            "/v2/" => response(200, ""),
            path => fault.response(path),
        })
    }

    /// The requested paths.
    pub fn paths(&self) -> Vec<String> {
        self.paths
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Reads a request; returns nothing if the client uses TLS, which this registry does not support.
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

/// A fault of a registry, instead of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It redirects once, to an image for arm64.
    Redirect,
    /// It redirects forever.
    RedirectLoop,
    /// It closes the connection.
    Closed,
    /// It closes the connection in the middle of the response.
    ClosedEarly,
    /// Its response is not JSON.
    InvalidJson,
    /// Its response is JSON, but neither a manifest nor an index.
    NoManifest,
    /// Its manifest has the first schema version.
    SchemaVersion1,
    /// Its manifest has another media type.
    OtherMediaType,
    /// It requests credentials, but does not name the scheme.
    Unauthorized,
    /// It is behind a proxy that cannot reach it.
    BadGateway,
    /// It received too many requests.
    TooManyRequests,
    /// It rejects the request, with control characters for terminals.
    Forbidden,
    /// Its response is an index of 100 MB.
    Large,
}

impl Fault {
    /// All faults.
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

    /// The bytes of the response for a path.
    pub fn response(self, path: &str) -> String {
        const TOO_MANY: &str =
            r#"{"errors": [{"code": "TOOMANYREQUESTS", "message": "slow down"}]}"#;
        const FORBIDDEN: &str =
            r#"{"errors": [{"code": "DENIED", "message": "a\n::error::\u001b[2J\u202e"}]}"#;
        match self {
            Self::Redirect if path == "/elsewhere" || path.contains("sha256:") => {
                response(200, &arm64(path))
            }
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
                response(200, &arm64(path).replace(r#""manifests""#, &annotations))
            }
        }
    }
}

fn redirect(path: &str) -> String {
    format!(
        "HTTP/1.1 307 Elsewhere\r\nLocation: {path}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    )
}

/// A server that accepts connections and never responds. Its connections close when this value is dropped.
pub struct SilentServer {
    /// The address on which it listens.
    pub address: SocketAddr,
    connections: Receiver<TcpStream>,
    accepted: Mutex<Vec<TcpStream>>,
}

impl SilentServer {
    /// Starts a server on a free port of the loopback interface.
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, connections) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // The server has stopped.
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
    /// If no client connects in this time.
    pub fn wait_for_client(&self, patience: Duration) -> Result<(), RecvTimeoutError> {
        let stream = self.connections.recv_timeout(patience)?;
        let mut accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        accepted.push(stream);
        Ok(())
    }
}
