//! The nodes for the evaluation of objects.

use std::path::Path;

use anyhow::{Context, Result, bail};
use cluster::{Connection, Labels, Node, NodeList, World, foreign};

use crate::args::Subject;
use crate::input::what_if::WhatIf;

pub(super) const UNNAMED: &str = "specify the nodes: --nodes FILE (the output of `kubectl get nodes -o yaml`), --cluster (the cluster of the current context), --from PATH (a snapshot or a must-gather), or --arch amd64=3,arm64=2 (hypothetical nodes)";

pub(crate) fn check_connection(
    connection: &Connection,
    is_cluster: bool,
    is_from: bool,
) -> Result<()> {
    // The namespace also selects objects of files.
    let of_files = Connection {
        namespace: connection.namespace.clone().filter(|_| is_from),
        ..Connection::default()
    };
    if is_cluster || *connection == of_files {
        return Ok(());
    }
    let namespace = if is_from { "" } else { "-n, " };
    bail!("--kubeconfig, --context, {namespace}--as, and --request-timeout require --cluster");
}

/// The user's nodes, after those of `--what-if` have joined and left.
pub(super) fn read(
    subject: &Subject,
    world: Option<&World>,
    what_if: Option<&WhatIf>,
    labels: &Labels,
) -> Result<NodeList> {
    // clap rejects several sources.
    let list = match (&subject.nodes, &subject.arch, world) {
        (Some(path), ..) => of_file(path, labels)?,
        (None, Some(counts), _) => NodeList::of_objects(counts.nodes("", "worker")),
        (None, None, Some(world)) => match &world.cluster {
            Some(cluster) => cluster.nodes(labels)?,
            None if world.nodes.iter().next().is_none() => {
                bail!("--from has no nodes: add the output of `kubectl get nodes -o yaml`")
            }
            None => NodeList::of_objects(world.nodes.iter()),
        },
        (None, None, None) => bail!(UNNAMED),
    };
    Ok(match what_if {
        Some(what_if) => NodeList::of_objects(what_if.apply(Node::from_list(&list)?)?),
        None => list,
    })
}

pub(super) fn of_file(path: &Path, labels: &Labels) -> Result<NodeList> {
    NodeList::from_text(&cluster::files::text(path)?, labels)
        .with_context(|| format!("--nodes {}", foreign::path(path)))
}
