//! A live cluster: its nodes and objects.
//!
//! It only reads. Lists are reduced page by page, as they arrive.

mod api;
mod connection;
mod error;
mod login;

use std::time::{Duration, Instant};

use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

pub use connection::{Connection, timeout};
pub use error::ClusterError;

use crate::node_list::{Labels, NodeList};
use api::Asked;
use connection::Target;

/// A connection to the API server of a kubeconfig.
pub struct Cluster {
    /// The runtime of this thread, because all calls block. It exists until the connection is dropped.
    runtime: Option<Runtime>,
    client: Client,
    server: String,
    context: Option<String>,
    warning: Option<&'static str>,
    /// The proxy for connections to the server.
    proxy: Option<String>,
    /// `--request-timeout`; zero for no limit.
    timeout: Option<Duration>,
    /// The time at which all requests must have ended.
    until: Option<Instant>,
}

/// The API group of HyperConverged.
const GROUP: &str = "hco.kubevirt.io";

/// The versions of HyperConverged that the policy reads, the newest first.
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];

const PLURAL: &str = "hyperconvergeds";

/// The API group of Kubewarden's policies.
const KUBEWARDEN: &str = "policies.kubewarden.io";

impl Cluster {
    /// Connects to the cluster that `kubectl` would use with these flags: from `KUBECONFIG` or the kubeconfig in the
    /// home directory; in a pod that has neither, from the pod's service account. This sends no request yet, but it can
    /// run the login command of the kubeconfig.
    pub fn connect(connection: &Connection) -> Result<Self, ClusterError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| {
                ClusterError::Other(format!("the client cannot be started: {error}"))
            })?;
        let Target {
            mut config,
            context,
            warning,
        } = runtime.block_on(connection.target())?;
        let server = api::address(&config.cluster_url.to_string());
        let proxy = config.proxy_url.as_ref();
        let proxy = proxy.map(|proxy| api::address(&proxy.to_string()));
        login::log_in(&mut config.auth_info)?;
        let client = {
            // The client starts its own task.
            let _guard = runtime.enter();
            Client::try_from(config).map_err(unusable)?
        };
        Ok(Self {
            runtime: Some(runtime),
            client,
            server,
            context,
            warning,
            proxy,
            timeout: connection.request_timeout,
            until: connection.until,
        })
    }

    /// The name of the kubeconfig's context; `None` for the service account of a pod.
    pub fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// A warning about the connection: credentials are not sent because the connection is not encrypted, or the server
    /// is not verified.
    pub fn warning(&self) -> Option<&'static str> {
        self.warning
    }

    /// The address of the API server, without a password.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The namespace of the kubeconfig's context, for objects without a namespace.
    pub fn namespace(&self) -> &str {
        self.client.default_namespace()
    }

    /// The nodes, reduced to the fields that are read.
    pub fn nodes(&self, labels: &Labels) -> Result<NodeList, ClusterError> {
        let mut nodes = NodeList::default();
        self.list("/api/v1/nodes", |node| Ok(nodes.add(node, labels)?))?;
        Ok(nodes)
    }

    /// The `HyperConverged` objects of a namespace or of all namespaces, in the version that `kubectl` would show if
    /// the policy reads it, else in a version that the policy reads.
    pub fn hyperconvergeds(&self, namespace: Option<&str>) -> Result<Vec<Value>, ClusterError> {
        let Group {
            preferred_version,
            versions,
        } = self.group()?.ok_or(ClusterError::NotServed)?;
        let mut served = preferred_version.into_iter().chain(versions);
        let version = served.find(|served| VERSIONS.contains(&&*served.version));
        let Version { version } = version.ok_or(ClusterError::NotServed)?;
        let api_version = format!("{GROUP}/{version}");
        let Some(path) = path(&api_version, namespace, PLURAL) else {
            return Ok(Vec::new());
        };
        let mut all = Vec::new();
        self.list(&path, |mut object| {
            // The API server writes these fields into the items of some lists, and omits them in others.
            if let Some(object) = object.as_object_mut() {
                object.insert("apiVersion".to_owned(), json!(api_version));
                object.insert("kind".to_owned(), json!("HyperConverged"));
            }
            all.push(object);
            Ok(())
        })?;
        Ok(all)
    }

    /// The results of a function for all objects of a resource, in all namespaces; empty if the cluster does not serve
    /// the resource. The path is a path of the API server, for example `/apis/kubevirt.io/v1/virtualmachines`.
    pub fn all<T>(
        &self,
        path: &str,
        mut of: impl FnMut(&Value) -> Option<T>,
    ) -> Result<Vec<T>, ClusterError> {
        let mut all = Vec::new();
        let read = self.list(path, |object| {
            all.extend(of(&object));
            Ok(())
        });
        match read {
            Err(ClusterError::Refused { code: 404, .. }) => Ok(Vec::new()),
            read => read.map(|()| all),
        }
    }

    /// Whether Kubewarden is installed. Every user may request this.
    pub fn has_kubewarden(&self) -> Result<bool, ClusterError> {
        Ok(self.get("/apis", KUBEWARDEN)?.is_some())
    }

    /// The objects of a resource of Kubewarden, in all namespaces or in one; empty if the cluster does not serve it.
    pub fn policies(
        &self,
        resource: &str,
        namespace: Option<&str>,
    ) -> Result<Vec<Value>, ClusterError> {
        match path(&format!("{KUBEWARDEN}/v1"), namespace, resource) {
            Some(path) => self.all(&path, |policy| Some(policy.clone())),
            None => Ok(Vec::new()),
        }
    }

    /// An object of a namespace; `None` if it does not exist.
    fn named(
        &self,
        api_version: &str,
        resource: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, ClusterError> {
        let path = path(api_version, Some(namespace), resource).filter(|_| is_name(name));
        let Some(path) = path else { return Ok(None) };
        self.get(&path, name)
    }

    /// One `HyperConverged` in the given version; `None` if it does not exist. It fails if the cluster serves only
    /// other versions. If it serves none, the operator is not installed yet.
    pub fn hyperconverged(
        &self,
        api_version: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, ClusterError> {
        if ![namespace, name].into_iter().all(is_name) {
            return Ok(None);
        }
        let is = |version: &str| api_version == format!("{GROUP}/{version}");
        if VERSIONS.into_iter().any(is)
            && let Some(found) = self.named(api_version, PLURAL, namespace, name)?
        {
            return Ok(Some(found));
        }
        let Some(Group { versions, .. }) = self.group()? else {
            return Ok(None);
        };
        let served: Vec<&str> = versions.iter().map(|served| &*served.version).collect();
        if served.iter().any(|version| is(version)) {
            return Ok(None);
        }
        Err(ClusterError::Other(format!(
            "the cluster does not serve {api_version}; it serves {}",
            served.join(", ")
        )))
    }

    /// One `VirtualMachine`; `None` if it does not exist.
    pub fn virtual_machine(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, ClusterError> {
        self.named("kubevirt.io/v1", "virtualmachines", namespace, name)
    }

    /// The API group of `HyperConverged`, if there is one.
    fn group(&self) -> Result<Option<Group>, ClusterError> {
        let group = self.get("/apis", GROUP)?.map(serde_json::from_value);
        group
            .transpose()
            .map_err(|_| self.foreign(&Asked::new("get", "/apis"), "it is not an API group"))
    }
}

fn unusable(error: kube::Error) -> ClusterError {
    match error {
        kube::Error::ProxyProtocolUnsupported { proxy_url }
        | kube::Error::ProxyProtocolDisabled { proxy_url, .. } => ClusterError::Other(format!(
            "the protocol of the proxy {} is not supported; correct `proxy-url` in the kubeconfig, or HTTPS_PROXY",
            api::address(&proxy_url.to_string())
        )),
        error => ClusterError::of_kubeconfig(error),
    }
}

/// The path of a list, in all namespaces or in one. No namespace has an invalid name, which would change the path.
fn path(api_version: &str, namespace: Option<&str>, resource: &str) -> Option<String> {
    match namespace {
        None => Some(format!("/apis/{api_version}/{resource}")),
        Some(namespace) => is_name(namespace)
            .then(|| format!("/apis/{api_version}/namespaces/{namespace}/{resource}")),
    }
}

/// An API group, as the API server describes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    preferred_version: Option<Version>,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

/// Whether a text can be the name of a namespace or of a custom resource.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 253
        && text
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.'))
        && !text.starts_with('.')
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // By default, a runtime waits for its threads when it is dropped. In a task of another runtime, waiting causes
        // a panic.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}
