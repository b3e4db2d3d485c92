//! The nodes that objects are judged against.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use hco_preflight::{Cluster, HostCalls, NodeList};

use super::args::Subject;
use super::input;

/// That one of the three must be named.
const UNNAMED: &str = "name the nodes to judge against: --nodes FILE (what `kubectl get nodes -o yaml` wrote), --cluster (the current kubeconfig's), or --arch amd64=3,arm64=2 (made up)";

/// Refuses a command line that names no nodes, before anything is read.
pub(crate) fn check(subject: &Subject) -> Result<()> {
    if subject.nodes.is_none() && !subject.cluster && subject.arch.is_none() {
        bail!(UNNAMED);
    }
    Ok(())
}

/// The host that answers for the nodes that the user named. A module of the user's may read anything of a node, ours
/// reads little.
pub(crate) fn host(
    subject: &Subject,
    cluster: Option<&Arc<Cluster>>,
    is_foreign: bool,
) -> Result<Arc<dyn HostCalls>> {
    if let (Some(cluster), true, None) = (cluster, is_foreign, &subject.what_if) {
        return Ok(Arc::clone(cluster) as Arc<dyn HostCalls>);
    }
    let list = match (&subject.nodes, cluster, &subject.arch) {
        (Some(path), ..) => of_file(path, is_foreign)?,
        (None, Some(cluster), _) => cluster.nodes()?,
        (None, None, Some(counts)) => NodeList::made_up(counts),
        (None, None, None) => bail!(UNNAMED),
    };
    Ok(Arc::new(match &subject.what_if {
        Some(counts) => list.joined_by(counts),
        None => list,
    }))
}

fn of_file(path: &Path, is_foreign: bool) -> Result<NodeList> {
    let read = if path == Path::new("-") {
        let text = input::text(path)?;
        if is_foreign {
            NodeList::from_text(&text)
        } else {
            NodeList::reduced_from_text(&text)
        }
    } else if is_foreign {
        NodeList::from_file(path)
    } else {
        NodeList::reduced_from_file(path)
    };
    read.with_context(|| format!("--nodes {}", path.display()))
}
