//! Webhooks with faults.

use std::future;

use axum::Router;
use axum::response::Html;
use axum::routing::post;

use super::server::Server;
use crate::certificates::Certificates;
use e2e_tests::ports::free_address;

/// How a webhook fails.
#[derive(Clone, Copy)]
pub(crate) enum Broken {
    /// Nothing listens.
    Down,
    /// It never responds.
    Slow,
    /// It returns an unusable response.
    Garbage,
}

impl Broken {
    /// Starts such a webhook: returns its address, and the value that stops it.
    pub(crate) fn start(self, certificates: &Certificates) -> (String, Option<Server>) {
        let router = match self {
            Self::Down => {
                let address = free_address().expect("a port");
                return (format!("https://{address}"), None);
            }
            Self::Slow => Router::new().fallback(post(future::pending::<()>)),
            Self::Garbage => {
                Router::new().fallback(post(|| future::ready(Html("<html>502 Bad Gateway</html>"))))
            }
        };
        let server = Server::start(&certificates.webhook, move || router.clone());
        (server.url.clone(), Some(server))
    }
}
