//! Connects to the cluster.

use std::time::Instant;

use anyhow::Result;
use policy_host::{Cluster, ClusterError, Connection};

use crate::notes::Notes;

/// The cluster that the user named. A note tells which one it is.
pub(crate) fn cluster(words: &Connection, notes: &mut Notes) -> Result<Cluster> {
    cluster_until(None, words, notes)
}

/// The same, but all requests end at this time.
pub(super) fn cluster_until(
    until: Option<Instant>,
    words: &Connection,
    notes: &mut Notes,
) -> Result<Cluster> {
    let connection = Connection {
        until,
        ..words.clone()
    };
    let cluster = Cluster::connect(&connection)?;
    notes.push(&asked(cluster.context(), cluster.server(), &connection));
    if let Some(warning) = cluster.warning() {
        notes.push(warning);
    }
    Ok(cluster)
}

/// Whether a cluster may answer another try.
pub(crate) fn is_transient(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<ClusterError>();
    error.is_some_and(ClusterError::is_transient)
}

/// Whether a cluster does not answer.
pub(super) fn is_silence(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<ClusterError>();
    error.is_some_and(ClusterError::is_silence)
}

fn asked(context: Option<&str>, server: &str, connection: &Connection) -> String {
    let whose = match context {
        Some(context) => format!("the context `{context}`"),
        None => "the service account of this Pod, because there is no kubeconfig".to_owned(),
    };
    let user = connection.impersonate.as_ref();
    let user = user.map(|user| format!(", as the user `{user}`"));
    let user = user.unwrap_or_default();
    format!("using {whose}{user}; API server {server}")
}
