//! The nodes that objects are judged against.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use hco_preflight::{Cluster, HostCalls, Labels, NodeList, NodeListError, Timely};

use super::args::Subject;
use super::input;
use super::policy::DEADLINE;

/// That one of the three must be named.
const UNNAMED: &str = "name the nodes to judge against: --nodes FILE (what `kubectl get nodes -o yaml` wrote), --cluster (the current kubeconfig's), or --arch amd64=3,arm64=2 (made up)";

/// With a cluster that does not answer. Less than the module may take in all, so that it can say what it waited for.
const PATIENCE: Duration = Duration::from_secs(20);
const _: () = assert!(PATIENCE.as_secs() < DEADLINE.as_secs());

/// Refuses a command line that names no nodes, before anything is read.
pub(crate) fn check(subject: &Subject) -> Result<()> {
    if subject.nodes.is_none() && !subject.cluster && subject.arch.is_none() {
        bail!(UNNAMED);
    }
    Ok(())
}

/// What is kept of a node.
pub(crate) enum Kept {
    /// Everything: a module of the user's may read anything.
    Everything,
    /// What this project's module reads, and these labels.
    Labels(Labels),
}

/// What answers for nodes.
pub(crate) struct Hosts {
    /// For those that the user named, and those that join them.
    all: Arc<dyn HostCalls>,
    /// Whether that is a cluster, which may be slow to answer.
    is_live: bool,
    /// For those that the user named, if others join them.
    pub(crate) before: Option<Arc<dyn HostCalls>>,
}

impl Hosts {
    /// Answers for all nodes in one evaluation.
    pub(crate) fn all(&self) -> Arc<dyn HostCalls> {
        let all = Arc::clone(&self.all);
        if self.is_live {
            Arc::new(Timely::new(all, PATIENCE))
        } else {
            all
        }
    }
}

/// The hosts that answer for the nodes that the user named.
pub(crate) fn hosts(
    subject: &Subject,
    cluster: Option<&Arc<Cluster>>,
    kept: &Kept,
) -> Result<Hosts> {
    if let (Some(cluster), Kept::Everything, None) = (cluster, kept, &subject.what_if) {
        return Ok(Hosts {
            all: Arc::clone(cluster) as _,
            is_live: true,
            before: None,
        });
    }
    let list = match (&subject.nodes, cluster, &subject.arch) {
        (Some(path), ..) => of_file(path, kept)?,
        (None, Some(cluster), _) => match kept {
            Kept::Everything => cluster.nodes(&Labels::All)?,
            Kept::Labels(labels) => cluster.nodes(labels)?,
        },
        (None, None, Some(counts)) => NodeList::made_up(&counts.0),
        (None, None, None) => bail!(UNNAMED),
    };
    let (all, before) = match &subject.what_if {
        Some(counts) => (list.joined_by(&counts.0), Some(Arc::new(list) as _)),
        None => (list, None),
    };
    Ok(Hosts {
        all: Arc::new(all),
        is_live: false,
        before,
    })
}

fn of_file(path: &Path, kept: &Kept) -> Result<NodeList> {
    let read = match (kept, path == Path::new("-")) {
        (Kept::Everything, false) => NodeList::from_file(path),
        (Kept::Everything, true) => NodeList::from_text(&input::text(path)?),
        (Kept::Labels(labels), false) => NodeList::reduced_from_file(path, labels),
        (Kept::Labels(labels), true) => NodeList::reduced_from_text(&input::text(path)?, labels),
    };
    match read {
        // It names the file itself.
        Err(error @ NodeListError::Unreadable { .. }) => Err(error.into()),
        read => read.with_context(|| format!("--nodes {}", path.display())),
    }
}

/// The cluster of the current kubeconfig, or of the context that the user named.
pub(crate) fn connect(context: Option<&str>) -> Result<Cluster> {
    let connected = match context {
        Some(context) => Cluster::connect_to(context),
        None => Cluster::connect(),
    };
    Ok(connected?)
}
