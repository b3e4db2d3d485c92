//! A Kubernetes API server for one purpose: it lists nodes, keeps watches on them open, and responds to access
//! reviews.
//!
//! MIRRORS: the requests of kubewarden-controller crates/policy-evaluator/src/callback_handler/kubernetes:
//! `client.rs` (discovery, reviews) and `reflector.rs` (list, then watch).

use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::http;

/// A running API server; it stops with the process.
pub struct NodeServer {
    /// Where it listens.
    pub address: SocketAddr,
    cluster: Arc<Cluster>,
}

/// What the server returns.
struct Cluster {
    nodes: String,
    /// The verbs on nodes that are denied for every account.
    denied: Vec<String>,
    /// The requests that it received, with method and path.
    asked: Mutex<Vec<String>>,
    /// A node that has joined since the start, for watches.
    joined: Mutex<Option<Value>>,
    joins: Condvar,
}

impl NodeServer {
    /// Starts one on a free port of the loopback interface, with this list of nodes, and these verbs that no account has.
    ///
    /// # Errors
    ///
    /// If there is no free port.
    pub fn start(nodes: &Value, denied: Vec<String>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let cluster = Arc::new(Cluster {
            nodes: nodes.to_string(),
            denied,
            asked: Mutex::default(),
            joined: Mutex::default(),
            joins: Condvar::new(),
        });
        let served = Arc::clone(&cluster);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let cluster = Arc::clone(&served);
                // If a connection breaks, the client has disconnected.
                thread::spawn(move || cluster.serve(&stream));
            }
        });
        Ok(Self { address, cluster })
    }

    /// The requests that it received, with method and path.
    pub fn asked(&self) -> Vec<String> {
        let asked = self.cluster.asked.lock();
        asked.unwrap().clone()
    }

    /// Adds a node, which all watches report.
    pub fn join(&self, node: Value) {
        let joined = self.cluster.joined.lock();
        *joined.unwrap() = Some(node);
        self.cluster.joins.notify_all();
    }
}

impl Cluster {
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        while let Some(request) = http::read(&mut reader)? {
            let asked = request.line.clone();
            self.asked.lock().unwrap().push(asked);
            let (line, query) = request.line.split_once('?').unwrap_or((&request.line, ""));
            let (status, body) = match line {
                "GET /api/v1" => ("200 OK", resources()),
                "GET /api/v1/nodes" if query.contains("watch=true") => {
                    return self.watch(stream);
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

    /// Sends the only possible event, and waits for the end of the connection.
    fn watch(&self, mut stream: &TcpStream) -> io::Result<()> {
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )?;
        let joined = self.joined.lock().unwrap();
        let joined = self.joins.wait_while(joined, |joined| joined.is_none());
        let event = json!({"type": "ADDED", "object": *joined.unwrap()});
        let event = format!("{event}\n");
        write!(stream, "{:x}\r\n{event}\r\n", event.len())?;
        stream.read(&mut [0]).map(drop)
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
