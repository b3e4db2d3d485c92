//! The nodes for the evaluation of objects.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use policy_host::{Cluster, HostCalls, Labels, NodeList};

use super::snapshot::Snapshot;
use crate::args::{self, Subject};
use crate::files;
use crate::foreign;
use crate::what_if::WhatIf;

/// The error if the command line does not select nodes.
const UNNAMED: &str = "specify the nodes: --nodes FILE (the output of `kubectl get nodes -o yaml`), --cluster (the cluster of the current context), --from PATH (a snapshot or a must-gather), or --arch amd64=3,arm64=2 (hypothetical nodes)";

/// Rejects a command line that does not select nodes, before anything is read.
pub(crate) fn check(subject: &Subject) -> Result<()> {
    let is_named = subject.nodes.is_some() || subject.arch.is_some() || subject.from.is_some();
    if !is_named && !subject.cluster {
        bail!(UNNAMED);
    }
    check_connection(&subject.connection, subject.cluster, subject.from.is_some())
}

/// Rejects cluster flags if no cluster is read.
pub(crate) fn check_connection(
    connection: &args::Connection,
    is_cluster: bool,
    is_from: bool,
) -> Result<()> {
    // The namespace also selects objects of files.
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

/// The hosts that answer requests for nodes.
pub(crate) struct Hosts {
    /// The user's nodes, including nodes of `--what-if`.
    all: Arc<dyn HostCalls>,
    /// The user's nodes before the nodes of `--what-if` join them, if there are any.
    pub(crate) before: Option<Arc<dyn HostCalls>>,
}

impl Hosts {
    /// Answers with these nodes.
    pub(super) fn of(nodes: NodeList) -> Self {
        Self {
            all: Arc::new(nodes),
            before: None,
        }
    }

    /// Answers for all nodes in one evaluation.
    pub(crate) fn all(&self) -> Arc<dyn HostCalls> {
        Arc::clone(&self.all)
    }

    /// The same, but another host answers requests for images.
    pub(crate) fn with_images(self, images: &Arc<dyn HostCalls>) -> Self {
        Self {
            all: beside(images, self.all),
            before: self.before.map(|before| beside(images, before)),
        }
    }
}

/// Uses one host for requests for images, and the other host for all other requests.
pub(super) fn beside(images: &Arc<dyn HostCalls>, other: Arc<dyn HostCalls>) -> Arc<dyn HostCalls> {
    let images = Arc::clone(images);
    Arc::new(move |namespace: &str, operation: &str, payload: &[u8]| {
        let host = if namespace == "oci" { &images } else { &other };
        host.call(namespace, operation, payload)
    })
}

/// The hosts with the user's nodes, and with the nodes of `--what-if`.
pub(crate) fn hosts(
    subject: &Subject,
    cluster: Option<&Arc<Cluster>>,
    files: Option<&Snapshot>,
    labels: &Labels,
    what_if: Option<&WhatIf>,
) -> Result<Hosts> {
    let list = match (&subject.nodes, cluster, &subject.arch) {
        (Some(path), ..) => of_file(path, labels)?,
        (None, Some(cluster), _) => cluster.nodes(labels)?,
        (None, None, Some(counts)) => NodeList::workers(&counts.0, ""),
        (None, None, None) => match files {
            Some(files) if files.nodes.is_empty() => {
                bail!("--from has no nodes: add the output of `kubectl get nodes -o yaml`")
            }
            Some(files) => NodeList::of_objects(&files.nodes.to_objects()),
            None => bail!(UNNAMED),
        },
    };
    let (all, before) = match what_if {
        Some(what_if) => {
            let nodes = what_if.apply(&list.to_objects())?;
            (NodeList::of_objects(&nodes), Some(Arc::new(list) as _))
        }
        None => (list, None),
    };
    Ok(Hosts {
        before,
        ..Hosts::of(all)
    })
}

/// The nodes in a file.
pub(super) fn of_file(path: &Path, labels: &Labels) -> Result<NodeList> {
    NodeList::from_text(&files::text(path)?, labels)
        .with_context(|| format!("--nodes {}", foreign::path(path)))
}
