//! Reads the state of a cluster from files: a file of `snapshot`, a must-gather, or files of `kubectl get -o yaml`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::path::Path;

use anyhow::Result;
use kube_objects::text::list;
use serde_json::Value;

use super::{
    CLUSTER_PREFERENCE, FILES, GOLDEN, Gap, Node, POLICY, PREFERENCE, Reader, World, hyperconverged,
};
use crate::field::{items, key};
use crate::files;
use crate::foreign::one_line;
use crate::identity::Identity;
use crate::nodes::Counts;
use crate::notes::Notes;

impl World {
    pub fn of_files(
        path: &Path,
        manifests: &[&Value],
        reader: Reader,
        notes: &mut Notes,
    ) -> Result<Self> {
        let mut world = Self::new();
        let mut seen = Seen::default();
        let skipped = files::each_object(path, |file, object| {
            let identity = Identity::of(&object);
            let (api_version, kind) = (&identity.api_version, &identity.kind);
            let item = kind.strip_suffix("List").unwrap_or(kind);
            let known = world.lists().into_iter().find_map(|list| {
                let state = list.state();
                let is_read = state.is_read_by(reader) || state.kind == POLICY;
                let is_same = state.kind == item && group(state.api_version) == group(api_version);
                (is_read && is_same).then_some(list)
            });
            if let Some(list) = known {
                // A must-gather can have the PersistentVolumeClaims of other namespaces only.
                let gathered = gathered_namespace(file);
                list.state().is_read |= gathered.is_none_or(|name| GOLDEN.contains(&name));
                if item == kind {
                    list.add(object, Some(&mut seen));
                }
            } else if identity.is_hyperconverged() {
                let object = hyperconverged(object);
                let (of_version, name) = (format!("{kind}.{api_version}"), key(&object));
                if seen.is_new(&of_version, &name, &object) {
                    let mut known = world.hyperconvergeds.iter();
                    if known.any(|known| key(known) == name) {
                        world.converted.push(object);
                    } else {
                        world.hyperconvergeds.push(object);
                    }
                }
            }
        })?;
        let skipped = (!skipped.is_empty()).then(|| format!("skipped {}", list(&skipped, 1)));
        if let Some(skipped) = &skipped {
            notes.push(skipped);
        }
        world.add_nodes_of_status(notes);
        let shown = path.display().to_string();
        world.reduce_nodes(manifests, reader, &shown)?;
        notes.push(&world.found(reader, &seen, &shown));
        let differing: Vec<&String> = seen.differing.iter().collect();
        if !differing.is_empty() {
            let differing = list(&differing, 1);
            notes.push(&format!(
                "{shown} has different states of {differing}: the first one, in the order of file names, is used; use the files of one cluster from one point in time"
            ));
        }
        world.finish(reader);
        world.gaps.extend(skipped.map(|skipped| Gap {
            kind: FILES,
            reason: one_line(&skipped),
            is_transient: false,
        }));
        Ok(world)
    }

    /// HCO itself evaluates these architectures. With a placement, labels matter, and the status does not have them.
    fn add_nodes_of_status(&mut self, notes: &mut Notes) {
        let ([only], false) = (&*self.hyperconvergeds, self.nodes.state.is_read) else {
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

    /// The text about the kinds that were found and the kinds that are missing. It records a gap for each missing kind.
    fn found(&mut self, reader: Reader, seen: &Seen, shown: &str) -> String {
        let mut found = Vec::new();
        let mut missing = Vec::new();
        for list in self.lists() {
            let state = list.state();
            // A check names the other kinds only if it depends on them.
            let is_shown = reader != Reader::Check || matches!(state.kind, POLICY | "Node");
            let count = seen.counts.get(state.kind).copied().unwrap_or_default();
            if !state.is_read_by(reader) {
                continue;
            }
            if is_shown && (state.is_read || state.kind == "Node") {
                found.push(format!("{} ({count})", state.kind));
            }
            // A command that needs nodes reports that there are none. Without preferences, the shipped ones apply, and
            // without KubeVirt, the forecast of its default architecture.
            let is_optional = matches!(
                state.kind,
                "KubeVirt" | "Node" | PREFERENCE | CLUSTER_PREFERENCE
            );
            if !state.is_read && !is_optional {
                missing.extend(is_shown.then_some(state.kind));
                let place = match count {
                    0 => "",
                    _ => " in a namespace of golden images",
                };
                let why = format!("{shown} has no objects and no empty list of this kind{place}");
                state.set_gap(one_line(&why), false);
            }
        }
        // The nodes come first, if the command reads them.
        let hyperconvergeds = format!("HyperConverged ({})", self.hyperconvergeds.len());
        found.insert(found.len().min(1), hyperconvergeds);
        if missing.is_empty() {
            return format!("{shown} has {}", found.join(", "));
        }
        format!(
            "{shown} has only {}; checks that need other kinds are skipped: {}",
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
    hashes: BTreeMap<(String, String), u64>,
    counts: BTreeMap<String, usize>,
    differing: BTreeSet<String>,
}

impl Seen {
    pub(super) fn is_new(&mut self, kind: &str, key: &str, object: &impl Display) -> bool {
        let hash = BuildHasherDefault::<DefaultHasher>::new().hash_one(object.to_string());
        let known = self.hashes.insert((kind.to_owned(), key.to_owned()), hash);
        match known {
            None => *self.counts.entry(kind.to_owned()).or_default() += 1,
            Some(known) if known != hash => {
                let name = key.trim_start_matches('/');
                self.differing.insert(format!("{kind} {name}"));
            }
            Some(_) => {}
        }
        known.is_none()
    }
}
