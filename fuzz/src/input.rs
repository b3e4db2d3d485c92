//! Requests on clusters, as the corpus has them.

use e2e_tests::{FakeCluster, Images};
use serde::Deserialize;
use serde_json::value::RawValue;

/// A request on a cluster: `{"payload": {"request": …, "settings": …}, "nodes": …}`. Raw, so that blanks, escapes and
/// equal keys reach the engine.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input<'a> {
    #[serde(borrow)]
    pub(crate) payload: &'a RawValue,
    /// Two workers, amd64 and arm64, if absent.
    #[serde(borrow)]
    pub(crate) nodes: Option<&'a RawValue>,
    /// The host's error in place of nodes.
    pub(crate) fails: Option<String>,
    #[serde(default)]
    pub(crate) images: Images,
    /// The answer to `can_i`.
    pub(crate) status: Option<String>,
}

impl Input<'_> {
    pub(crate) fn cluster(&self) -> FakeCluster {
        let cluster = match (&self.fails, self.nodes) {
            (Some(error), _) => FakeCluster::returning(Err(error.clone())),
            (_, Some(nodes)) => FakeCluster::returning(Ok(nodes.get().into())),
            _ => mixed(),
        };
        let cluster = cluster.with_images(self.images.clone());
        match &self.status {
            Some(status) => cluster.answering(status),
            None => cluster,
        }
    }
}

/// Two workers.
pub(crate) fn mixed() -> FakeCluster {
    FakeCluster::with_workers(&["amd64", "arm64"])
}
