//! The nodes that objects are judged against.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use policy_host::{Cluster, Counts, HostCalls, Labels, NodeList, NodeListError, Timely};

use super::snapshot::Snapshot;
use crate::args::{self, Subject};
use crate::files;
use crate::foreign;
use crate::module::{DEADLINE, Module};

/// The error if no nodes are named.
const UNNAMED: &str = "specify the nodes: --nodes FILE (the output of `kubectl get nodes -o yaml`), --cluster (the cluster of the current context), --from PATH (a snapshot or a must-gather), or --arch amd64=3,arm64=2 (hypothetical nodes)";

/// How long host calls may wait for a cluster. Less than the module's deadline, so that it can report the timeout.
const PATIENCE: Duration = Duration::from_secs(20);
const _: () = assert!(PATIENCE.as_secs() < DEADLINE.as_secs());

/// Rejects a command line that names no nodes, before anything is read.
pub(crate) fn check(subject: &Subject) -> Result<()> {
    let is_named = subject.nodes.is_some() || subject.arch.is_some() || subject.from.is_some();
    if !is_named && !subject.cluster {
        bail!(UNNAMED);
    }
    check_connection(&subject.connection, subject.cluster, subject.from.is_some())
}

/// Rejects flags for a cluster where none is read.
pub(super) fn check_connection(
    connection: &args::Connection,
    is_cluster: bool,
    is_from: bool,
) -> Result<()> {
    // It chooses among the objects of files, too.
    let mut of_files = args::Connection::default();
    of_files.namespace = connection.namespace.clone().filter(|_| is_from);
    if is_cluster || *connection == of_files {
        return Ok(());
    }
    let namespace = if is_from { "" } else { "-n, " };
    bail!(
        "--kubeconfig, --context, {namespace}--as, --as-group, --token, --server, --user, and --request-timeout require --cluster"
    );
}

/// How much of each node is read.
pub(crate) enum Detail {
    /// Everything: a module of the user's may read anything.
    Everything,
    /// What this project's module reads, and these labels.
    Labels(Labels),
}

/// The hosts that answer for nodes.
pub(crate) struct Hosts {
    /// For those that the user named, and those that join them.
    all: Arc<dyn HostCalls>,
    /// Whether that is a cluster, which may be slow to answer.
    is_live: bool,
    /// For those that the user named, if others join them.
    pub(crate) before: Option<Arc<dyn HostCalls>>,
}

impl Hosts {
    /// Answers with these nodes.
    pub(super) fn of(nodes: NodeList) -> Self {
        Self {
            all: Arc::new(nodes),
            is_live: false,
            before: None,
        }
    }

    /// The same, but a module of the user's gets from a cluster only what it is granted.
    pub(crate) fn guarded(self, module: &Module, is_granted: bool) -> Self {
        let guarded = |host| -> Arc<dyn HostCalls> { Arc::new(module.guarded(host, is_granted)) };
        Self {
            all: guarded(self.all),
            is_live: self.is_live,
            before: self.before.map(guarded),
        }
    }

    /// Answers for all nodes in one evaluation.
    pub(crate) fn all(&self) -> Arc<dyn HostCalls> {
        let all = Arc::clone(&self.all);
        if self.is_live {
            Arc::new(Timely::new(all, PATIENCE))
        } else {
            all
        }
    }

    /// The same, and another host answers for images.
    pub(crate) fn with_images(self, images: &Arc<dyn HostCalls>) -> Self {
        Self {
            all: beside(images, self.all),
            is_live: self.is_live,
            before: self.before.map(|before| beside(images, before)),
        }
    }
}

/// Answers for images with one host, for everything else with the other.
pub(super) fn beside(images: &Arc<dyn HostCalls>, other: Arc<dyn HostCalls>) -> Arc<dyn HostCalls> {
    let images = Arc::clone(images);
    Arc::new(move |namespace: &str, operation: &str, payload: &[u8]| {
        let host = if namespace == "oci" { &images } else { &other };
        host.call(namespace, operation, payload)
    })
}

/// The hosts that answer for the nodes that the user named, and for those that are supposed to join them.
pub(crate) fn hosts(
    subject: &Subject,
    cluster: Option<&Arc<Cluster>>,
    files: Option<&Snapshot>,
    detail: &Detail,
    supposed: Option<&Counts>,
) -> Result<Hosts> {
    if let (Some(cluster), Detail::Everything, None) = (cluster, detail, supposed) {
        return Ok(Hosts {
            all: Arc::clone(cluster) as _,
            is_live: true,
            before: None,
        });
    }
    let list = match (&subject.nodes, cluster, &subject.arch) {
        (Some(path), ..) => of_file(path, detail)?,
        (None, Some(cluster), _) => match detail {
            Detail::Everything => cluster.nodes(&Labels::All)?,
            Detail::Labels(labels) => cluster.nodes(labels)?,
        },
        (None, None, Some(counts)) => NodeList::made_up(&counts.0),
        (None, None, None) => match files {
            Some(files) if files.nodes.is_empty() => {
                bail!("--from has no nodes: add the output of `kubectl get nodes -o yaml`")
            }
            Some(files) => NodeList::of_objects(&files.nodes.to_objects()),
            None => bail!(UNNAMED),
        },
    };
    let (all, before) = match supposed {
        Some(counts) => (list.joined_by(&counts.0), Some(Arc::new(list) as _)),
        None => (list, None),
    };
    Ok(Hosts {
        before,
        ..Hosts::of(all)
    })
}

fn of_file(path: &Path, detail: &Detail) -> Result<NodeList> {
    let read = match (detail, path == Path::new("-")) {
        (Detail::Everything, false) => NodeList::from_file(path),
        (Detail::Everything, true) => NodeList::from_text(&files::text(path)?),
        (Detail::Labels(labels), false) => NodeList::reduced_from_file(path, labels),
        (Detail::Labels(labels), true) => NodeList::reduced_from_text(&files::text(path)?, labels),
    };
    match read {
        // It names the file itself.
        Err(error @ NodeListError::Unreadable { .. }) => Err(error.into()),
        read => read.with_context(|| format!("--nodes {}", foreign::path(path))),
    }
}
