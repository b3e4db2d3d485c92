//! It only reads. Lists are reduced page by page, as they arrive.

mod api;
mod connection;

use std::time::{Duration, Instant};

use http::Request;
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ClientBuilder, ConfigExt as _};
use kube::{Client, Error};
use serde_json::{Value, json};
use tower::buffer::BufferLayer;
use tower::retry::RetryLayer;

pub use api::ClusterError;
pub use connection::{Connection, timeout};

use crate::field::{items, text};
use crate::foreign::masked;

pub struct Cluster {
    client: Client,
    /// The address of the API server, without a password.
    pub server: String,
    /// `None` for the service account of a pod.
    pub context: Option<String>,
    pub(crate) warning: Option<&'static str>,
    /// The proxy for connections to the server, as a part of a sentence.
    through: String,
    /// `--request-timeout`; zero for no limit.
    timeout: Option<Duration>,
    /// The time at which all requests must have ended.
    until: Option<Instant>,
}

const GROUP: &str = "hco.kubevirt.io";

/// The versions of HyperConverged that the policy reads, the newest first.
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];

const KIND: &str = "HyperConverged";

impl Cluster {
    /// This sends no request yet, but it can run the login command of the kubeconfig.
    pub fn connect(connection: &Connection) -> Result<Self, ClusterError> {
        let runtime = crate::runtime().map_err(ClusterError::Other)?;
        // The client starts its own task.
        runtime.block_on(async {
            let (mut config, context) = connection.config().await?;
            let login = config.auth_layer().map_err(|error| match error {
                Error::Auth(error) => ClusterError::of_login(&error),
                error => ClusterError::of_kubeconfig(error),
            })?;
            if login.is_some() {
                // kube would run the login command three times. The command may ask for a one-time password.
                config.auth_info.exec = None;
            }
            let server = masked(&config.cluster_url.to_string());
            let warning = connection::warning(&config);
            let through = config
                .proxy_url
                .as_ref()
                .map(|proxy| masked(&format!(" through the proxy {proxy}")));
            let client = ClientBuilder::try_from(config).map_err(|error| match error {
                Error::ProxyProtocolUnsupported { .. } | Error::ProxyProtocolDisabled { .. } => {
                    ClusterError::Other(format!(
                        "{}; correct `proxy-url` in the kubeconfig, or HTTPS_PROXY",
                        masked(&error.to_string())
                    ))
                }
                error => ClusterError::of_kubeconfig(error),
            })?;
            // A request is repeated in a clone of the service, which the buffer makes possible.
            let client = client
                .with_layer(&BufferLayer::<Request<Body>>::new(1))
                .with_layer(&RetryLayer::new(RetryPolicy::default()));
            Ok(Self {
                client: match login {
                    Some(login) => client.with_layer(&login).build(),
                    None => client.build(),
                },
                server,
                context,
                warning,
                through: through.unwrap_or_default(),
                timeout: connection.request_timeout,
                until: connection.until,
            })
        })
    }

    pub fn namespace(&self) -> &str {
        self.client.default_namespace()
    }

    /// The version is the one that `kubectl` would show if the policy reads it, else one that the policy reads.
    pub fn hyperconvergeds(&self, namespace: Option<&str>) -> Result<Vec<Value>, ClusterError> {
        let group = self.group(GROUP)?.unwrap_or_default();
        let served = group
            .get("preferredVersion")
            .into_iter()
            .chain(items(&group, "/versions"))
            .filter_map(|served| text(served, "/version"))
            .find(|version| VERSIONS.contains(version));
        let Some(version) = served.filter(|_| namespace.is_none_or(is_name)) else {
            return Ok(Vec::new());
        };
        let api_version = format!("{GROUP}/{version}");
        let mut all = Vec::new();
        let listed = self.list(&api_version, KIND, namespace, |mut object| {
            // The API server writes these fields into the items of some lists, and omits them in others.
            if let Some(object) = object.as_object_mut() {
                object.insert("apiVersion".to_owned(), json!(api_version));
                object.insert("kind".to_owned(), json!(KIND));
            }
            all.push(object);
        });
        match (listed, namespace) {
            (Err(ClusterError::Refused(403, why)), None) => Err(ClusterError::Refused(
                403,
                format!("{why}; if you may read only one namespace, specify it with -n"),
            )),
            (listed, _) => listed.map(|()| all),
        }
    }
}

fn is_name(text: &str) -> bool {
    let is_of_name = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
    !text.is_empty() && !text.starts_with('.') && text.bytes().all(is_of_name)
}
