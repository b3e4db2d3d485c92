//! An HTTPS server in this process.

use std::net::{Ipv4Addr, TcpListener};

use axum::Router;
use axum_server::tls_rustls::RustlsConfig;
use tokio::runtime::{Builder, Runtime};

use crate::certificates::Certificates;

/// A running server, ended with this value.
pub(crate) struct Server {
    pub(crate) url: String,
    runtime: Option<Runtime>,
}

impl Server {
    /// Serves on a free port of the loopback interface.
    pub(crate) fn start(certificates: &Certificates, router: Router) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("an address");
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let (certificate, key) = (certificates.certificate.clone(), certificates.key.clone());
        runtime.spawn(async move {
            let tls = RustlsConfig::from_pem(certificate.into_bytes(), key.into_bytes()).await;
            axum_server::from_tcp_rustls(listener, tls.expect("certificates of our own"))
                .expect("a listener")
                .serve(router.into_make_service())
                .await
        });
        Self {
            url: format!("https://{address}"),
            runtime: Some(runtime),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Without waiting for answers that may never come.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
