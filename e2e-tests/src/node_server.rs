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

use engine::Resource;

use crate::http;

/// A running API server; it stops with the process.
pub struct NodeServer {
    /// Where it listens.
    pub address: SocketAddr,
    cluster: Arc<Cluster>,
}

/// The responses of the server.
struct Cluster {
    nodes: String,
    /// HyperConverged, KubeVirt, and DataSources.
    objects: Vec<Value>,
    /// Permissions that no account has: a verb on nodes, or a verb and a resource.
    denied: Vec<String>,
    /// The requests that it received, with method and path.
    asked: Mutex<Vec<String>>,
    /// A node that has joined since the start, for watches.
    joined: Mutex<Option<Value>>,
    joins: Condvar,
}

impl NodeServer {
    /// Starts one on a free port of the loopback interface, with this list of nodes, and these permissions that no account
    /// has.
    ///
    /// # Errors
    ///
    /// If there is no free port.
    pub fn start(nodes: &Value, denied: Vec<String>) -> io::Result<Self> {
        Self::with_objects(nodes, denied, Vec::new())
    }

    /// The same with other objects.
    ///
    /// # Errors
    ///
    /// If there is no free port.
    pub fn with_objects(
        nodes: &Value,
        denied: Vec<String>,
        objects: Vec<Value>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let cluster = Arc::new(Cluster {
            nodes: nodes.to_string(),
            denied,
            objects,
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
                _ => match self.other(line, query) {
                    Some(Other::Answer(body)) => ("200 OK", body),
                    // Nothing changes, so the watch reports nothing.
                    Some(Other::Watch) => return self.watch(stream),
                    None => ("404 Not Found", not_found(line)),
                },
            };
            write!(
                &mut &*stream,
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )?;
        }
        Ok(())
    }

    /// The response to a request for other objects.
    fn other(&self, line: &str, query: &str) -> Option<Other> {
        let path: Vec<&str> = line.strip_prefix("GET /apis/")?.split('/').collect();
        let (group, version, rest) = match path.as_slice() {
            [group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let resource = OTHERS
            .into_iter()
            .find(|it| it.group_version() == (group, version))?;
        let (plural, kind) = (resource.plural(), resource.kind());
        let group_version = format!("{group}/{version}");
        let mut objects = self.objects.iter().filter(|object| object["kind"] == kind);
        let answer = match rest {
            [] => {
                json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": [{
                    "name": plural, "singularName": kind.to_lowercase(), "namespaced": true, "kind": kind,
                    "verbs": ["get", "list", "watch"],
                }]})
            }
            [name] if *name == plural && query.contains("watch=true") => return Some(Other::Watch),
            [name] if *name == plural => {
                let mut items: Vec<Value> = objects.cloned().collect();
                // A watch identifies objects by name and namespace.
                for item in &mut items {
                    if item["metadata"]["namespace"].is_null() {
                        item["metadata"]["namespace"] = json!("default");
                    }
                }
                json!({
                    "kind": format!("{kind}List"), "apiVersion": group_version,
                    "metadata": {"resourceVersion": "1"}, "items": items,
                })
            }
            ["namespaces", namespace, of, name] if *of == plural => objects
                .find(|object| {
                    let metadata = &object["metadata"];
                    metadata["namespace"] == *namespace && metadata["name"] == *name
                })?
                .clone(),
            _ => return None,
        };
        Some(Other::Answer(answer.to_string()))
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
        let attributes = &review["spec"]["resourceAttributes"];
        let text = |key: &str| attributes[key].as_str().unwrap_or_default();
        let word = match text("resource") {
            "nodes" => text("verb").to_owned(),
            other => format!("{} {other}", text("verb")),
        };
        review["status"] = json!({"allowed": !self.denied.contains(&word)});
        Ok(review.to_string())
    }
}

/// The resources beside nodes.
const OTHERS: [Resource; 3] = [
    Resource::HyperConvergeds,
    Resource::KubeVirts,
    Resource::DataSources,
];

/// How a request for other objects is answered.
enum Other {
    Answer(String),
    Watch,
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
