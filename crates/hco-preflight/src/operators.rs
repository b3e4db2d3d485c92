//! `images --operators`: which images of HCO and its operands lack the architecture of nodes, and where they run.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use engine::Image;
use kube_objects::placement::Placement;
use policy_host::Registries;
use serde::Serialize;

use crate::args::{self, PlainFormat};
use crate::exit::Exit;
use crate::foreign::one_line;
use crate::images::look_up;
use crate::notes::Notes;
use crate::object_name::namespace;
use crate::prose::{count, line};
use crate::stage;
use crate::terminal::{BOLD, DIM, GREEN, RED, Terminal, YELLOW, print_json};
use crate::world::{Container, Gap, Node, Reader, Variable, Workload, World};

/// Parts of the names of images that operators start on workload nodes: importers of disks, launchers of VMs, and hooks.
const STARTED: [&str; 9] = [
    "importer",
    "cloner",
    "uploadserver",
    "populator",
    "launcher",
    "exportserver",
    "sidecar",
    "shim",
    "prhelper",
];

/// Where an image can run, the most important one first. Taints are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Use {
    /// On nodes of the architecture, or for VMs and imports on them.
    Runs,
    /// Its placement excludes the nodes of the architecture, or an operator or the `ClusterServiceVersion` only names it.
    Elsewhere,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    image: String,
    /// `None` if the image could not be read.
    architectures: Option<BTreeSet<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The requested architectures that it lacks, and where it runs.
    lacks: BTreeMap<String, Use>,
    used_by: BTreeSet<String>,
}

/// How an image that an object names is started.
enum Started<'o> {
    ByPod(&'o Workload),
    /// An operator starts it on workload nodes.
    ByOperator,
    /// It is only listed, or an operator starts it elsewhere.
    Elsewhere,
}

pub(crate) fn run(
    args: &args::Images,
    terminal: &Terminal,
    registries: &Registries,
) -> Result<Exit> {
    stage::check_connection(&args.connection, args.cluster, args.from.is_some())?;
    if !args.cluster && args.from.is_none() {
        bail!("specify the cluster: --cluster, or --from PATH (a snapshot or a must-gather)");
    }
    let mut notes = Notes::default();
    let world = match &args.from {
        Some(path) => World::of_files(path, None, Reader::Operators, &mut notes),
        None => World::of_cluster(None, &args.connection, None, Reader::Operators, &mut notes),
    };
    terminal.notes(&notes);
    let world = world?;
    let all = world.nodes.iter().map(|node| node.architecture.clone());
    let architectures: BTreeSet<String> = match &args.arch {
        Some(one) => BTreeSet::from([one.clone()]),
        None => all.filter(|name| !name.is_empty()).collect(),
    };
    if architectures.is_empty() {
        bail!("there are no nodes: specify the architecture with --arch");
    }
    let (rows, mut failures) = rows(&world, &architectures, args, registries);
    for Gap { kind, reason, .. } in world.gaps() {
        failures.push(format!("{kind} was not read: {}", one_line(&reason)));
    }
    if rows.is_empty() && failures.is_empty() {
        bail!("there are no DaemonSets, Deployments, or Jobs in the namespace of a HyperConverged");
    }
    match args.output {
        PlainFormat::Text => terminal.print(&render(&rows, &architectures))?,
        PlainFormat::Json => print_json(&BTreeMap::from([("images", &rows)]))?,
    }
    for failure in &failures {
        terminal.failure(failure);
    }
    let is_lacking = |row: &Row| row.lacks.values().any(|used| *used == Use::Runs);
    Ok(if !failures.is_empty() {
        Exit::Unjudged
    } else if rows.iter().any(is_lacking) {
        Exit::Denied
    } else {
        Exit::Accepted
    })
}

fn rows(
    world: &World,
    architectures: &BTreeSet<String>,
    args: &args::Images,
    registries: &Registries,
) -> (Vec<Row>, Vec<String>) {
    let candidates = architectures.iter().map(|name| {
        let nodes = of_architecture(name, world, args.arch.is_some());
        let is_workload = world.hyperconvergeds.iter().any(|hco| {
            let placement = stage::placement(hco);
            let hosts = |node| stage::hosts_workloads(placement.as_ref(), node);
            nodes.iter().any(hosts)
        });
        (name, nodes, is_workload)
    });
    let candidates: Vec<(&String, Vec<Node>, bool)> = candidates.collect();
    let mut failures = Vec::new();
    let mut asked = Vec::new();
    for (image, found) in found(world) {
        match at(&image) {
            Some(at) => asked.push((at, found)),
            None => failures.push(one_line(&format!("`{image}` is not an image"))),
        }
    }
    let names: Vec<&str> = architectures.iter().map(String::as_str).collect();
    let places = asked.iter().map(|(image, _)| (image.clone(), Vec::new()));
    let contents = look_up(places.collect(), &args.mirror, registries, &names);
    let rows = contents.iter().zip(&asked).map(|(read, (image, found))| {
        let supported = read.architectures();
        let lacks = candidates.iter().filter_map(|(name, nodes, is_workload)| {
            if supported.as_ref()?.contains(name.as_str()) {
                return None;
            }
            let uses = found.values().flatten();
            let uses = uses.map(|started| started.used_on(nodes, *is_workload));
            Some(((*name).clone(), uses.min()?))
        });
        let lacks = lacks.collect();
        let error = read.errors().into_iter().next();
        failures.extend(error.iter().map(|why| one_line(&format!("{image}: {why}"))));
        Row {
            image: image.to_string(),
            lacks,
            architectures: supported.map(|all| all.into_iter().map(str::to_owned).collect()),
            error,
            used_by: found.keys().cloned().collect(),
        }
    });
    let rows = rows.collect();
    (rows, failures)
}

/// The images of the workloads and the `ClusterServiceVersion` in the namespaces of HyperConverged objects, with the
/// objects that name them.
fn found(world: &World) -> BTreeMap<String, BTreeMap<String, Vec<Started<'_>>>> {
    let namespaces: BTreeSet<&str> = world.hyperconvergeds.iter().map(namespace).collect();
    let mut found: BTreeMap<String, BTreeMap<String, Vec<Started<'_>>>> = BTreeMap::new();
    let mut add = |image: &String, by: &String, started| {
        let found = found.entry(image.clone()).or_default();
        found.entry(by.clone()).or_default().push(started);
    };
    for workloads in [&world.daemon_sets, &world.deployments, &world.jobs] {
        let own = workloads.iter();
        let own = own.filter(|it| namespaces.contains(&*it.metadata.namespace));
        // A Job that has ended starts no more pods.
        for workload in own.filter(|it| it.completed.is_none()) {
            let by = format!("{} {}", workloads.kind(), workload.metadata.key());
            for container in workload.init_containers.iter().chain(&workload.containers) {
                add(&container.image, &by, Started::ByPod(workload));
                for variable in &container.env {
                    let what = variable.name.to_ascii_lowercase().replace('_', "");
                    let is_started = STARTED.iter().any(|started| what.contains(started));
                    let by_operator = is_started.then_some(Started::ByOperator);
                    add(
                        &variable.value,
                        &by,
                        by_operator.unwrap_or(Started::Elsewhere),
                    );
                }
            }
        }
    }
    for version in world.service_versions.iter() {
        let metadata = &version.metadata;
        // OLM copies those of other operators into the namespace.
        let is_ours = metadata.name.starts_with("kubevirt-hyperconverged");
        if is_ours && namespaces.contains(&*metadata.namespace) {
            let by = format!("ClusterServiceVersion {}", metadata.key());
            for image in &version.images {
                add(&image.image, &by, Started::Elsewhere);
            }
        }
    }
    found
}

/// The images in the environment and the arguments of an operator, with the names of their variables and flags.
pub(crate) fn images(container: &Container) -> Vec<Variable> {
    let flags = container.args.iter().zip(container.args.iter().skip(1));
    let arguments = flags.map(|(name, value)| Variable {
        name: name.clone(),
        value: value.clone(),
    });
    let all = container.env.iter().cloned().chain(arguments);
    // Other variables and arguments can be secrets, and snapshots keep what is found here.
    let is_image = |Variable { name, value }: &Variable| {
        let name = name.to_ascii_lowercase();
        let is_named =
            !name.contains('=') && name.ends_with("image") || name.starts_with("related_image_");
        is_named && value.contains('/') && at(value).is_some()
    };
    all.filter(is_image).collect()
}

/// An image as the kubelet reads it: it ignores the tag of a reference with a digest.
fn at(image: &str) -> Option<Image> {
    let without_tag = image.split_once('@').map(|(name, digest)| {
        let tag = name.rsplit_once(':').filter(|(_, tag)| !tag.contains('/'));
        format!("{}@{digest}", tag.map_or(name, |(name, _)| name))
    });
    let image = without_tag.as_deref().unwrap_or(image);
    Image::at(&format!("docker://{image}"))?.ok()
}

impl Started<'_> {
    /// Where it can run, for the nodes of an architecture, and for whether one of them is a workload node.
    fn used_on(&self, nodes: &[Node], is_workload: bool) -> Use {
        match self {
            Started::ByPod(pod) if is_placed(pod, nodes) => Use::Runs,
            Started::ByOperator if is_workload => Use::Runs,
            _ => Use::Elsewhere,
        }
    }
}

fn is_placed(pod: &Workload, nodes: &[Node]) -> bool {
    let affinity = pod.node_affinity.clone();
    let placement = Placement::parse(pod.node_selector.clone(), affinity);
    nodes
        .iter()
        .any(|it| it.matches(|node| placement.selects(node)))
}

/// The nodes of an architecture, and a worker that joins if there are none or if the user asks about the architecture.
fn of_architecture(wanted: &str, world: &World, joins: bool) -> Vec<Node> {
    let existing = world.nodes.iter();
    let existing = existing.filter(|node| node.architecture == wanted);
    let mut all: Vec<Node> = existing.cloned().collect();
    if all.is_empty() || joins {
        let workers = BTreeMap::from([(wanted.to_owned(), 1)]);
        all.extend(Node::made_up(&workers, "joined-", "worker"));
    }
    all
}

fn render(rows: &[Row], architectures: &BTreeSet<String>) -> String {
    let mut text = String::new();
    let unread = rows.iter().filter(|row| row.architectures.is_none());
    let unread = unread.count();
    let read = count(rows.len() - unread, "image");
    for architecture in architectures {
        let name = one_line(architecture);
        let lacking = |used: Use| {
            let rows = rows.iter();
            rows.filter(move |row| row.lacks.get(architecture) == Some(&used))
        };
        let here = lacking(Use::Runs).count();
        let (style, sign, result) = match (here, unread) {
            (0, 0) => {
                let result = format!("no image that can run on {name} nodes lacks {name}");
                (GREEN, '✔', format!("{result} ({read} read)"))
            }
            (0, _) => {
                let unread = count(unread, "image");
                (YELLOW, '?', format!("{name}: {unread} could not be read"))
            }
            _ => {
                let result = format!("{here} of {read} lack {name}, and can run on {name} nodes");
                (RED, '✘', result)
            }
        };
        line!(text, "{style}{sign}{style:#} {BOLD}{result}{BOLD:#}");
        for used in [Use::Runs, Use::Elsewhere] {
            if used == Use::Elsewhere && lacking(used).next().is_some() {
                line!(
                    text,
                    "  also lack {name}, but run elsewhere or are only listed:"
                );
            }
            for row in lacking(used) {
                let by: Vec<String> = row.used_by.iter().map(|by| one_line(by)).collect();
                line!(text, "    {} {DIM}({}){DIM:#}", row.image, by.join("; "));
            }
        }
        if here > 0 {
            let how = "with HCO's node placements";
            line!(
                text,
                "  until they support {name}, exclude {name} nodes {how}"
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::world::Object as _;

    #[test]
    fn images_in_the_environment_and_in_arguments_are_found() {
        let container = Container::from_value(&json!({
            "env": [
                {"name": "IMPORTER_IMAGE", "value": "quay.io/a/b:v1"},
                {"name": "IMAGE_PULL_POLICY", "value": "Always"},
                {"name": "PASSWORD", "value": "a/b:c"},
                {"name": "IMAGE_REGISTRY_AUTH", "value": "user/password"},
                {"name": "SHIM_IMAGE", "value": "quay.io/a/d:v1@sha256:aa"},
            ],
            "args": ["--launcher-image", "quay.io/a/c:v1", "--image-proxy=https://user:password@host", "x/y"],
        }));
        let images = images(&container.unwrap());
        let names: Vec<&str> = images.iter().map(|it| &*it.name).collect();
        assert_eq!(names, ["IMPORTER_IMAGE", "SHIM_IMAGE", "--launcher-image"]);
    }
}
