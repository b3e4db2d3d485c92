//! An HTTPS server in this process.

use std::net::{Ipv4Addr, TcpListener};

use axum::Router;
use axum_server::tls_rustls::RustlsConfig;
use tokio::runtime::{Builder, Runtime};

use crate::certificates::Pair;

/// A server, ended with this value.
pub(crate) struct Server {
    pub(crate) url: String,
    pair: Pair,
    router: Box<dyn Fn() -> Router>,
    runtime: Option<Runtime>,
}

impl Server {
    /// Serves on a free port of the loopback interface.
    pub(crate) fn start(pair: &Pair, router: impl Fn() -> Router + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut server = Self {
            url: format!("https://{address}"),
            pair: pair.clone(),
            router: Box::new(router),
            runtime: None,
        };
        server.serve(listener);
        server
    }

    fn serve(&mut self, listener: TcpListener) {
        listener.set_nonblocking(true).expect("a socket");
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let router = (self.router)();
        let (certificate, key) = (self.pair.certificate.clone(), self.pair.key.clone());
        runtime.spawn(async move {
            let tls = RustlsConfig::from_pem_file(certificate, key).await;
            axum_server::from_tcp_rustls(listener, tls.expect("certificates of our own"))
                .expect("a listener")
                .serve(router.into_make_service())
                .await
        });
        self.runtime = Some(runtime);
    }

    /// Ends it, without waiting for answers that may never come.
    pub(crate) fn kill(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
