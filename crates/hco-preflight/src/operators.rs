//! `images --operators`: which images of HCO and its operands lack the architecture of nodes, and where they run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Result, bail};
use engine::Image;
use k8s_openapi::api::core::v1::NodeAffinity;
use kube_objects::placement::Placement;
use policy_host::Registries;
use serde::{Deserialize as _, Serialize};
use serde_json::{Value, json};

use crate::args::{self, PlainFormat};
use crate::exit::Exit;
use crate::field::{architecture, items, text};
use crate::foreign::one_line;
use crate::images::look_up;
use crate::notes::Notes;
use crate::object_name::{key, name, namespace};
use crate::prose::count;
use crate::stage::{self, Reader, Snapshot};
use crate::terminal::{BOLD, DIM, GREEN, RED, Terminal, YELLOW, print_json};

/// The kinds with images.
const KINDS: [&str; 4] = ["DaemonSet", "Deployment", "Job", "ClusterServiceVersion"];

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

/// Where an image can run, the most important one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Use {
    /// On each node of the architecture, or for each VM or import on it. Taints are ignored.
    Runs,
    /// The scheduler can choose a node of the architecture.
    MayRun,
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

/// An image that an object names.
struct Found<'o> {
    image: String,
    by: String,
    /// The pod that runs it; `None` if an operator starts it, or if it is only listed.
    pod: Option<&'o Value>,
    is_daemon: bool,
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
    let snapshot = match &args.from {
        Some(path) => Snapshot::of_files(path, None, Reader::Operators, &mut notes),
        None => stage::cluster(&args.connection, &mut notes).and_then(|cluster| {
            let own = args.connection.namespace.as_deref();
            Snapshot::of_cluster(&cluster, own, None, Reader::Operators)
        }),
    };
    terminal.notes(&notes);
    let snapshot = snapshot?;
    let nodes = snapshot.nodes.to_objects();
    let all = nodes.iter().filter_map(architecture).map(str::to_owned);
    let architectures: BTreeSet<String> = match &args.arch {
        Some(one) => BTreeSet::from([one.clone()]),
        None => all.collect(),
    };
    if architectures.is_empty() {
        bail!("there are no nodes: specify the architecture with --arch");
    }
    let (rows, mut failures) = rows(&snapshot, &nodes, &architectures, args, registries);
    if rows.is_empty() && failures.is_empty() {
        bail!("there are no DaemonSets, Deployments, or Jobs in the namespace of a HyperConverged");
    }
    for unread in &snapshot.unread {
        let reason = one_line(&unread.reason);
        failures.push(format!("{} was not read: {reason}", unread.kind));
    }
    match args.output {
        PlainFormat::Text => terminal.print(&render(&rows, &architectures))?,
        PlainFormat::Json => print_json(&BTreeMap::from([("images", &rows)]))?,
    }
    for failure in &failures {
        terminal.failure(failure);
    }
    let is_lacking = |row: &Row| row.lacks.values().any(|used| *used <= Use::MayRun);
    Ok(if !failures.is_empty() {
        Exit::Unjudged
    } else if rows.iter().any(is_lacking) {
        Exit::Denied
    } else {
        Exit::Accepted
    })
}

fn rows(
    snapshot: &Snapshot,
    nodes: &[Value],
    architectures: &BTreeSet<String>,
    args: &args::Images,
    registries: &Registries,
) -> (Vec<Row>, Vec<String>) {
    let namespaces: BTreeSet<&str> = snapshot.hyperconvergeds.iter().map(namespace).collect();
    let all = KINDS
        .iter()
        .flat_map(|kind| snapshot.of(kind).map(move |it| (*kind, it)));
    let is_ours = |(_, object): &(&str, Value)| namespaces.contains(namespace(object));
    let objects: Vec<(&str, Value)> = all.filter(is_ours).collect();
    let candidates = architectures.iter().map(|name| {
        let nodes = of_architecture(name, nodes, args.arch.is_some());
        let mut pairs = snapshot.hyperconvergeds.iter();
        let is_workload =
            pairs.any(|hco| nodes.iter().any(|node| stage::hosts_workloads(hco, node)));
        (name.clone(), (nodes, is_workload))
    });
    let candidates: BTreeMap<String, (Vec<Value>, bool)> = candidates.collect();
    let mut by_image: BTreeMap<String, Vec<Found<'_>>> = BTreeMap::new();
    for (kind, object) in &objects {
        for found in images_of(kind, object) {
            by_image.entry(found.image.clone()).or_default().push(found);
        }
    }
    let mut failures = Vec::new();
    let mut asked = Vec::new();
    for (image, found) in by_image {
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
        let is_lacking = |name: &&String| {
            let supported = supported.as_ref();
            supported.is_some_and(|supported| !supported.contains(name.as_str()))
        };
        let used = |name: &String| {
            let (nodes, is_workload) = candidates.get(name)?;
            let uses = found.iter().map(|found| found.used_on(nodes, *is_workload));
            uses.min()
        };
        let lacks = architectures.iter().filter(is_lacking);
        let lacks = lacks.map(|name| (name.clone(), used(name).unwrap_or(Use::Elsewhere)));
        let error = read.error();
        failures.extend(error.iter().map(|why| one_line(&format!("{image}: {why}"))));
        Row {
            image: image.to_string(),
            lacks: lacks.collect(),
            architectures: supported.map(|all| all.into_iter().map(str::to_owned).collect()),
            error,
            used_by: found.iter().map(|found| found.by.clone()).collect(),
        }
    });
    let rows = rows.collect();
    (rows, failures)
}

/// The images of a workload or a `ClusterServiceVersion`.
fn images_of<'o>(kind: &str, object: &'o Value) -> Vec<Found<'o>> {
    let by = format!("{kind} {}", key(object));
    let listed = |image: &str| Found {
        image: image.to_owned(),
        by: by.clone(),
        pod: None,
        is_daemon: false,
    };
    if kind == "ClusterServiceVersion" {
        // OLM copies those of other operators into the namespace.
        let is_ours = name(object).starts_with("kubevirt-hyperconverged");
        let images = items(object, "/spec/relatedImages").filter(|_| is_ours);
        let images = images.filter_map(|it| text(it, "/image"));
        return images.map(listed).collect();
    }
    // A Job that has ended starts no more pods.
    if object.pointer("/status/completionTime").is_some() {
        return Vec::new();
    }
    let pod = object.pointer("/spec/template/spec");
    let containers =
        ["initContainers", "containers"].map(|list| format!("/spec/template/spec/{list}"));
    let mut found = Vec::new();
    for container in containers.iter().flat_map(|list| items(object, list)) {
        found.extend(text(container, "/image").map(|image| Found {
            pod,
            is_daemon: kind == "DaemonSet",
            ..listed(image)
        }));
        for (what, image) in named(container) {
            let what = what.to_ascii_lowercase().replace('_', "");
            let is_started = STARTED.iter().any(|started| what.contains(started));
            let starts = if is_started { ", which starts it" } else { "" };
            found.push(Found {
                by: format!("{by}{starts}"),
                is_daemon: is_started,
                ..listed(image)
            });
        }
    }
    found
}

/// The images in the environment and the arguments of an operator, with the names of their variables and flags.
pub(crate) fn named(container: &Value) -> Vec<(&str, &str)> {
    let variables = items(container, "/env");
    let variables = variables.filter_map(|it| Some((text(it, "/name")?, text(it, "/value")?)));
    let arguments: Vec<&str> = items(container, "/args")
        .filter_map(Value::as_str)
        .collect();
    let separate = arguments.windows(2).filter_map(|pair| match pair {
        [flag, value] => Some((*flag, *value)),
        _ => None,
    });
    let all = variables.chain(separate);
    // Other variables and arguments can be secrets, and snapshots keep what is found here.
    let is_image = |(what, image): &(&str, &str)| {
        let what = what.to_ascii_lowercase();
        let is_named =
            !what.contains('=') && what.ends_with("image") || what.starts_with("related_image_");
        is_named && image.contains('/') && at(image).is_some()
    };
    all.filter(is_image).collect()
}

/// An image as the kubelet reads it: it ignores the tag of a reference with a digest.
fn at(image: &str) -> Option<Image> {
    let without_tag = image.split_once('@').map(|(name, digest)| {
        let tag = name
            .rfind(':')
            .filter(|colon| !name.split_at(*colon).1.contains('/'));
        let name = tag.map_or(name, |colon| name.split_at(colon).0);
        format!("{name}@{digest}")
    });
    let image = without_tag.as_deref().unwrap_or(image);
    Image::at(&format!("docker://{image}"))?.ok()
}

impl Found<'_> {
    /// Where it can run, for the nodes of an architecture, and for whether one of them is a workload node.
    fn used_on(&self, nodes: &[Value], is_workload: bool) -> Use {
        match self.pod {
            None if self.is_daemon && is_workload => Use::Runs,
            Some(pod) if is_placed(pod, nodes) && self.is_daemon => Use::Runs,
            Some(pod) if is_placed(pod, nodes) => Use::MayRun,
            _ => Use::Elsewhere,
        }
    }
}

/// Whether a pod can run on one of these nodes.
fn is_placed(pod: &Value, nodes: &[Value]) -> bool {
    let selector = pod.get("nodeSelector").and_then(Value::as_object);
    let selector: BTreeMap<String, String> = selector
        .into_iter()
        .flatten()
        .filter_map(|(label, value)| Some((label.clone(), value.as_str()?.to_owned())))
        .collect();
    let affinity = pod.pointer("/affinity/nodeAffinity");
    let affinity = affinity.and_then(|affinity| NodeAffinity::deserialize(affinity).ok());
    let placement = Placement::parse(selector, affinity);
    nodes.iter().any(|node| {
        let labels = node.pointer("/metadata/labels").and_then(Value::as_object);
        let labels = labels.into_iter().flatten();
        let labels = labels.filter_map(|(label, value)| Some((label.as_str(), value.as_str()?)));
        placement.matches(name(node), labels)
    })
}

/// The nodes of an architecture, and a worker that joins if there are none or if the user asks about the architecture.
fn of_architecture(wanted: &str, nodes: &[Value], joins: bool) -> Vec<Value> {
    let existing = nodes
        .iter()
        .filter(|node| architecture(node) == Some(wanted));
    let mut all: Vec<Value> = existing.cloned().collect();
    if all.is_empty() || joins {
        let labels = json!({
            "kubernetes.io/arch": wanted,
            "kubernetes.io/os": "linux",
            "node-role.kubernetes.io/worker": "",
        });
        all.push(json!({
            "metadata": {"labels": labels},
            "status": {"nodeInfo": {"architecture": wanted}},
        }));
    }
    all
}

fn render(rows: &[Row], architectures: &BTreeSet<String>) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let unread = rows.iter().filter(|row| row.architectures.is_none());
    let unread = unread.count();
    let read = count(rows.len() - unread, "image");
    for architecture in architectures {
        let name = one_line(architecture);
        let lacking = rows.iter();
        let lacking = lacking.filter_map(|row| Some((*row.lacks.get(architecture)?, row)));
        let lacking: Vec<(Use, &Row)> = lacking.collect();
        let here = lacking.iter().filter(|(used, _)| *used <= Use::MayRun);
        let here = here.count();
        let _ = match (here, unread) {
            (0, 0) => writeln!(
                text,
                "{GREEN}✔{GREEN:#} {BOLD}no image that can run on {name} nodes lacks {name}{BOLD:#} ({read} read)"
            ),
            (0, _) => writeln!(
                text,
                "{YELLOW}?{YELLOW:#} {BOLD}{name}: {} could not be read{BOLD:#}",
                count(unread, "image")
            ),
            _ => writeln!(
                text,
                "{RED}✘{RED:#} {BOLD}{here} of {read} lack {name}, and can run on {name} nodes{BOLD:#}"
            ),
        };
        for (used, style, title) in [
            (
                Use::Runs,
                YELLOW,
                format!("for each {name} node without taints, or for VMs and imports on it"),
            ),
            (
                Use::MayRun,
                YELLOW,
                format!("where the scheduler can choose {name} nodes"),
            ),
            (
                Use::Elsewhere,
                DIM,
                format!("lack it, but do not run on {name} nodes, or are only listed"),
            ),
        ] {
            let of_use = lacking.iter().filter(|(its, _)| *its == used);
            for (index, (_, row)) in of_use.enumerate() {
                if index == 0 {
                    let _ = writeln!(text, "  {style}{title}{style:#}");
                }
                let by: Vec<String> = row.used_by.iter().map(|by| one_line(by)).collect();
                let _ = writeln!(text, "    {} {DIM}({}){DIM:#}", row.image, by.join("; "));
            }
        }
        if here > 0 {
            let _ = writeln!(
                text,
                "  until they support {name}, exclude {name} nodes with HCO's node placements"
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_placed_on_existing_or_joining_nodes() {
        let node = |architecture: &str, role: &str| {
            json!({
                "metadata": {"labels": {"kubernetes.io/arch": architecture, role: ""}},
                "status": {"nodeInfo": {"architecture": architecture}},
            })
        };
        let (worker, master) = (
            "node-role.kubernetes.io/worker",
            "node-role.kubernetes.io/master",
        );
        let nodes = [node("amd64", master), node("arm64", worker)];
        let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]},
        ]}});
        for (pod, on_arm64, on_s390x) in [
            (json!({}), true, true),
            (
                json!({"nodeSelector": {"kubernetes.io/os": "linux"}}),
                false,
                true,
            ),
            (json!({"nodeSelector": {master: ""}}), false, false),
            (
                json!({"affinity": {"nodeAffinity": required}}),
                false,
                false,
            ),
        ] {
            let is_placed = |name, joins| is_placed(&pod, &of_architecture(name, &nodes, joins));
            assert_eq!(is_placed("arm64", false), on_arm64, "{pod}");
            assert_eq!(is_placed("s390x", false), on_s390x, "{pod}");
            assert_eq!(is_placed("arm64", true), on_arm64 || on_s390x, "{pod}");
        }
    }

    #[test]
    fn images_in_the_environment_and_in_arguments_are_found() {
        let container = json!({
            "env": [
                {"name": "IMPORTER_IMAGE", "value": "quay.io/a/b:v1"},
                {"name": "IMAGE_PULL_POLICY", "value": "Always"},
                {"name": "PASSWORD", "value": "a/b:c"},
                {"name": "IMAGE_REGISTRY_AUTH", "value": "user/password"},
                {"name": "SHIM_IMAGE", "value": "quay.io/a/d:v1@sha256:aa"},
            ],
            "args": ["--launcher-image", "quay.io/a/c:v1", "--image-proxy=https://user:password@host", "x/y"],
        });
        let images = named(&container);
        let names: Vec<&str> = images.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["IMPORTER_IMAGE", "SHIM_IMAGE", "--launcher-image"]);
    }
}
