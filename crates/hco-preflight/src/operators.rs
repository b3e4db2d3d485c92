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

/// Where an image runs, the most important one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Use {
    /// On all nodes of the architecture, or for each VM or import on them.
    Runs,
    /// The scheduler can choose a node of the architecture.
    MayRun,
    /// Its placement excludes the nodes of the architecture.
    Elsewhere,
    /// An operator's environment or the `ClusterServiceVersion` names it.
    Listed,
}

impl Use {
    fn title(self, architecture: &str) -> String {
        match self {
            Self::Runs => format!("they run on {architecture} nodes"),
            Self::MayRun => format!("the scheduler can place them on {architecture} nodes"),
            Self::Elsewhere => "they run on other nodes only".to_owned(),
            Self::Listed => "only named by an operator or its ClusterServiceVersion".to_owned(),
        }
    }
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
        let used = |name: &String| found.iter().map(|it| it.used_on(name, nodes)).min();
        let lacks = architectures.iter().filter(is_lacking);
        let lacks = lacks.map(|name| (name.clone(), used(name).unwrap_or(Use::Listed)));
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
    fn used_on(&self, architecture: &str, nodes: &[Value]) -> Use {
        match self.pod {
            None if self.is_daemon => Use::Runs,
            None => Use::Listed,
            Some(pod) if !is_placed(pod, architecture, nodes) => Use::Elsewhere,
            Some(_) if self.is_daemon => Use::Runs,
            Some(_) => Use::MayRun,
        }
    }
}

/// Whether a pod can run on a node of an architecture: on one of the cluster's, else on a worker that joins.
fn is_placed(pod: &Value, wanted: &str, nodes: &[Value]) -> bool {
    let selector = pod.get("nodeSelector").and_then(Value::as_object);
    let selector: BTreeMap<String, String> = selector
        .into_iter()
        .flatten()
        .filter_map(|(label, value)| Some((label.clone(), value.as_str()?.to_owned())))
        .collect();
    let affinity = pod.pointer("/affinity/nodeAffinity");
    let affinity = affinity.and_then(|affinity| NodeAffinity::deserialize(affinity).ok());
    let placement = Placement::parse(selector, affinity);
    let joining = json!({"metadata": {"labels": {
        "kubernetes.io/arch": wanted,
        "kubernetes.io/os": "linux",
        "node-role.kubernetes.io/worker": "",
    }}});
    let existing = nodes
        .iter()
        .filter(|node| architecture(node) == Some(wanted));
    let mut of_architecture: Vec<&Value> = existing.collect();
    if of_architecture.is_empty() {
        of_architecture.push(&joining);
    }
    of_architecture.into_iter().any(|node| {
        let labels = node.pointer("/metadata/labels").and_then(Value::as_object);
        let labels = labels.into_iter().flatten();
        let labels = labels.filter_map(|(label, value)| Some((label.as_str(), value.as_str()?)));
        placement.matches(name(node), labels)
    })
}

fn render(rows: &[Row], architectures: &BTreeSet<String>) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for architecture in architectures {
        let name = one_line(architecture);
        let lacking: Vec<(Use, &Row)> = rows
            .iter()
            .filter_map(|row| Some((*row.lacks.get(architecture)?, row)))
            .collect();
        let read = rows
            .iter()
            .filter(|row| row.architectures.is_some())
            .count();
        if lacking.is_empty() {
            let _ = writeln!(
                text,
                "{GREEN}✔{GREEN:#} {BOLD}{} have {name}{BOLD:#}",
                count(read, "image")
            );
            continue;
        }
        let all = count(read, "image");
        let _ = writeln!(
            text,
            "{RED}✘{RED:#} {BOLD}{} of {all} lack {name}{BOLD:#}",
            lacking.len()
        );
        for used in [Use::Runs, Use::MayRun, Use::Elsewhere, Use::Listed] {
            let of_use = lacking.iter().filter(|(its, _)| *its == used);
            for (index, (_, row)) in of_use.enumerate() {
                if index == 0 {
                    let style = if used <= Use::MayRun { YELLOW } else { DIM };
                    let _ = writeln!(text, "  {style}{}{style:#}", used.title(&name));
                }
                let by: Vec<String> = row.used_by.iter().map(|by| one_line(by)).collect();
                let _ = writeln!(text, "    {} {DIM}({}){DIM:#}", row.image, by.join("; "));
            }
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
            assert_eq!(is_placed(&pod, "arm64", &nodes), on_arm64, "{pod}");
            assert_eq!(is_placed(&pod, "s390x", &nodes), on_s390x, "{pod}");
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
