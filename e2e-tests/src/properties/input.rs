//! Requests on clusters, as the corpus has them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{FakeCluster, Images, Objects};

/// A request on a cluster: `{"payload": {"request": …, "settings": …}, "nodes": …}`. Raw, so that blanks, escapes and
/// equal keys reach the engine.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input<'a> {
    #[serde(borrow)]
    /// The payload.
    pub payload: &'a RawValue,
    /// Two workers, amd64 and arm64, if absent.
    #[serde(borrow)]
    pub nodes: Option<&'a RawValue>,
    /// The host's error in place of nodes.
    pub fails: Option<String>,
    /// The HyperConverged, KubeVirt, and DataSources of the cluster.
    #[serde(default)]
    pub objects: Vec<Value>,
    /// The images in the registries.
    #[serde(default)]
    pub images: Images,
    /// The answer to `can_i`.
    pub status: Option<String>,
}

impl Input<'_> {
    /// The cluster of the input.
    pub fn cluster(&self) -> FakeCluster {
        let cluster = match (&self.fails, self.nodes) {
            (Some(error), _) => FakeCluster::returning(Err(error.clone())),
            (_, Some(nodes)) => FakeCluster::returning(Ok(nodes.get().into())),
            _ => mixed(),
        };
        let objects = Objects::default().with(&self.objects, &BTreeMap::new());
        let cluster = cluster
            .with_images(self.images.clone())
            .with_objects(objects);
        match &self.status {
            Some(status) => cluster.answering(status),
            None => cluster,
        }
    }
}

/// Two workers.
pub fn mixed() -> FakeCluster {
    FakeCluster::with_workers(&["amd64", "arm64"])
}
