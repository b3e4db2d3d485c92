//! The clusters of the cases, and a cluster that answers like the host.

use std::cell::RefCell;
use std::collections::BTreeSet;

use engine::{Cluster, Permission, Registry, Resource, ServiceAccount};
use include_dir::{Dir, include_dir};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::images::Images;
use crate::objects::Objects;

static CLUSTERS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/cases/clusters");

/// The nodes of a case.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum ClusterOf {
    /// A file of `e2e-tests/cases/clusters/`.
    Name(String),
    /// Something unusual.
    Odd(Odd),
}

/// A cluster with a fault.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Odd {
    nodes: Option<String>,
    /// The host's error.
    fails: Option<String>,
    /// The host's response, unchanged.
    list: Option<String>,
    /// Permissions that `can_i` denies: a verb on nodes, or a verb and a resource.
    #[serde(default)]
    denied: Vec<String>,
}

impl ClusterOf {
    fn odd(&self) -> Odd {
        match self {
            Self::Name(name) => Odd {
                nodes: Some(name.clone()),
                ..Odd::default()
            },
            Self::Odd(odd) => odd.clone(),
        }
    }

    /// The name of its nodes; `None` if the host does not return them.
    pub(crate) fn nodes(&self) -> Option<String> {
        let odd = self.odd();
        odd.nodes
            .filter(|_| odd.fails.is_none() && odd.list.is_none())
    }

    /// The objects that HCO, KubeVirt, and SSP create on its nodes.
    pub fn objects(&self) -> Objects {
        let nodes = self.nodes().map(|name| cluster(&name));
        Objects::on(nodes.as_ref())
    }

    /// The host's response to the list call.
    ///
    /// # Errors
    ///
    /// The host's error, if the case needs one.
    pub fn list(&self) -> Result<String, String> {
        let odd = self.odd();
        match (odd.fails, odd.list, odd.nodes) {
            (Some(error), _, _) => Err(error),
            (_, Some(text), _) => Ok(text),
            (_, _, name) => Ok(cluster(&name.unwrap_or_default()).to_string()),
        }
    }

    /// How the host gets its error, if the case needs one.
    ///
    /// MIRRORS: kubewarden-controller crates/policy-evaluator/src/runtimes/callback.rs.
    pub fn refusal(&self) -> Option<Refusal> {
        let text = self.odd().fails?;
        Some(if text.contains("access to Kubernetes v1/Node resources") {
            Refusal::Resource
        } else if text.contains("granted access to the 'kubernetes/list_resources_all'") {
            Refusal::Capability
        } else if let Some(error) = text.strip_prefix("Callback evaluation failure: ") {
            Refusal::Callback(error.to_owned())
        } else {
            Refusal::Unheard
        })
    }

    /// The nodes as an API server lists them, without a mask.
    ///
    /// # Errors
    ///
    /// The reason why no API server has such a list.
    pub fn list_of_api_server(&self) -> Result<Value, String> {
        let odd = self.odd();
        let Some(text) = odd.list else {
            return Ok(nodes_of(&odd.nodes.unwrap_or_default()));
        };
        let list: Value = serde_json::from_str(&text)
            .map_err(|error| format!("no API server sends this list: {error}"))?;
        if !matches!(list["kind"].as_str(), None | Some("List" | "NodeList")) {
            return Err("no API server sends this when it is asked for nodes".to_owned());
        }
        let items = list["items"].as_array();
        let items = items.ok_or("no API server sends a list without items")?;
        let names: BTreeSet<&str> = items
            .iter()
            .filter_map(|node| node.pointer("/metadata/name")?.as_str())
            .collect();
        if names.len() < items.len() {
            return Err("no API server sends nodes without a name of their own".to_owned());
        }
        Ok(node_list(&list["items"]))
    }

    /// The verbs that `can_i` denies.
    pub fn denied(&self) -> Vec<String> {
        self.odd().denied
    }

    /// The host's response to `can_i`: a denied verb alone is one on nodes, as in `list`, otherwise as in
    /// `get datasources`.
    pub fn may(&self, permission: &Permission<'_>) -> bool {
        !self.odd().denied.contains(&word(permission))
    }
}

/// `list` for nodes, `get datasources` for others.
fn word(permission: &Permission<'_>) -> String {
    match permission.resource {
        Resource::Nodes => permission.verb.to_owned(),
        other => format!("{} {}", permission.verb, other.plural()),
    }
}

/// How a host gets an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// `v1/Node` is not one of the policy's context-aware resources.
    Resource,
    /// The capability is not one of the policy's capabilities.
    Capability,
    /// The call failed outside the host, with this text.
    Callback(String),
    /// No Kubewarden host returns this error.
    Unheard,
}

/// The names of all clusters.
pub fn clusters() -> Vec<String> {
    let mut names: Vec<String> = CLUSTERS
        .files()
        .filter_map(|file| Some(file.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    names
}

/// The node list of a cluster as the host returns it: a `NodeList`, masked.
///
/// # Panics
///
/// If the cluster does not exist.
pub fn cluster(name: &str) -> Value {
    let mut list = nodes_of(name);
    if let Some(items) = list["items"].as_array_mut() {
        for node in items {
            *node = masked(node);
        }
    }
    list
}

/// The node list of a cluster as the API server has it.
fn nodes_of(name: &str) -> Value {
    let text = CLUSTERS
        .get_file(format!("{name}.yaml"))
        .and_then(include_dir::File::contents_utf8)
        .unwrap_or_else(|| panic!("no cluster {name} in e2e-tests/cases/clusters"));
    let list: Value = yaml_serde::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    node_list(&list["items"])
}

fn node_list(items: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "NodeList", "metadata": {"resourceVersion": "1"}, "items": items})
}

/// A node with the mask `status.nodeInfo.architecture`: the host always keeps the metadata, except for unused
/// parts.
///
/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/callback_handler/kubernetes, `field_mask.rs`
/// and `reflector.rs`.
fn masked(node: &Value) -> Value {
    let mut masked = Map::new();
    if let Some(metadata) = node.get("metadata") {
        let mut metadata = metadata.clone();
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.remove("managedFields");
        }
        masked.insert("metadata".to_owned(), metadata);
    }
    if let Some(architecture) = node.pointer("/status/nodeInfo/architecture") {
        masked.insert(
            "status".to_owned(),
            json!({"nodeInfo": {"architecture": architecture}}),
        );
    }
    Value::Object(masked)
}

/// A call to a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// All nodes.
    Nodes,
    /// Whether the account can do this: the permission as `list` for nodes, or `get datasources`, and the namespace.
    CanI(ServiceAccount, String, Option<String>),
    /// All objects of a kind.
    List(Resource),
    /// The DataSource with this namespace and name.
    DataSource(String, String),
    /// The manifest of an image.
    Manifest(String),
    /// The manifest of an image and its configuration.
    ManifestAndConfig(String),
}

/// A cluster for the engine that records the calls.
#[derive(Debug)]
pub struct FakeCluster {
    nodes: Result<Vec<u8>, String>,
    /// The response to `can_i` for what is denied.
    denied: BTreeSet<String>,
    /// The response to `can_i` for everything else; `None` if the host does not respond.
    status: Option<String>,
    objects: Objects,
    images: Images,
    calls: RefCell<Vec<Call>>,
}

impl FakeCluster {
    /// The cluster of a case.
    pub fn of(cluster: &ClusterOf) -> Self {
        Self {
            denied: cluster.denied().into_iter().collect(),
            status: Some(json!({"allowed": true}).to_string()),
            objects: cluster.objects(),
            ..Self::returning(cluster.list().map(String::into_bytes))
        }
    }

    /// A cluster that returns these bytes as the list, or this error.
    pub fn returning(nodes: Result<Vec<u8>, String>) -> Self {
        Self {
            nodes,
            denied: BTreeSet::new(),
            status: None,
            objects: Objects::default(),
            images: Images::default(),
            calls: RefCell::default(),
        }
    }

    /// A cluster with these nodes.
    pub fn with_nodes(nodes: impl IntoIterator<Item = Value>) -> Self {
        let items: Vec<Value> = nodes.into_iter().collect();
        let list = json!({"kind": "NodeList", "items": items});
        Self::returning(Ok(list.to_string().into_bytes()))
    }

    /// A cluster of worker nodes with these architectures.
    pub fn with_workers(architectures: &[&str]) -> Self {
        Self::with_nodes(architectures.iter().map(|architecture| {
            json!({
                "metadata": {"labels": {
                    "node-role.kubernetes.io/worker": "", "kubernetes.io/arch": architecture,
                }},
                "status": {"nodeInfo": {"architecture": architecture}},
            })
        }))
    }

    /// The same cluster with these images in its registries.
    #[must_use]
    pub fn with_images(mut self, images: Images) -> Self {
        self.images = images;
        self
    }

    /// The same cluster with a response to every `can_i`.
    #[must_use]
    pub fn answering(mut self, status: &str) -> Self {
        self.status = Some(status.to_owned());
        self
    }

    /// The same cluster with these objects in addition to its nodes.
    #[must_use]
    pub fn with_objects(mut self, objects: Objects) -> Self {
        self.objects = objects;
        self
    }

    /// The calls, in order.
    pub fn calls(&self) -> Vec<Call> {
        self.calls.borrow().clone()
    }

    /// How often the nodes were listed.
    pub fn lists(&self) -> usize {
        let calls = self.calls.borrow();
        calls.iter().filter(|call| **call == Call::Nodes).count()
    }
}

impl Registry for FakeCluster {
    fn manifest(&self, image: &str) -> Result<Vec<u8>, String> {
        self.calls
            .borrow_mut()
            .push(Call::Manifest(image.to_owned()));
        self.images.manifest(image)
    }

    fn manifest_and_config(&self, image: &str) -> Result<Vec<u8>, String> {
        self.calls
            .borrow_mut()
            .push(Call::ManifestAndConfig(image.to_owned()));
        self.images.manifest_and_config(image)
    }
}

impl Cluster for FakeCluster {
    fn can_i(&self, account: &ServiceAccount, permission: &Permission<'_>) -> Option<Vec<u8>> {
        let word = word(permission);
        let namespace = permission.namespace.map(str::to_owned);
        let denied = json!({"allowed": false}).to_string();
        let is_denied = self.denied.contains(&word);
        let status = Some(denied).filter(|_| is_denied);
        let status = status.or_else(|| self.status.clone());
        self.calls
            .borrow_mut()
            .push(Call::CanI(account.clone(), word, namespace));
        status.map(String::into_bytes)
    }

    fn list(&self, resource: Resource) -> Result<Vec<u8>, String> {
        if resource == Resource::Nodes {
            self.calls.borrow_mut().push(Call::Nodes);
            return self.nodes.clone();
        }
        self.calls.borrow_mut().push(Call::List(resource));
        self.objects.list(resource).map(String::into_bytes)
    }

    fn data_source(&self, namespace: &str, name: &str) -> Option<Vec<u8>> {
        let call = Call::DataSource(namespace.to_owned(), name.to_owned());
        self.calls.borrow_mut().push(call);
        let object = self.objects.data_source(namespace, name).ok()?;
        Some(object.into_bytes())
    }
}
