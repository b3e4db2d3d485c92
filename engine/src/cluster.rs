//! What the policy can ask its host. Only these traits access the host; all other code is pure.

use operators::cdi::image::Registry;

/// The service account of the policy-server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAccount {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What the policy can ask its host.
pub trait Host: Cluster + Registry {}

impl<T: Cluster + Registry> Host for T {}

/// What the policy can ask about the cluster.
pub trait Cluster {
    /// The nodes, as JSON of a `v1` `NodeList`, masked to `status.nodeInfo.architecture`.
    ///
    /// # Errors
    ///
    /// The host's error, unchanged.
    fn nodes(&self) -> Result<Vec<u8>, String>;

    /// Whether this service account can do this verb with nodes: the status of a `SubjectAccessReview` as JSON; `None` if
    /// the host returns no answer.
    fn can_i(&self, _: &ServiceAccount, _: &str) -> Option<Vec<u8>> {
        None
    }
}
