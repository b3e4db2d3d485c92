//! A live cluster: its nodes, objects, and permissions, and its answers to a guest's host calls.
//!
//! It only reads. Lists are reduced page by page, as they arrive.

mod api;
mod connection;
mod error;
mod host;
mod login;

use std::time::{Duration, Instant};

use kube::Client;
use kube::api::ListParams;
use manifest::Fields;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

pub use connection::Connection;
pub use error::ClusterError;

use crate::node_list::reduction::Reduction;
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
    /// The text of an error if the server rejects the credentials: the rejected account, and advice.
    rejected: String,
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

/// The group of policies.
const KUBEWARDEN: &str = "policies.kubewarden.io";

/// The version of Kubewarden's policies that this file reads.
const POLICIES: &str = "policies.kubewarden.io/v1";

impl Cluster {
    /// Connects to the cluster that `kubectl` would use with these flags: from `KUBECONFIG` or the kubeconfig in the
    /// home directory; in a pod that has neither, from the pod's service account. This sends no request yet, but it can
    /// run the login command of the kubeconfig.
    ///
    /// # Errors
    ///
    /// If there is no kubeconfig, or it is invalid, or does not have the context, or its login fails.
    pub fn connect(connection: &Connection) -> Result<Self, ClusterError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(ClusterError::Runtime)?;
        let Target {
            mut config,
            context,
            rejected,
            warning,
        } = runtime.block_on(connection.config())?;
        let server = api::address(&config.cluster_url.to_string());
        let proxy = config.proxy_url.as_ref();
        let proxy = proxy.map(|proxy| api::address(&proxy.to_string()));
        login::log_in(&mut config.auth_info)?;
        let client = {
            // The client starts its own task.
            let _guard = runtime.enter();
            Client::try_from(config).map_err(ClusterError::of_client)?
        };
        Ok(Self {
            runtime: Some(runtime),
            client,
            server,
            context,
            rejected,
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

    /// The nodes, reduced to the fields that the policy of this project reads.
    pub fn nodes(&self, labels: &Labels) -> Result<NodeList, ClusterError> {
        let asked = Asked::new("list", "nodes");
        let nodes = self.list("/api/v1/nodes", &asked, ListParams::default(), |item| {
            let node = Reduction::Judged(labels).of(item, 1);
            node.map_err(ClusterError::Nodes)
        })?;
        Ok(NodeList::of(nodes))
    }

    /// The `HyperConverged` objects of a namespace or of all namespaces, in the version that `kubectl` would show if
    /// the policy reads it, else in a version that the policy reads.
    pub fn hyperconvergeds(&self, namespace: Option<&str>) -> Result<Vec<Value>, ClusterError> {
        let api_version = self.served()?;
        let mut all = self.objects(&api_version, PLURAL, namespace)?;
        for object in all.iter_mut().filter_map(Value::as_object_mut) {
            // The API server writes these fields into the items of some lists, and omits them in others.
            object.insert("apiVersion".to_owned(), json!(api_version));
            object.insert("kind".to_owned(), json!("HyperConverged"));
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
        let (parent, resource) = path.rsplit_once('/').unwrap_or_default();
        let api_version = parent.strip_prefix("/apis/").unwrap_or("v1");
        let asked = Asked::of("list", resource, api_version);
        let objects = self.list(path, &asked, ListParams::default(), |item| {
            let object = asked.read(item)?;
            Ok(of(&object))
        });
        match objects {
            Err(ClusterError::Refused { code: 404, .. }) => Ok(Vec::new()),
            objects => Ok(objects?.into_iter().flatten().collect()),
        }
    }

    /// Whether Kubewarden is installed. Every user may request this.
    pub fn has_kubewarden(&self) -> Result<bool, ClusterError> {
        let asked = Asked::new("get", &format!("/apis/{KUBEWARDEN}"));
        let group = self.get("/apis", KUBEWARDEN, &asked)?;
        Ok(group.is_some())
    }

    /// The `ClusterAdmissionPolicies` of Kubewarden, or the `AdmissionPolicies` of a namespace.
    pub fn policies(&self, namespace: Option<&str>) -> Result<Vec<Value>, ClusterError> {
        let resource = match namespace {
            None => "clusteradmissionpolicies",
            Some(_) => "admissionpolicies",
        };
        self.objects(POLICIES, resource, namespace)
    }

    /// The `ClusterAdmissionPolicyGroups` of Kubewarden, or the `AdmissionPolicyGroups` of a namespace; empty if the
    /// cluster does not serve them.
    pub fn policy_groups(&self, namespace: Option<&str>) -> Result<Vec<Value>, ClusterError> {
        let resource = match namespace {
            None => "clusteradmissionpolicygroups",
            Some(_) => "admissionpolicygroups",
        };
        match self.objects(POLICIES, resource, namespace) {
            Err(ClusterError::Refused { code: 404, .. }) => Ok(Vec::new()),
            groups => groups,
        }
    }

    /// The objects of a resource, in all namespaces or in one.
    fn objects(
        &self,
        api_version: &str,
        resource: &str,
        namespace: Option<&str>,
    ) -> Result<Vec<Value>, ClusterError> {
        let namespace = match namespace {
            None => String::new(),
            // The namespace becomes a part of a path.
            Some(namespace) if !is_name(namespace) => return Ok(Vec::new()),
            Some(namespace) => format!("/namespaces/{namespace}"),
        };
        let path = format!("/apis/{api_version}{namespace}/{resource}");
        let asked = Asked::of("list", resource, api_version);
        self.list(&path, &asked, ListParams::default(), |item| {
            asked.read(item)
        })
    }

    /// An object of a namespace; `None` if it does not exist.
    fn named(
        &self,
        api_version: &str,
        resource: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, ClusterError> {
        // No object has an invalid name or namespace, and both become parts of a path.
        if ![namespace, name].into_iter().all(is_name) {
            return Ok(None);
        }
        let path = format!("/apis/{api_version}/namespaces/{namespace}/{resource}");
        let asked = Asked::of("get", resource, api_version);
        let Some(text) = self.get(&path, name, &asked)? else {
            return Ok(None);
        };
        let object: Value = asked.read(&text)?;
        let its_name = object.pointer("/metadata/name").and_then(Value::as_str);
        if its_name != Some(name) {
            return Err(self.foreign(&asked, "it is not the object of this name"));
        }
        Ok(Some(object))
    }

    /// One `HyperConverged` in the given version; `None` if it does not exist.
    pub fn hyperconverged(
        &self,
        api_version: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, ClusterError> {
        let is_version = VERSIONS
            .iter()
            .any(|version| api_version == format!("{GROUP}/{version}"));
        let found = if is_version {
            self.named(api_version, PLURAL, namespace, name)?
        } else {
            None
        };
        if found.is_none() && [namespace, name].into_iter().all(is_name) {
            self.check_served(api_version)?;
        }
        Ok(found)
    }

    /// One `VirtualMachine`; `None` if it does not exist.
    pub fn virtual_machine(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, ClusterError> {
        self.named("kubevirt.io/v1", "virtualmachines", namespace, name)
    }

    /// Rejects a version that this cluster does not serve. If the cluster serves none, the operator is not installed
    /// yet.
    fn check_served(&self, api_version: &str) -> Result<(), ClusterError> {
        let Some(Group { versions, .. }) = self.group()? else {
            return Ok(());
        };
        let is_it = |served: &Version| api_version == format!("{GROUP}/{}", served.version);
        if versions.iter().any(is_it) {
            return Ok(());
        }
        let served: Vec<&str> = versions.iter().map(|served| &*served.version).collect();
        Err(ClusterError::Other(format!(
            "the cluster does not serve {api_version}; it serves {}",
            served.join(", ")
        )))
    }

    /// The status of an access review.
    fn review(&self, kind: &str, spec: &Value) -> Result<Value, ClusterError> {
        let plural = format!("{}s", kind.to_ascii_lowercase());
        let asked = Asked::new("create", &format!("{plural}.authorization.k8s.io"));
        let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec});
        let path = format!("/apis/authorization.k8s.io/v1/{plural}");
        let answer = self.post(&path, &review, &asked)?;
        let answer: Fields<'_> = asked.read(&answer)?;
        asked.read(answer.get("status").unwrap_or("null"))
    }

    /// The API group of `HyperConverged`, if there is one.
    fn group(&self) -> Result<Option<Group>, ClusterError> {
        let asked = Asked::new("get", &format!("/apis/{GROUP}"));
        let text = self.get("/apis", GROUP, &asked)?;
        text.map(|text| asked.read(&text)).transpose()
    }

    /// The version of `HyperConverged` to request.
    fn served(&self) -> Result<String, ClusterError> {
        let Group {
            preferred_version,
            versions,
        } = self.group()?.ok_or(ClusterError::NotServed)?;
        preferred_version
            .into_iter()
            .chain(versions)
            .find(|served| VERSIONS.contains(&&*served.version))
            .map(|served| format!("{GROUP}/{}", served.version))
            .ok_or(ClusterError::NotServed)
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
