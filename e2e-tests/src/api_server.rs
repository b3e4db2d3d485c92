//! A fake API server that replays recorded answers, by HTTPS, because no client sends credentials by HTTP.
//!
//! `api_server.jsonl` holds what kube-apiserver 1.36.3 answered, with HCO's CRD of 2026-08 and three nodes;
//! without managed fields, and of the core resources those that are requested.

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::certificate;

/// A running API server; it ends with the process.
///
/// It also reads plain HTTP, as a proxy does. The server selects an answer by its `request`, which can end with a star for any suffix, and by the user, `as`. It sends
/// the answer at most `times` times, with the headers `Retry-After` and `Location` if `retry_after` and `location` are set,
/// and does not respond if `silent` is set. It replaces `$ASKED` with the number of requests so far.
pub struct ApiServer {
    address: SocketAddr,
    kubeconfig: PathBuf,
    asked: Arc<Mutex<Vec<String>>>,
}

/// The certificate of all servers, in PEM, and their TLS.
static TLS: LazyLock<(String, Arc<ServerConfig>)> = LazyLock::new(|| {
    let (certificate, key) = certificate();
    let chain = CertificateDer::pem_slice_iter(certificate.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.map(Result::unwrap).collect(), key)
        .unwrap();
    (certificate, Arc::new(config))
});

/// The recorded answers.
pub fn recorded() -> Vec<Value> {
    include_str!("api_server.jsonl")
        .lines()
        .map(|row| serde_json::from_str(row).unwrap())
        .collect()
}

impl ApiServer {
    /// Starts a server with these answers on a free port of the loopback interface.
    pub fn start(answers: Vec<Value>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let answers = answers.into_iter();
        let answers = answers.map(|answer| (answer, AtomicUsize::new(0)));
        let answers: Arc<Vec<_>> = Arc::new(answers.collect());
        let seen = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answers, seen) = (Arc::clone(&answers), Arc::clone(&seen));
                // If a connection breaks, the client has disconnected.
                thread::spawn(move || connected(stream, &answers, &seen));
            }
        });
        let mut server = Self::at(address);
        server.asked = asked;
        server
    }

    /// Writes a kubeconfig for a server at this address, without starting one.
    pub fn at(address: SocketAddr) -> Self {
        let name = format!("hco-api-server-{}-{}", std::process::id(), address.port());
        let kubeconfig = std::env::temp_dir().join(name);
        let of = |name: &str| json!({"name": name, "context": {"cluster": "c", "user": name, "namespace": "here"}});
        let user = |name: &str| json!({"name": name, "user": {"token": name}});
        let users = ["admin", "limited", "wrong"];
        let text = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "admin",
            "clusters": [{"name": "c", "cluster": {
                "server": format!("https://{address}"),
                "certificate-authority-data": STANDARD.encode(&TLS.0),
            }}],
            "users": Value::from(users.map(user).to_vec()),
            "contexts": Value::from(users.map(of).to_vec()),
        });
        std::fs::write(&kubeconfig, text.to_string()).unwrap();
        Self {
            address,
            kubeconfig,
            asked: Arc::default(),
        }
    }

    /// A kubeconfig for programs that read one.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The address on which it listens.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// The requests that it received, with method and path.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.kubeconfig);
    }
}

fn connected(
    stream: TcpStream,
    answers: &[(Value, AtomicUsize)],
    asked: &Mutex<Vec<String>>,
) -> io::Result<()> {
    const HANDSHAKE: u8 = 0x16;
    let mut first = [0];
    stream.peek(&mut first)?;
    if first != [HANDSHAKE] {
        return serve(stream, answers, asked);
    }
    let connection = ServerConnection::new(Arc::clone(&TLS.1)).map_err(io::Error::other)?;
    serve(StreamOwned::new(connection, stream), answers, asked)
}

fn serve(
    stream: impl Read + Write,
    answers: &[(Value, AtomicUsize)],
    asked: &Mutex<Vec<String>>,
) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let request = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
        let (mut length, mut token, mut impersonated) = (0, String::new(), Vec::new());
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            match header.trim_end().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.parse().map_err(io::Error::other)?;
                }
                Some((name, value)) if name.eq_ignore_ascii_case("authorization") => {
                    value.trim_start_matches("Bearer ").clone_into(&mut token);
                }
                // `jane/ops` for Jane of the group ops.
                Some((name, value)) if name.to_ascii_lowercase().starts_with("impersonate-") => {
                    impersonated.push(value.to_owned());
                }
                Some(_) => {}
                None => break,
            }
        }
        if !impersonated.is_empty() {
            token = impersonated.join("/");
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        asked.lock().unwrap().push(request.clone());
        let sent: Value = serde_json::from_slice(&body).unwrap_or_default();
        // The server chooses the size of a page. The recorded page has two items.
        let exactly = request.clone();
        let request = request
            .replace("?&limit=500", "?")
            .replace("&limit=500", "");
        let request = request.trim_end_matches('?').replace("?&", "?");
        let is_for = |answer: &Value| {
            let pattern = answer["request"].as_str().unwrap_or_default();
            answer["as"] == *token
                && match pattern.strip_suffix('*') {
                    Some(start) => exactly.starts_with(start),
                    None => pattern == request || pattern == exactly,
                }
                && answer.get("sent").is_none_or(|spec| {
                    *spec == without_nulls(sent.get("spec").unwrap_or(&Value::Null))
                })
        };
        let answer = answers.iter().find(|(answer, given)| {
            is_for(answer) && {
                let given = given.fetch_add(1, Ordering::Relaxed) as u64;
                answer["times"].as_u64().is_none_or(|times| given < times)
            }
        });
        while answer.is_some_and(|(answer, _)| answer["silent"] == true) {
            thread::park();
        }
        let (status, body, headers): (_, _, String) = match answer {
            Some((answer, _)) => {
                let number = asked.lock().unwrap().len().to_string();
                let body = text_of(&answer["body"]).replace("$ASKED", &number);
                let retry_after = answer.get("retry_after");
                let retry_after = retry_after.map(|seconds| format!("Retry-After: {seconds}\r\n"));
                let location = answer.get("location").and_then(Value::as_str);
                let location = location.map(|address| format!("Location: {address}\r\n"));
                let headers = retry_after.into_iter().chain(location);
                (answer["status"].clone(), body, headers.collect())
            }
            None => (json!(404), "404 page not found\n".to_owned(), String::new()),
        };
        write!(
            reader.get_mut(),
            "HTTP/1.1 {status} Recorded\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        reader.get_mut().flush()?;
    }
}

fn text_of(body: &Value) -> String {
    match body {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Fields that are null are left out.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), without_nulls(value)))
            .collect(),
        other => other.clone(),
    }
}
