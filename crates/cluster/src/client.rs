//! A live cluster: its nodes and objects.
//!
//! It only reads. Lists are reduced page by page, as they arrive.

mod api;
mod connection;
mod login;

use std::time::{Duration, Instant};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIGroup;
use kube::Client;
use serde_json::{Value, json};

pub use api::ClusterError;
pub use connection::{Connection, timeout};

use crate::node_list::{Labels, NodeList};
use api::address;

/// A connection to the API server of a kubeconfig.
pub struct Cluster {
    client: Client,
    server: String,
    context: Option<String>,
    warning: Option<&'static str>,
    /// The proxy for connections to the server, as a part of a sentence.
    through: String,
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
        let runtime = crate::runtime().map_err(ClusterError::Other)?;
        // The client starts its own task.
        runtime.block_on(async {
            let (mut config, context) = connection.config().await?;
            login::log_in(&mut config.auth_info)?;
            let proxy = config.proxy_url.as_ref().map(address);
            let through =
                proxy.map_or_else(String::new, |proxy| format!(" through the proxy {proxy}"));
            Ok(Self {
                server: address(&config.cluster_url),
                context,
                warning: connection::warning(&config),
                through,
                timeout: connection.request_timeout,
                until: connection.until,
                client: Client::try_from(config).map_err(api::unusable)?,
            })
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
        let group = self.group()?.unwrap_or_default();
        let served = group
            .preferred_version
            .iter()
            .chain(&group.versions)
            .find(|served| VERSIONS.contains(&&*served.version))
            .ok_or(ClusterError::NotServed)?;
        let version = &served.version;
        let api_version = format!("{GROUP}/{version}");
        let mut all = Vec::new();
        if let Some(path) = path(&api_version, namespace, PLURAL) {
            self.list(&path, |mut object| {
                // The API server writes these fields into the items of some lists, and omits them in others.
                if let Some(object) = object.as_object_mut() {
                    object.insert("apiVersion".to_owned(), json!(api_version));
                    object.insert("kind".to_owned(), json!("HyperConverged"));
                }
                all.push(object);
                Ok(())
            })?;
        }
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
            Err(ClusterError::Refused(404, _)) => Ok(Vec::new()),
            read => read.map(|()| all),
        }
    }

    /// Whether Kubewarden is installed. Every user may request this.
    pub fn has_kubewarden(&self) -> Result<bool, ClusterError> {
        Ok(self.get("/apis", KUBEWARDEN)?.is_some())
    }

    /// An object of a namespace; `None` if it does not exist.
    fn named(
        &self,
        api_version: &str,
        resource: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, ClusterError> {
        match path(api_version, Some(namespace), resource).filter(|_| is_name(name)) {
            Some(path) => self.get(&path, name),
            None => Ok(None),
        }
    }

    /// One `HyperConverged` in the given version; `None` if it does not exist. It fails if the cluster serves only
    /// other versions. If it serves none, the operator is not installed yet.
    pub fn hyperconverged(
        &self,
        api_version: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, ClusterError> {
        let found = self.named(api_version, PLURAL, namespace, name)?;
        if found.is_some() || ![namespace, name].into_iter().all(is_name) {
            return Ok(found);
        }
        let versions = self.group()?.unwrap_or_default().versions;
        let served: Vec<&str> = versions.iter().map(|served| &*served.version).collect();
        let version = api_version.rsplit('/').next().unwrap_or_default();
        if served.is_empty() || served.contains(&version) {
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
    fn group(&self) -> Result<Option<APIGroup>, ClusterError> {
        let group = self.get("/apis", GROUP)?.map(serde_json::from_value);
        let wrong = |_| self.foreign("get /apis", "it is not an API group");
        group.transpose().map_err(wrong)
    }
}

/// The path of a list, in all namespaces or in one; `None` if a name is invalid, which would change the path.
fn path(api_version: &str, namespace: Option<&str>, resource: &str) -> Option<String> {
    let are_names = api_version.split('/').chain(namespace).all(is_name);
    are_names.then(|| match namespace {
        None => format!("/apis/{api_version}/{resource}"),
        Some(namespace) => format!("/apis/{api_version}/namespaces/{namespace}/{resource}"),
    })
}

/// Whether a text can be the name of a namespace or of a custom resource.
fn is_name(text: &str) -> bool {
    let is_of_name = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
    !text.is_empty() && !text.starts_with('.') && text.bytes().all(is_of_name)
}
