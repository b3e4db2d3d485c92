//! The objects of a cluster, read from the cluster or from files.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context as _, Error, Result, anyhow};
use operator_models::ssp::data_sources::{
    GOLDEN_IMAGES_NAMESPACE, OPENSHIFT_GOLDEN_IMAGES_NAMESPACE,
};
use policy_host::{Cluster, ClusterError, Labels, NodeList};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::seen::Seen;
use crate::admission::Identity;
use crate::apply::LAST_APPLIED;
use crate::field::{items, text};
use crate::files;
use crate::foreign::{self, chain, masked, one_line};
use crate::headroom::SCHEDULABLE;
use crate::made_from;
use crate::notes::Notes;
use crate::object_name::{key, name, namespace};
use crate::operators;
use crate::owner::{self, CLEAN_UP, CREATED_BY, CRON, OWNER};
use crate::policy;
use crate::row::{Effect, Row};

/// A kind of objects that is read besides nodes and HyperConverged objects.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) api_version: &'static str,
    /// The API path of the list.
    path: &'static str,
    /// The commands that read it, besides `snapshot`.
    readers: &'static [Reader],
    /// The fields that are read, besides the name and the namespace.
    fields: &'static [&'static str],
}

/// A command that reads a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    Plan,
    Status,
    Snapshot,
    /// `images --operators`.
    Operators,
    /// Also used for `fix`.
    Check,
}

const CONDITIONS: &str = "/status/conditions";
/// The architecture that a preference sets, and the architecture that it requires.
const PREFERENCE: &[&str] = &[
    "/spec/preferredArchitecture",
    "/spec/requirements/architecture",
];
/// The fields of a policy that select its requests, and the fields that affect its verdicts.
const POLICY: &[&str] = &[
    "/spec/module",
    "/spec/mode",
    "/spec/mutating",
    "/spec/settings",
    "/spec/rules",
    "/spec/matchPolicy",
    "/spec/matchConditions",
    "/spec/namespaceSelector",
    "/spec/objectSelector",
];

/// The kinds in the order of a snapshot. Disks follow the kinds that refer to them.
pub(crate) const KINDS: [Kind; 17] = [
    Kind {
        name: "DataImportCron",
        api_version: "cdi.kubevirt.io/v1beta1",
        path: "/apis/cdi.kubevirt.io/v1beta1/dataimportcrons",
        readers: &[Reader::Plan, Reader::Status],
        fields: &[
            CRON,
            CLEAN_UP,
            OWNER,
            "/spec",
            "/status/lastImportedPVC",
            "/status/currentImports",
            CONDITIONS,
        ],
    },
    Kind {
        name: "DataSource",
        api_version: "cdi.kubevirt.io/v1beta1",
        path: "/apis/cdi.kubevirt.io/v1beta1/datasources",
        readers: &[Reader::Check, Reader::Plan, Reader::Status],
        fields: &[
            CRON,
            CLEAN_UP,
            OWNER,
            "/metadata/labels/template.kubevirt.io~1architecture",
            "/metadata/labels/instancetype.kubevirt.io~1default-preference",
            "/metadata/labels/instancetype.kubevirt.io~1default-preference-kind",
            "/spec/source",
            CONDITIONS,
        ],
    },
    Kind {
        name: "PersistentVolumeClaim",
        api_version: "v1",
        path: "/api/v1/persistentvolumeclaims",
        readers: &[Reader::Plan, Reader::Status],
        fields: &[CRON, CLEAN_UP],
    },
    Kind {
        name: "VolumeSnapshot",
        api_version: "snapshot.storage.k8s.io/v1",
        path: "/apis/snapshot.storage.k8s.io/v1/volumesnapshots",
        readers: &[Reader::Plan, Reader::Status],
        fields: &[CRON, CLEAN_UP],
    },
    Kind {
        name: "VirtualMachine",
        api_version: "kubevirt.io/v1",
        path: "/apis/kubevirt.io/v1/virtualmachines",
        readers: &[Reader::Check, Reader::Plan, Reader::Status],
        fields: &[
            "/metadata/uid",
            APPLIED,
            "/spec/preference",
            "/spec/template/spec/architecture",
            "/spec/template/spec/nodeSelector/kubernetes.io~1arch",
            "/spec/template/spec/nodeSelector/kubernetes.io~1hostname",
            "/spec/template/spec/affinity/nodeAffinity",
            "/spec/template/spec/domain/devices/disks",
            "/spec/template/spec/volumes",
            "/spec/dataVolumeTemplates",
            "/status/printableStatus",
        ],
    },
    Kind {
        name: "VirtualMachineInstance",
        api_version: "kubevirt.io/v1",
        path: "/apis/kubevirt.io/v1/virtualmachineinstances",
        readers: &[Reader::Check, Reader::Plan, Reader::Status],
        fields: &[
            "/spec/architecture",
            "/spec/domain/cpu",
            "/spec/domain/memory/guest",
            "/spec/domain/resources",
            "/spec/volumes",
            "/status/nodeName",
            "/status/phase",
        ],
    },
    Kind {
        name: DATA_VOLUME,
        api_version: "cdi.kubevirt.io/v1beta1",
        path: "/apis/cdi.kubevirt.io/v1beta1/datavolumes",
        readers: &[Reader::Plan, Reader::Status],
        fields: &[
            CRON,
            CLEAN_UP,
            CREATED_BY,
            "/spec/sourceRef",
            "/spec/source/pvc",
            "/spec/source/registry/platform/architecture",
            "/spec/source/registry/url",
            "/spec/source/snapshot",
            "/status/phase",
            "/status/progress",
            "/status/restartCount",
            CONDITIONS,
        ],
    },
    Kind {
        name: "KubeVirt",
        api_version: "kubevirt.io/v1",
        path: "/apis/kubevirt.io/v1/kubevirts",
        readers: &[Reader::Check],
        fields: &[
            "/spec/configuration/developerConfiguration/featureGates",
            "/status/defaultArchitecture",
            "/status/observedKubeVirtVersion",
        ],
    },
    Kind {
        name: "VirtualMachinePreference",
        api_version: "instancetype.kubevirt.io/v1beta1",
        path: "/apis/instancetype.kubevirt.io/v1beta1/virtualmachinepreferences",
        readers: &[Reader::Check, Reader::Plan],
        fields: PREFERENCE,
    },
    Kind {
        name: "VirtualMachineClusterPreference",
        api_version: "instancetype.kubevirt.io/v1beta1",
        path: "/apis/instancetype.kubevirt.io/v1beta1/virtualmachineclusterpreferences",
        readers: &[Reader::Check, Reader::Plan],
        fields: PREFERENCE,
    },
    Kind {
        name: "SSP",
        api_version: "ssp.kubevirt.io/v1beta3",
        path: "/apis/ssp.kubevirt.io/v1beta3/ssps",
        readers: &[Reader::Status],
        fields: &["/status/phase", CONDITIONS],
    },
    Kind {
        name: "ClusterAdmissionPolicy",
        api_version: "policies.kubewarden.io/v1",
        path: "/apis/policies.kubewarden.io/v1/clusteradmissionpolicies",
        readers: &[Reader::Check],
        fields: POLICY,
    },
    Kind {
        name: "AdmissionPolicy",
        api_version: "policies.kubewarden.io/v1",
        path: "/apis/policies.kubewarden.io/v1/admissionpolicies",
        readers: &[Reader::Check],
        fields: POLICY,
    },
    workload("DaemonSet", "apps/v1", "/apis/apps/v1/daemonsets"),
    workload("Deployment", "apps/v1", "/apis/apps/v1/deployments"),
    workload("Job", "batch/v1", "/apis/batch/v1/jobs"),
    Kind {
        name: "ClusterServiceVersion",
        api_version: "operators.coreos.com/v1alpha1",
        path: "/apis/operators.coreos.com/v1alpha1/clusterserviceversions",
        readers: &[Reader::Operators],
        fields: &["/spec/relatedImages"],
    },
];

/// A workload of HCO, with its images and the nodes on which it runs.
const fn workload(name: &'static str, api_version: &'static str, path: &'static str) -> Kind {
    Kind {
        name,
        api_version,
        path,
        readers: &[Reader::Operators],
        fields: &[
            "/spec/template/spec/affinity/nodeAffinity",
            "/spec/template/spec/containers",
            "/spec/template/spec/initContainers",
            "/spec/template/spec/nodeSelector",
            "/status/completionTime",
        ],
    }
}

/// The kinds that the module compares with the forecast.
const BOOT_SOURCES: [&str; 4] = [
    "DataImportCron",
    "DataSource",
    "PersistentVolumeClaim",
    "VolumeSnapshot",
];

/// The kinds of disks. Only the disks of boot sources are read.
pub(crate) const DISKS: [&str; 2] = ["PersistentVolumeClaim", "VolumeSnapshot"];

/// The API group of HyperConverged.
const GROUP: &str = "hco.kubevirt.io";

/// The kind of `DataVolume`s. Only `DataVolume`s of DataImportCrons are read, and `DataVolume`s whose disk does not exist yet
/// and belongs to a VM, is a clone, or is imported from a registry.
const DATA_VOLUME: &str = "DataVolume";

/// The annotation with the last applied configuration. kubectl deletes the fields in it that a manifest no longer has.
const APPLIED: &str = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";

/// The annotations of a HyperConverged that are read, because they affect results or advice.
const READ: [&str; 7] = [
    // HCO adds this annotation in an upgrade, and therefore writes the object.
    "deployOVS",
    "hco.kubevirt.io/v1-only-fields",
    "ssp.kubevirt.io/jsonpatch",
    "kubevirt.kubevirt.io/jsonpatch",
    "containerizeddataimporter.kubevirt.io/jsonpatch",
    LAST_APPLIED,
    "argocd.argoproj.io/tracking-id",
];

/// The objects of a cluster, reduced to the fields that are read. They are kept as text, because there can be many
/// thousands.
#[derive(Default)]
pub(crate) struct Snapshot {
    pub(crate) nodes: NodeList,
    pub(crate) hyperconvergeds: Vec<Value>,
    /// The same HyperConverged objects in other API versions.
    pub(super) converted: Vec<Value>,
    /// The objects of each kind that was read.
    objects: BTreeMap<&'static str, Vec<Box<RawValue>>>,
    /// The kinds that were not read, with the reasons.
    pub(crate) unread: Vec<Unread>,
}

/// A kind that was not read.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Unread {
    pub(crate) kind: &'static str,
    pub(crate) reason: String,
    /// Whether another try may succeed.
    #[serde(skip)]
    pub(crate) is_transient: bool,
}

impl Unread {
    pub(crate) fn row(&self) -> Row {
        Row::new(Effect::NotRead, self.kind, "", &self.reason)
    }
}

impl Snapshot {
    /// Reads a cluster. It fails if the nodes or the HyperConverged cannot be read, because a comparison needs both.
    /// Other kinds that cannot be read are recorded. It reads the labels of nodes that matter to the HyperConverged and
    /// to this object.
    pub(crate) fn of_cluster(
        cluster: &Cluster,
        own: Option<&str>,
        object: Option<&Value>,
        reader: Reader,
    ) -> Result<Self> {
        let live = match cluster.hyperconvergeds(own) {
            Err(ClusterError::NotServed) => Vec::new(),
            Err(error) => return Err(not_listed(error, own)),
            Ok(live) => live,
        };
        let labels = labels(reader, live.iter().chain(object));
        let mut snapshot = Self {
            nodes: cluster.nodes(&labels)?,
            converted: match reader {
                Reader::Snapshot => converted(cluster, &live),
                _ => Vec::new(),
            },
            hyperconvergeds: live.iter().map(hyperconverged).collect(),
            ..Self::default()
        };
        let mut silence: Option<String> = None;
        for kind in Kind::read_by(reader) {
            if let Some(reason) = &silence {
                snapshot.unread.push(Unread {
                    kind: kind.name,
                    is_transient: true,
                    reason: reason.clone(),
                });
                continue;
            }
            let disks = Disks::of(&snapshot);
            let namespaces: BTreeSet<&str> = live.iter().map(namespace).collect();
            let lists = kind.paths(&namespaces).into_iter().map(|path| {
                cluster.all(&path, |object| {
                    let object = kind.reduced(object);
                    kind.keeps(&object, Some(&disks)).then(|| to_text(&object))
                })
            });
            let lists: Result<Vec<_>, _> = lists.collect();
            match lists.map(|lists| lists.into_iter().flatten().collect()) {
                Ok(objects) => _ = snapshot.objects.insert(kind.name, objects),
                Err(error) => {
                    let (is_transient, is_silence) = (error.is_transient(), error.is_silence());
                    let reason = chain(&error.into());
                    silence = is_silence.then(|| reason.clone());
                    snapshot.unread.push(Unread {
                        kind: kind.name,
                        is_transient,
                        reason,
                    });
                }
            }
        }
        Ok(snapshot)
    }

    /// Reads a file or a directory: a file of `snapshot`, a must-gather, or files of `kubectl get -o yaml`. A note
    /// lists the kinds that were found and the kinds that are missing.
    pub(crate) fn of_files(
        path: &Path,
        object: Option<&Value>,
        reader: Reader,
        notes: &mut Notes,
    ) -> Result<Self> {
        let mut snapshot = Self::default();
        let mut nodes: Vec<String> = Vec::new();
        let mut seen = Seen::default();
        // A must-gather can have PersistentVolumeClaims only of the namespaces of golden images, or also of others.
        let (mut has_claims, mut has_other_claims) = (false, false);
        files::each_object(path, notes, |file, object| {
            let Identity {
                api_version, kind, ..
            } = Identity::of(&object);
            let key = key(&object);
            let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
            let list = kind.strip_suffix("List");
            if list.unwrap_or(&kind) == "PersistentVolumeClaim" {
                let gathered = gathered_namespace(file);
                let is_golden = gathered.is_none_or(|it| GOLDEN.contains(&it));
                has_claims |= is_golden;
                has_other_claims |= !is_golden;
            }
            // The policies are read because of their settings.
            let is_read =
                |known: &&Kind| known.is_read_by(reader) || known.is_read_by(Reader::Check);
            let mut known = KINDS.iter().filter(is_read);
            let known = known
                .find(|known| known.name == list.unwrap_or(&kind) && known.resource().0 == group);
            let is_node = kind == "Node" && group.is_empty();
            let is_hyperconverged = kind == "HyperConverged" && group == GROUP;
            match (known, list) {
                (Some(known), Some(_)) => _ = snapshot.objects.entry(known.name).or_default(),
                (Some(known), None) => {
                    let object = known.reduced(&object);
                    let text = to_text(&object);
                    if seen.is_new(known.name, &key, text.get()) {
                        let objects = snapshot.objects.entry(known.name).or_default();
                        objects.extend(known.keeps(&object, None).then_some(text));
                    }
                }
                (None, None) if is_node => {
                    let node = without_what_is_not_judged(object).to_string();
                    if seen.is_new(&kind, &key, &node) {
                        nodes.push(node);
                    }
                }
                (None, None) if is_hyperconverged => {
                    let object = hyperconverged(&object);
                    let of_version = format!("{kind}.{api_version}");
                    if seen.is_new(&of_version, &key, &object.to_string()) {
                        snapshot.add(object);
                    }
                }
                _ => {}
            }
        })?;
        let is_partial = has_other_claims && !has_claims;
        if is_partial {
            snapshot.objects.remove("PersistentVolumeClaim");
        }
        let disks = Disks::of(&snapshot);
        snapshot.retain(&disks);
        let labels = labels(reader, snapshot.hyperconvergeds.iter().chain(object));
        for node in nodes {
            let node = serde_json::from_str(&node)?;
            let added = snapshot.nodes.add(node, &labels);
            added.with_context(|| one_line(&path.display().to_string()))?;
        }
        notes.push(&format!(
            "{} {}",
            path.display(),
            snapshot.found(reader, &seen)
        ));
        seen.note(&path.display().to_string(), notes);
        for kind in Kind::read_by(reader) {
            if !kind.is_optional() && !snapshot.objects.contains_key(kind.name) {
                let what = if is_partial && kind.name == "PersistentVolumeClaim" {
                    "has none and no empty list of the namespace of golden images"
                } else {
                    "has no object and no empty list of the kind"
                };
                snapshot.unread.push(Unread {
                    kind: kind.name,
                    is_transient: false,
                    reason: one_line(&format!("{} {what}", path.display())),
                });
            }
        }
        Ok(snapshot)
    }

    /// Adds a HyperConverged of a file, unless its version was already added.
    fn add(&mut self, object: Value) {
        let mut known = self.hyperconvergeds.iter();
        if known.any(|it| key(it) == key(&object)) {
            self.converted.push(object);
        } else {
            self.hyperconvergeds.push(object);
        }
    }

    /// The text about the kinds that were found and the kinds that are missing.
    fn found(&self, reader: Reader, seen: &Seen) -> String {
        let counted = |kind: &str, number: usize| format!("{kind} ({number})");
        let mut found = vec![
            counted("Node", self.nodes.len()),
            counted("HyperConverged", self.hyperconvergeds.len()),
        ];
        let mut missing = Vec::new();
        for kind in Kind::read_by(reader) {
            // A check names these kinds only if it depends on them.
            let is_rare = matches!(
                kind.name,
                "DataSource"
                    | "KubeVirt"
                    | "VirtualMachine"
                    | "VirtualMachineInstance"
                    | "VirtualMachinePreference"
                    | "VirtualMachineClusterPreference"
            );
            if reader == Reader::Check && is_rare {
                continue;
            }
            if self.objects.contains_key(kind.name) {
                found.push(counted(kind.name, seen.count(kind.name)));
            } else if !kind.is_optional() {
                missing.push(kind.name);
            }
        }
        let found = found.join(", ");
        if missing.is_empty() {
            return format!("has {found}");
        }
        let missing = missing.join(", ");
        format!("has {found}; what depends on other kinds is unchecked: {missing}")
    }

    /// The objects of a kind; empty if it was not read.
    pub(crate) fn of(&self, kind: &str) -> impl Iterator<Item = Value> {
        let texts = self.objects.get(kind).into_iter().flatten();
        texts.map(|text| of_text(text))
    }

    /// Whether a kind was read.
    pub(crate) fn has(&self, kind: &str) -> bool {
        self.objects.contains_key(kind)
    }

    /// The lists for the module's comparison. For a kind that was not read, the module uses its forecast. Without
    /// DataImportCrons, it uses the forecast for all kinds, because no disk would belong to an existing one.
    pub(crate) fn before(&self) -> Vec<Value> {
        if !self.has("DataImportCron") {
            return Vec::new();
        }
        let kinds = KINDS
            .iter()
            .filter(|kind| BOOT_SOURCES.contains(&kind.name) && self.has(kind.name));
        let lists = kinds.filter_map(|kind| {
            let items: Vec<Value> = self.of(kind.name).collect();
            serde_json::to_value(kind.list(&items)).ok()
        });
        lists.collect()
    }

    /// Writes the snapshot as one list in JSON, with one line for each object.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, r#"{{"apiVersion":"v1","kind":"List","items":["#)?;
        write_list(out, "v1", "Node", self.nodes.texts())?;
        for object in self.hyperconvergeds.iter().chain(&self.converted) {
            write!(out, ",\n{}", foreign::json(to_text(object).get()))?;
        }
        for kind in &KINDS {
            if let Some(objects) = self.objects.get(kind.name) {
                writeln!(out, ",")?;
                write_list(out, kind.api_version, kind.name, objects)?;
            }
        }
        writeln!(out, "\n]}}")
    }

    /// Keeps only these disks.
    fn retain(&mut self, disks: &Disks) {
        for kind in DISKS {
            if let Some(objects) = self.objects.get_mut(kind) {
                objects.retain(|text| disks.has(&of_text(text)));
            }
        }
    }
}

/// The disks that are read: the disks of DataImportCrons, the disks that boot sources refer to, and uploaded disks with
/// the name of a DataSource.
struct Disks {
    names: BTreeSet<String>,
    /// The namespaces in which a disk may have been uploaded for a DataSource that does not exist yet.
    namespaces: BTreeSet<&'static str>,
}

impl Disks {
    fn of(snapshot: &Snapshot) -> Self {
        let mut names = BTreeSet::new();
        let mut add = |object: &Value, pointer: &str| {
            let name = text(object, pointer);
            names.extend(name.map(|name| format!("{}/{name}", namespace(object))));
        };
        for cron in snapshot.of("DataImportCron") {
            add(&cron, "/status/lastImportedPVC/name");
        }
        for source in snapshot.of("DataSource") {
            add(&source, "/metadata/name");
            add(&source, "/spec/source/pvc/name");
            add(&source, "/spec/source/snapshot/name");
        }
        Self {
            names,
            namespaces: GOLDEN.into(),
        }
    }

    fn has(&self, disk: &Value) -> bool {
        owner::cron(disk).is_some()
            || self.namespaces.contains(namespace(disk))
            || self.names.contains(&key(disk))
    }
}

/// A list of a kind.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'o, T> {
    api_version: &'static str,
    kind: String,
    items: &'o [T],
}

fn write_list(
    out: &mut dyn Write,
    api_version: &str,
    kind: &str,
    items: &[Box<RawValue>],
) -> io::Result<()> {
    write!(
        out,
        r#"{{"apiVersion":"{api_version}","kind":"{kind}List","items":["#
    )?;
    for (index, item) in items.iter().enumerate() {
        let separator = if index == 0 { "" } else { "," };
        write!(out, "{separator}\n{}", foreign::json(item.get()))?;
    }
    write!(out, "]}}")
}

fn to_text(object: &Value) -> Box<RawValue> {
    // A value can always be written as JSON.
    to_raw_value(object).unwrap_or_default()
}

fn of_text(text: &RawValue) -> Value {
    serde_json::from_str(text.get()).unwrap_or_default()
}

/// The error if HyperConverged objects cannot be listed, with advice for users who may read only one namespace.
pub(super) fn not_listed(error: ClusterError, namespace: Option<&str>) -> Error {
    let is_forbidden = matches!(error, ClusterError::Forbidden { .. });
    if !is_forbidden {
        return error.into();
    }
    let own = match namespace {
        None => "; if you may read only one namespace, specify it with -n",
        Some(_) => "",
    };
    let error = one_line(&error.to_string());
    anyhow!("{error}{own}")
}

/// The labels of nodes to read.
fn labels<'v>(reader: Reader, objects: impl IntoIterator<Item = &'v Value>) -> Labels {
    match reader {
        Reader::Plan | Reader::Status => {
            let mut labels = Labels::named_in(objects);
            if let Labels::Only(keys) = &mut labels {
                keys.insert(SCHEDULABLE.to_owned());
            }
            labels
        }
        // Another object may use other labels.
        Reader::Snapshot | Reader::Check | Reader::Operators => Labels::All,
    }
}

/// The namespaces of golden images.
pub(crate) const GOLDEN: [&str; 2] = [GOLDEN_IMAGES_NAMESPACE, OPENSHIFT_GOLDEN_IMAGES_NAMESPACE];

/// The namespace of a must-gather file: `namespaces/NAMESPACE/core/persistentvolumeclaims.yaml`.
fn gathered_namespace(file: &Path) -> Option<&str> {
    let mut names = file.iter().rev().map(|name| name.to_str());
    let mut names = [(); 5].map(|()| names.next().flatten());
    // An object can have its own file in a directory of its kind.
    if names.get(1) == Some(&Some("persistentvolumeclaims")) {
        names.rotate_left(1);
    }
    match names {
        [_, Some("core"), Some(namespace), Some("namespaces"), _] => Some(namespace),
        _ => None,
    }
}

/// A node of a file without most of the fields that are not evaluated.
fn without_what_is_not_judged(mut node: Value) -> Value {
    if let Some(fields) = node.as_object_mut() {
        fields.retain(|name, _| ["kind", "metadata", "spec", "status"].contains(&&**name));
    }
    for (pointer, kept) in [
        ("/metadata", ["name", "labels"]),
        ("/spec", ["unschedulable", ""]),
        ("/status", ["nodeInfo", "allocatable"]),
    ] {
        if let Some(fields) = node.pointer_mut(pointer).and_then(Value::as_object_mut) {
            fields.retain(|name, _| kept.contains(&&**name));
        }
    }
    node
}

impl Kind {
    /// The kinds that a command reads.
    pub(crate) fn read_by(reader: Reader) -> impl Iterator<Item = &'static Self> {
        KINDS.iter().filter(move |kind| kind.is_read_by(reader))
    }

    fn is_read_by(&self, reader: Reader) -> bool {
        reader == Reader::Snapshot || self.readers.contains(&reader)
    }

    /// The objects of a kind in a cluster.
    pub(super) fn list_of(cluster: &Cluster, name: &str) -> Result<Vec<Value>, ClusterError> {
        let Some(kind) = KINDS.iter().find(|kind| kind.name == name) else {
            return Ok(Vec::new());
        };
        cluster.all(kind.path, |object| Some(kind.reduced(object)))
    }

    /// The API paths to read. HCO deploys workloads into the namespace of the HyperConverged.
    fn paths(&self, namespaces: &BTreeSet<&str>) -> Vec<String> {
        if !self.readers.contains(&Reader::Operators) {
            return vec![self.path.to_owned()];
        }
        let (parent, resource) = self.path.rsplit_once('/').unwrap_or_default();
        let paths = namespaces.iter();
        paths
            .map(|namespace| format!("{parent}/namespaces/{namespace}/{resource}"))
            .collect()
    }

    /// Whether files need not contain it. Without preferences, the shipped ones are used. A cluster need not have Jobs or
    /// the operator lifecycle manager.
    fn is_optional(&self) -> bool {
        self.name.ends_with("Preference") || matches!(self.name, "Job" | "ClusterServiceVersion")
    }

    /// The API group and the resource.
    pub(crate) fn resource(&self) -> (&'static str, &'static str) {
        let group = self.api_version.split_once('/').map(|(group, _)| group);
        let resource = self.path.rsplit('/').next();
        (group.unwrap_or_default(), resource.unwrap_or_default())
    }

    /// Whether a snapshot keeps an object. If the relevant disks are not known yet, it keeps all disks.
    fn keeps(&self, object: &Value, disks: Option<&Disks>) -> bool {
        match self.name {
            DATA_VOLUME => {
                let phase = text(object, "/status/phase");
                let is_to_be_made = has_source(object) || owner::machine(object).is_some();
                object.pointer(CRON).is_some() || is_to_be_made && phase != Some("Succeeded")
            }
            kind if DISKS.contains(&kind) => disks.is_none_or(|disks| disks.has(object)),
            "ClusterAdmissionPolicy" | "AdmissionPolicy" => {
                object.get("spec").is_some_and(policy::is_ours)
            }
            _ => true,
        }
    }

    fn list<'o, T>(&self, items: &'o [T]) -> List<'o, T> {
        List {
            api_version: self.api_version,
            kind: format!("{}List", self.name),
            items,
        }
    }

    /// Keeps only the fields of a VM's disks that define their source and the boot order.
    fn reduce_machine(&self, machine: &mut Value) {
        let disks = [
            "/metadata/name",
            "/spec/sourceRef",
            "/spec/source/pvc",
            "/spec/source/registry/platform/architecture",
            "/spec/source/registry/url",
            "/spec/source/snapshot",
        ];
        reduce_items(machine, "/spec/dataVolumeTemplates", &disks);
        let templates = machine.pointer_mut("/spec/dataVolumeTemplates");
        let templates = templates.and_then(Value::as_array_mut);
        templates.into_iter().flatten().for_each(mask);
        let volumes = [&["/name", "/containerDisk/image"], &made_from::DISKS[..]].concat();
        reduce_items(machine, "/spec/template/spec/volumes", &volumes);
        let disks = ["/name", "/bootOrder"];
        reduce_items(machine, "/spec/template/spec/domain/devices/disks", &disks);
        if let Some(Value::String(last)) = machine.pointer_mut(APPLIED) {
            let object: Value = serde_json::from_str(last).unwrap_or_default();
            *last = self.reduced(&object).to_string();
        }
    }

    fn reduced(&self, object: &Value) -> Value {
        let fields = ["/metadata/name", "/metadata/namespace"];
        let mut reduced = only(object, fields.iter().chain(self.fields));
        put(&mut reduced, "/apiVersion", json!(self.api_version));
        put(&mut reduced, "/kind", json!(self.name));
        match self.name {
            "VirtualMachine" => self.reduce_machine(&mut reduced),
            "VirtualMachineInstance" => reduce_instance(object, &mut reduced),
            "DaemonSet" | "Deployment" | "Job" => reduce_containers(&mut reduced),
            _ => {}
        }
        mask(&mut reduced);
        reduced
    }
}

/// These fields of an object.
fn only<'p>(object: &Value, pointers: impl IntoIterator<Item = &'p &'p str>) -> Value {
    let mut reduced = json!({});
    for pointer in pointers {
        if let Some(value) = object.pointer(pointer) {
            put(&mut reduced, pointer, value.clone());
        }
    }
    reduced
}

/// Keeps the volumes of an instance. They equal the volumes of its VM, if it has one.
fn reduce_instance(instance: &Value, reduced: &mut Value) {
    let mut owners = items(instance, "/metadata/ownerReferences");
    if owners.any(|it| text(it, "/kind") == Some("VirtualMachine"))
        && let Some(spec) = reduced.get_mut("spec").and_then(Value::as_object_mut)
    {
        spec.remove("volumes");
    }
    reduce_items(reduced, "/spec/volumes", &made_from::DISKS);
}

/// Keeps the images of containers. Other variables and arguments can be secrets.
fn reduce_containers(workload: &mut Value) {
    for list in ["containers", "initContainers"] {
        let list = workload.pointer_mut(&format!("/spec/template/spec/{list}"));
        for container in list.and_then(Value::as_array_mut).into_iter().flatten() {
            let images = operators::named(container).into_iter();
            let images: Vec<Value> = images
                .map(|(what, image)| json!({"name": what, "value": image}))
                .collect();
            *container = only(container, &["/name", "/image"]);
            put(container, "/env", Value::Array(images));
        }
    }
}

/// Keeps these fields of each item of a list.
fn reduce_items(object: &mut Value, list: &str, pointers: &[&str]) {
    let items = object.pointer_mut(list).and_then(Value::as_array_mut);
    for item in items.into_iter().flatten() {
        *item = only(item, pointers);
    }
}

/// Whether a disk is a clone of another one, or is imported from a registry.
fn has_source(disk: &Value) -> bool {
    let mut sources = ["/spec/sourceRef", "/spec/source"].iter();
    sources.any(|it| disk.pointer(it).is_some())
}

/// The HyperConverged objects in the other versions that the cluster serves, because manifests can have these versions.
fn converted(cluster: &Cluster, hyperconvergeds: &[Value]) -> Vec<Value> {
    let mut converted = Vec::new();
    for object in hyperconvergeds {
        for version in ["hco.kubevirt.io/v1", "hco.kubevirt.io/v1beta1"] {
            if text(object, "/apiVersion") != Some(version) {
                let other = cluster.hyperconverged(version, namespace(object), name(object));
                converted.extend(other.ok().flatten().as_ref().map(hyperconverged));
            }
        }
    }
    converted
}

/// A HyperConverged without the fields that are not read.
pub(crate) fn hyperconverged(object: &Value) -> Value {
    let mut reduced = only(
        object,
        &[
            "/apiVersion",
            "/kind",
            "/metadata/name",
            "/metadata/namespace",
            "/metadata/uid",
            "/metadata/generation",
            "/metadata/annotations",
            "/metadata/labels/kustomize.toolkit.fluxcd.io~1name",
            "/metadata/deletionTimestamp",
            "/spec",
            "/status",
        ],
    );
    let annotations = reduced.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.retain(|name, _| READ.contains(&name.as_str()));
        if let Some(Value::String(last)) = annotations.get_mut(LAST_APPLIED) {
            let object: Value = serde_json::from_str(last).unwrap_or_default();
            *last = hyperconverged(&object).to_string();
        }
    }
    mask(&mut reduced);
    reduced
}

/// Masks credentials in the messages of conditions, and in the URL of a registry.
fn mask(object: &mut Value) {
    if let Some(Value::String(url)) = object.pointer_mut("/spec/source/registry/url") {
        *url = masked(url);
    }
    let conditions = object.pointer_mut(CONDITIONS);
    let conditions = conditions.and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        if let Some(Value::String(message)) = condition.get_mut("message") {
            *message = masked(message);
        }
    }
}

fn put(object: &mut Value, pointer: &str, value: Value) {
    let mut place = object;
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/");
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        let Some(fields) = place.as_object_mut() else {
            return;
        };
        place = fields.entry(token).or_insert(Value::Null);
    }
    *place = value;
}
