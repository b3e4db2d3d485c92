//! Reads the state of a cluster from files: a file of `snapshot`, a must-gather, or files of `kubectl get -o yaml`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use anyhow::{Result, bail};
use kube_objects::text::list;
use serde_json::Value;

use super::{AnyList, GOLDEN, Gap, Node, Reader, State, World, hyperconverged, labels};
use crate::field::{items, key};
use crate::files;
use crate::foreign::one_line;
use crate::identity::Identity;
use crate::nodes::Counts;
use crate::notes::Notes;

impl World {
    /// Reads a file or a directory. A note lists the kinds that were found and the kinds that are missing. It reads the
    /// labels of nodes that matter to the HyperConverged and to these manifests.
    pub fn of_files(
        path: &Path,
        manifests: &[&Value],
        reader: Reader,
        notes: &mut Notes,
    ) -> Result<Self> {
        let mut world = Self::new(reader);
        let mut seen = Seen::default();
        let skipped = files::each_object(path, |file, object| {
            let identity = Identity::of(&object);
            let (api_version, kind) = (&identity.api_version, &identity.kind);
            let key = key(&object);
            let item = kind.strip_suffix("List").unwrap_or(kind);
            let is_known = |list: &&mut dyn AnyList| {
                let known = list.state().kind;
                let is_read = known.is_read_by(reader) || known.is_policy();
                is_read && known.name == item && group(known.api_version) == group(api_version)
            };
            if let Some(list) = world.lists_mut().into_iter().find(is_known) {
                // A must-gather can have the PersistentVolumeClaims of other namespaces only.
                let gathered = gathered_namespace(file);
                list.state_mut().is_read |= gathered.is_none_or(|name| GOLDEN.contains(&name));
                if item == kind {
                    list.add(object, Some(&mut seen));
                }
            } else if identity.is_hyperconverged() {
                let object = hyperconverged(&object);
                let of_version = format!("{kind}.{api_version}");
                if seen.is_new(&of_version, &key, &object) {
                    world.add(object);
                }
            }
        })?;
        if !skipped.is_empty() {
            let reason = format!("skipped {}", list(&skipped, 1));
            notes.push(&reason);
            world.skipped = Some(Gap {
                kind: "files",
                reason: one_line(&reason),
                is_transient: false,
            });
        }
        world.add_nodes_of_status(notes);
        world.reduce();
        let own = world.hyperconvergeds.iter();
        let labels = labels(reader, own.chain(manifests.iter().copied()));
        for node in &mut world.nodes.objects {
            node.keep(&labels);
        }
        let shown = path.display().to_string();
        if let Some(gap) = &world.nodes.state.gap {
            bail!("{}: Node {}", one_line(&shown), one_line(&gap.reason));
        }
        notes.push(&format!("{shown} {}", world.found(&seen)));
        seen.note(&shown, notes);
        for list in world.lists_mut() {
            let (kind, is_read) = (list.state().kind, list.state().is_read);
            if kind.is_read_by(reader) && !kind.is_optional() && !is_read {
                // A must-gather can have the PersistentVolumeClaims of other namespaces.
                let place = match seen.count(kind.name) {
                    0 => "",
                    _ => " in a namespace of golden images",
                };
                let why = format!("{shown} has no objects and no empty list of this kind{place}");
                list.state_mut().set_gap(one_line(&why), false);
            }
        }
        Ok(world)
    }

    /// Adds a HyperConverged of a file, unless its version was already added.
    fn add(&mut self, object: Value) {
        if self
            .hyperconvergeds
            .iter()
            .any(|known| key(known) == key(&object))
        {
            self.converted.push(object);
        } else {
            self.hyperconvergeds.push(object);
        }
    }

    /// Adds a node for each architecture in the status of the only HyperConverged, if there are no nodes. HCO itself
    /// evaluates these architectures. With a placement, the labels of the nodes matter, and the status does not have them.
    fn add_nodes_of_status(&mut self, notes: &mut Notes) {
        let ([only], [], false) = (
            self.hyperconvergeds.as_slice(),
            self.nodes.objects.as_slice(),
            self.nodes.state.is_read,
        ) else {
            return;
        };
        let is_placed = [
            "/spec/workloads/nodePlacement",
            "/spec/deployment/nodePlacements/workload",
        ]
        .into_iter()
        .filter_map(|path| only.pointer(path)?.as_object())
        .any(|placement| !placement.is_empty());
        if is_placed {
            return;
        }
        let of_role = |list: &str, prefix: &str, role| {
            let names = items(only, &format!("/status/nodeInfo/{list}"))
                .filter_map(|name| Some((name.as_str()?.to_owned(), 1)))
                .collect();
            Counts(names).nodes(prefix, role)
        };
        let workers = of_role("workloadsArchitectures", "worker-", "worker");
        let control_plane = of_role("controlPlaneArchitectures", "cp-", "control-plane");
        let nodes: Vec<Node> = workers.into_iter().chain(control_plane).collect();
        if !nodes.is_empty() {
            notes.push("there are no nodes: the architectures in the status of the HyperConverged are used, with one node each; add the output of `kubectl get nodes -o yaml`");
            self.nodes.objects = nodes;
            self.has_made_up_nodes = true;
            self.nodes.state.is_read = true;
        }
    }

    /// The text about the kinds that were found and the kinds that are missing.
    fn found(&self, seen: &Seen) -> String {
        let mut found = vec![format!("HyperConverged ({})", self.hyperconvergeds.len())];
        if self.nodes.state.kind.is_read_by(self.reader) {
            found.insert(0, format!("Node ({})", seen.count("Node")));
        }
        let mut missing = Vec::new();
        for list in self.lists() {
            let State { kind, is_read, .. } = list.state();
            // A check names the other kinds only if it depends on them.
            let is_shown = self.reader != Reader::Check || kind.is_policy();
            if !kind.is_read_by(self.reader) || !is_shown || kind.name == "Node" {
                continue;
            }
            if *is_read {
                found.push(format!("{} ({})", kind.name, seen.count(kind.name)));
            } else if !kind.is_optional() {
                missing.push(kind.name);
            }
        }
        if missing.is_empty() {
            return format!("has {}", found.join(", "));
        }
        format!(
            "has only {}; checks that need other kinds are skipped: {}",
            found.join(", "),
            missing.join(", ")
        )
    }
}

fn group(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or("", |(group, _)| group)
}

/// The namespace of a file of claims in a must-gather: `namespaces/NAMESPACE/core/persistentvolumeclaims.yaml`.
fn gathered_namespace(file: &Path) -> Option<&str> {
    let (_, below) = file.to_str()?.rsplit_once("namespaces/")?;
    let (namespace, kind) = below.split_once("/core/")?;
    // An object can have its own file in a directory of its kind.
    kind.starts_with("persistentvolumeclaims")
        .then_some(namespace)
}

/// The objects that were read. A must-gather can contain an object twice, and a directory two snapshots.
#[derive(Default)]
pub(super) struct Seen {
    /// A hash of each object.
    objects: BTreeMap<(String, String), u64>,
    /// The objects that differ between files.
    differing: BTreeSet<String>,
}

impl Seen {
    /// Whether an object was not read before.
    pub(super) fn is_new(&mut self, kind: &str, key: &str, object: &impl Display) -> bool {
        let mut hasher = DefaultHasher::new();
        object.to_string().hash(&mut hasher);
        let hash = hasher.finish();
        let known = self.objects.insert((kind.to_owned(), key.to_owned()), hash);
        if known.is_some_and(|known| known != hash) {
            let name = key.trim_start_matches('/');
            self.differing.insert(format!("{kind} {name}"));
        }
        known.is_none()
    }

    /// The number of objects of a kind.
    fn count(&self, kind: &str) -> usize {
        self.objects
            .keys()
            .map(|(kind, _)| kind)
            .filter(|other| *other == kind)
            .count()
    }

    /// Notes that only one of several states of an object is used.
    fn note(&self, path: &str, notes: &mut Notes) {
        let objects: Vec<&String> = self.differing.iter().collect();
        if !objects.is_empty() {
            let objects = list(&objects, 1);
            notes.push(&format!(
                "{path} has different states of {objects}: the first one, in the order of file names, is used; use the files of one cluster from one point in time"
            ));
        }
    }
}
