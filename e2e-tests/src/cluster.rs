//! The clusters of the cases, and a cluster that answers like the host.

use std::cell::Cell;

use engine::{Cluster, ServiceAccount};
use include_dir::{Dir, include_dir};
use serde::Deserialize;
use serde_json::{Map, Value, json};

static CLUSTERS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../cases/clusters");

/// Which nodes a case has.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum ClusterOf {
    /// A file of `cases/clusters/`.
    Name(String),
    /// Something out of the ordinary.
    Odd(Odd),
}

/// A cluster that is not well.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Odd {
    nodes: Option<String>,
    /// The host's error.
    fails: Option<String>,
    /// What the host returns, as it stands.
    list: Option<String>,
    /// The verbs for which `can_i` says a clear no.
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

    /// What the host says to the list call.
    ///
    /// # Errors
    ///
    /// The host's error, where the case wants one.
    pub fn list(&self) -> Result<String, String> {
        let odd = self.odd();
        match (odd.fails, odd.list, odd.nodes) {
            (Some(error), _, _) => Err(error),
            (_, Some(text), _) => Ok(text),
            (_, _, name) => Ok(cluster(&name.unwrap_or_default()).to_string()),
        }
    }

    /// What the host says to `can_i`.
    pub fn may(&self, verb: &str) -> bool {
        !self.odd().denied.iter().any(|denied| denied == verb)
    }
}

/// The names of the clusters there are.
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
/// If there is no such cluster.
pub fn cluster(name: &str) -> Value {
    let text = CLUSTERS
        .get_file(format!("{name}.yaml"))
        .and_then(include_dir::File::contents_utf8)
        .unwrap_or_else(|| panic!("no cluster {name} in cases/clusters"));
    let list: Value = yaml_serde::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let items: Vec<Value> = items.iter().map(masked).collect();
    json!({"apiVersion": "v1", "kind": "NodeList", "metadata": {"resourceVersion": "1"}, "items": items})
}

/// A node under the mask `status.nodeInfo.architecture`: the host always keeps the metadata, minus what
/// nobody reads.
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

/// A cluster for the engine, that counts what it is asked.
#[derive(Debug)]
pub struct FakeCluster<'c> {
    of: &'c ClusterOf,
    /// How often the nodes were asked for.
    pub asked: Cell<u32>,
}

impl<'c> FakeCluster<'c> {
    /// The cluster of a case, not asked yet.
    pub fn new(of: &'c ClusterOf) -> Self {
        Self {
            of,
            asked: Cell::new(0),
        }
    }
}

impl Cluster for FakeCluster<'_> {
    fn nodes(&self) -> Result<Vec<u8>, String> {
        self.asked.set(self.asked.get() + 1);
        self.of.list().map(String::into_bytes)
    }

    fn may(&self, _account: &ServiceAccount, verb: &str) -> Option<Vec<u8>> {
        Some(
            json!({"allowed": self.of.may(verb)})
                .to_string()
                .into_bytes(),
        )
    }
}
