//! The nodes for the evaluation of objects.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use cluster::{Labels, Node, World, foreign};

use crate::args::Subject;
use crate::input::what_if::WhatIf;

pub(super) const UNNAMED: &str = "specify the nodes: --nodes FILE (the output of `kubectl get nodes -o yaml`), --cluster (the cluster of the current context), --from PATH (a snapshot or a must-gather), or --arch amd64=3,arm64=2 (hypothetical nodes)";

/// The user's nodes, after those of `--what-if` have joined and left.
pub(super) fn read(
    subject: &Subject,
    world: Option<&World>,
    what_if: Option<&WhatIf>,
    labels: &Labels,
) -> Result<Vec<Node>> {
    // clap rejects several sources.
    let nodes = match (&subject.nodes, &subject.arch, world) {
        (Some(path), ..) => of_file(path, labels)?,
        (None, Some(counts), _) => counts.nodes("", "worker"),
        (None, None, Some(world)) => of_world(world)?,
        (None, None, None) => bail!(UNNAMED),
    };
    match what_if {
        Some(what_if) => what_if.apply(nodes),
        None => Ok(nodes),
    }
}

/// The nodes of a cluster, or of files in place of one.
pub(super) fn of_world(world: &World) -> Result<Vec<Node>> {
    let nodes: Vec<Node> = world.nodes.iter().cloned().collect();
    ensure!(
        !nodes.is_empty(),
        "there are no nodes; add the output of `kubectl get nodes -o yaml`"
    );
    Ok(nodes)
}

pub(super) fn of_file(path: &Path, labels: &Labels) -> Result<Vec<Node>> {
    Node::from_file(path, labels).with_context(|| format!("--nodes {}", foreign::path(path)))
}
