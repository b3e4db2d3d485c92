//! A Kubernetes API server for one purpose: it lists nodes, keeps their watch open, and answers reviews of
//! access.
//!
//! MIRRORS: what kubewarden-controller crates/policy-evaluator/src/callback_handler/kubernetes asks for:
//! `client.rs` (discovery, reviews) and `reflector.rs` (list, then watch).

use std::io::{self, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::http;

/// A running API server; its threads end with their connections.
pub(crate) struct ApiServer {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

/// What it serves.
struct Cluster {
    nodes: String,
    /// The verbs that nobody may use on nodes.
    denied: Vec<String>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl ApiServer {
    /// Starts one on a free port of the loopback interface.
    pub(crate) fn start(nodes: &Value, denied: Vec<String>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let asked = Arc::default();
        let cluster = Arc::new(Cluster {
            nodes: nodes.to_string(),
            denied,
            asked: Arc::clone(&asked),
        });
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let cluster = Arc::clone(&cluster);
                // A connection that breaks is the client's business: it has gone.
                thread::spawn(move || cluster.serve(&stream));
            }
        });
        Ok(Self { address, asked })
    }

    /// The requests there were, method and path.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no thread panics here").clone()
    }
}

impl Cluster {
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        while let Some(request) = http::read(&mut reader)? {
            let asked = request.line.clone();
            self.asked
                .lock()
                .expect("no thread panics here")
                .push(asked);
            let (line, query) = request.line.split_once('?').unwrap_or((&request.line, ""));
            let (status, body) = match line {
                "GET /api/v1" => ("200 OK", resources()),
                "GET /api/v1/nodes" if query.contains("watch=true") => {
                    // No event ever comes; the next read waits until the client goes.
                    write!(
                        &mut &*stream,
                        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                    )?;
                    continue;
                }
                "GET /api/v1/nodes" => ("200 OK", self.nodes.clone()),
                "POST /apis/authorization.k8s.io/v1/subjectaccessreviews" => {
                    ("201 Created", self.review(&request.body)?)
                }
                _ => ("404 Not Found", not_found(line)),
            };
            write!(
                &mut &*stream,
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )?;
        }
        Ok(())
    }

    fn review(&self, body: &str) -> io::Result<String> {
        let mut review: Value = serde_json::from_str(body).map_err(io::Error::other)?;
        let verb = review.pointer("/spec/resourceAttributes/verb");
        let denied = self
            .denied
            .iter()
            .any(|denied| verb == Some(&json!(denied)));
        review["status"] = json!({"allowed": !denied});
        Ok(review.to_string())
    }
}

fn resources() -> String {
    json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": [{
        "name": "nodes", "singularName": "node", "namespaced": false, "kind": "Node",
        "verbs": ["get", "list", "watch"],
    }]})
    .to_string()
}

fn not_found(line: &str) -> String {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("{line} is not served here"), "reason": "NotFound", "code": 404,
    })
    .to_string()
}
