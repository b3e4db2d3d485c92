//! Registries that answer as a test wants it.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A registry; it ends with the process.
pub(crate) struct Made {
    /// Where it listens.
    pub(crate) host: String,
    asked: Arc<Mutex<Vec<String>>>,
}

/// A request to it.
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) authorization: String,
    /// The registry's own.
    pub(crate) host: String,
}

/// A login that fails.
pub(crate) const REFUSED: &str = r#"{"errors": [{"code": "DENIED", "message": "no\u0007"}]}"#;

/// An answer with a body.
pub(crate) fn status(code: u16, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {code} Made\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
}

/// An answer that leads elsewhere.
pub(crate) fn redirect(path: &str) -> String {
    format!(
        "HTTP/1.1 307 Elsewhere\r\nLocation: {path}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    )
}

impl Made {
    /// Starts one. Each connection has one request.
    pub(crate) fn start(answer: impl Fn(&Request, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (of_thread, seen, answer) = (host.clone(), Arc::clone(&asked), Arc::new(answer));
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (host, seen) = (of_thread.clone(), Arc::clone(&seen));
                let answer = Arc::clone(&answer);
                thread::spawn(move || {
                    // A client may go before it has asked.
                    if let Some(request) = read(&stream, host) {
                        seen.lock().unwrap().push(request.path.clone());
                        answer(&request, &mut stream);
                    }
                });
            }
        });
        Self { host, asked }
    }

    /// The paths that were asked for.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream, host: String) -> Option<Request> {
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
    Some(Request {
        path,
        authorization,
        host,
    })
}
