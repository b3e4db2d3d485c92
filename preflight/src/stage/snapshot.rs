//! What is in a cluster: of it, or of files that were taken from it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use host::{Cluster, ClusterError, HostCalls as _, Labels};
use serde_json::{Map, Value, json};

use crate::admission::Identity;
use crate::files;
use crate::foreign::{chain, masked, one_line};
use crate::notes::Notes;
use crate::object_name::key;
use crate::policy;

/// A kind of object that is read beside the nodes and the HyperConverged.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) api_version: &'static str,
    /// Where the API server lists them.
    path: &'static str,
    /// Which commands read it.
    readers: &'static [Reader],
    /// The fields that are read, beside the name and the namespace.
    fields: &'static [&'static str],
}

/// A command that reads a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    Plan,
    Status,
    Snapshot,
    /// Also `fix` and `record`.
    Check,
}

const BOTH: &[Reader] = &[Reader::Plan, Reader::Status, Reader::Snapshot];
const OF_PLAN: &[Reader] = &[Reader::Plan, Reader::Snapshot];
const OF_STATUS: &[Reader] = &[Reader::Status, Reader::Snapshot];

const CRON: &str = "/metadata/labels/cdi.kubevirt.io~1dataImportCron";
const CLEAN_UP: &str = "/metadata/labels/cdi.kubevirt.io~1dataImportCron.cleanup";
const OF_CHECK: &[Reader] = &[Reader::Check, Reader::Snapshot];

const CONDITIONS: &str = "/status/conditions";
/// What selects the requests of a policy, and what its verdicts depend on.
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
    "/spec/allowInsideAdmissionControllerNamespace",
];
const OWNER: &str = "/metadata/annotations/operator-sdk~1primary-resource-type";

/// They are in the order of a snapshot.
pub(crate) const KINDS: [Kind; 13] = [
    Kind {
        name: "DataImportCron",
        api_version: "cdi.kubevirt.io/v1beta1",
        path: "/apis/cdi.kubevirt.io/v1beta1/dataimportcrons",
        readers: BOTH,
        fields: &[
            CRON,
            CLEAN_UP,
            OWNER,
            "/metadata/annotations/cdi.kubevirt.io~1storage.import.storageClass",
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
        readers: BOTH,
        fields: &[
            CRON,
            CLEAN_UP,
            OWNER,
            "/metadata/labels/template.kubevirt.io~1architecture",
            "/spec/source",
        ],
    },
    Kind {
        name: "PersistentVolumeClaim",
        api_version: "v1",
        path: "/api/v1/persistentvolumeclaims",
        readers: BOTH,
        fields: &[
            CRON,
            CLEAN_UP,
            "/spec/storageClassName",
            "/spec/resources/requests/storage",
        ],
    },
    Kind {
        name: "VolumeSnapshot",
        api_version: "snapshot.storage.k8s.io/v1",
        path: "/apis/snapshot.storage.k8s.io/v1/volumesnapshots",
        readers: BOTH,
        fields: &[CRON, CLEAN_UP],
    },
    Kind {
        name: "VirtualMachine",
        api_version: "kubevirt.io/v1",
        path: "/apis/kubevirt.io/v1/virtualmachines",
        readers: OF_PLAN,
        fields: &[
            "/spec/template/spec/architecture",
            "/spec/dataVolumeTemplates",
        ],
    },
    Kind {
        name: "VirtualMachineInstance",
        api_version: "kubevirt.io/v1",
        path: "/apis/kubevirt.io/v1/virtualmachineinstances",
        readers: OF_PLAN,
        fields: &["/spec/architecture", "/status/nodeName", "/status/phase"],
    },
    Kind {
        name: DATA_VOLUME,
        api_version: "cdi.kubevirt.io/v1beta1",
        path: "/apis/cdi.kubevirt.io/v1beta1/datavolumes",
        readers: OF_STATUS,
        fields: &[
            CRON,
            "/status/phase",
            "/status/progress",
            "/status/restartCount",
            CONDITIONS,
        ],
    },
    Kind {
        name: "SSP",
        api_version: "ssp.kubevirt.io/v1beta3",
        path: "/apis/ssp.kubevirt.io/v1beta3/ssps",
        readers: OF_STATUS,
        fields: &["/status/phase", CONDITIONS],
    },
    Kind {
        name: "ClusterAdmissionPolicy",
        api_version: "policies.kubewarden.io/v1",
        path: "/apis/policies.kubewarden.io/v1/clusteradmissionpolicies",
        readers: OF_CHECK,
        fields: POLICY,
    },
    Kind {
        name: "AdmissionPolicy",
        api_version: "policies.kubewarden.io/v1",
        path: "/apis/policies.kubewarden.io/v1/admissionpolicies",
        readers: OF_CHECK,
        fields: POLICY,
    },
    Kind {
        name: "ClusterAdmissionPolicyGroup",
        api_version: "policies.kubewarden.io/v1",
        path: "/apis/policies.kubewarden.io/v1/clusteradmissionpolicygroups",
        readers: OF_CHECK,
        fields: &["/spec/policies"],
    },
    Kind {
        name: "AdmissionPolicyGroup",
        api_version: "policies.kubewarden.io/v1",
        path: "/apis/policies.kubewarden.io/v1/admissionpolicygroups",
        readers: OF_CHECK,
        fields: &["/spec/policies"],
    },
    Kind {
        name: NAMESPACE,
        api_version: "v1",
        path: "/api/v1/namespaces",
        readers: OF_CHECK,
        fields: &["/metadata/labels"],
    },
];

/// Those of HyperConvergeds: their labels select policies.
const NAMESPACE: &str = "Namespace";

/// Those of virtual machines are not read.
const DATA_VOLUME: &str = "DataVolume";

/// The annotations of a HyperConverged that are read.
const READ: [&str; 5] = [
    "hco.kubevirt.io/v1-only-fields",
    "ssp.kubevirt.io/jsonpatch",
    "kubevirt.kubevirt.io/jsonpatch",
    "containerizeddataimporter.kubevirt.io/jsonpatch",
    "kubectl.kubernetes.io/last-applied-configuration",
];

/// The objects of a cluster, reduced to what is read of them.
pub(crate) struct Snapshot {
    pub(crate) nodes: Vec<Value>,
    pub(crate) hyperconvergeds: Vec<Value>,
    /// The same in other API versions.
    pub(super) converted: Vec<Value>,
    /// Those of each kind that was read.
    objects: BTreeMap<&'static str, Vec<Value>>,
    /// Why a kind was not read.
    pub(crate) unread: Vec<Unread>,
}

/// A kind that was not read.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct Unread {
    pub(crate) kind: &'static str,
    pub(crate) reason: String,
}

impl Snapshot {
    /// Reads a cluster. Without the nodes or the HyperConverged there is nothing to compare; what else cannot be read is
    /// named.
    pub(crate) fn of_cluster(
        cluster: &Cluster,
        namespace: Option<&str>,
        reader: Reader,
    ) -> Result<Self> {
        let hyperconvergeds = match cluster.hyperconvergeds(namespace) {
            Err(ClusterError::NotServed) => Vec::new(),
            live => live?,
        };
        let mut snapshot = Self {
            nodes: cluster.nodes(&Labels::All)?.to_objects(),
            converted: match reader {
                Reader::Snapshot => converted(cluster, &hyperconvergeds),
                Reader::Plan | Reader::Status | Reader::Check => Vec::new(),
            },
            hyperconvergeds: hyperconvergeds.iter().map(hyperconverged).collect(),
            objects: BTreeMap::new(),
            unread: Vec::new(),
        };
        for kind in Kind::read_by(reader) {
            if kind.name == NAMESPACE {
                let namespaces = snapshot.hyperconvergeds.iter();
                let namespaces: std::collections::BTreeSet<&str> = namespaces
                    .filter_map(|it| it.pointer("/metadata/namespace")?.as_str())
                    .collect();
                let namespaces = namespaces
                    .iter()
                    .filter_map(|it| named_namespace(cluster, it));
                let namespaces = namespaces.map(|object| kind.reduced(&object)).collect();
                snapshot.objects.insert(kind.name, namespaces);
                continue;
            }
            match cluster.all(kind.path, |object| kind.reduced(object)) {
                Ok(mut objects) => {
                    objects.retain(|object| kind.keeps(object));
                    snapshot.objects.insert(kind.name, objects);
                }
                Err(error) => snapshot.unread.push(Unread {
                    kind: kind.name,
                    reason: chain(&error.into()),
                }),
            }
        }
        Ok(snapshot)
    }

    /// Reads a file or a directory: what `snapshot` writes, a must-gather, or files of `kubectl get -o yaml`.
    /// A note says what was found, and what is missing.
    pub(crate) fn of_files(path: &Path, reader: Reader, notes: &mut Notes) -> Result<Self> {
        let mut snapshot = Self {
            nodes: Vec::new(),
            hyperconvergeds: Vec::new(),
            converted: Vec::new(),
            objects: BTreeMap::new(),
            unread: Vec::new(),
        };
        // A must-gather can have an object twice.
        let mut seen = std::collections::BTreeSet::new();
        for object in files::all_objects(path)? {
            let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
            let api_version = text("/apiVersion").unwrap_or_default();
            let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
            let kind = text("/kind").unwrap_or_default();
            let list = kind.strip_suffix("List");
            let known = KINDS.iter().find(|known| {
                let own = known.api_version.rsplit_once('/');
                known.name == list.unwrap_or(kind) && own.map_or("", |(group, _)| group) == group
            });
            let name = (
                kind.to_owned(),
                text("/metadata/namespace").map(str::to_owned),
                text("/metadata/name").map(str::to_owned),
            );
            match (known, list) {
                (Some(known), Some(_)) => _ = snapshot.objects.entry(known.name).or_default(),
                (_, Some(_)) => {}
                (None, None) if kind == "HyperConverged" && group == "hco.kubevirt.io" => {
                    let object = hyperconverged(&object);
                    let mut known = snapshot.hyperconvergeds.iter().chain(&snapshot.converted);
                    let own_version = object.get("apiVersion");
                    if known
                        .any(|it| key(it) == key(&object) && it.get("apiVersion") == own_version)
                    {
                        continue;
                    }
                    if seen.insert(name) {
                        snapshot.hyperconvergeds.push(object);
                    } else {
                        snapshot.converted.push(object);
                    }
                }
                _ if !seen.insert(name) => {}
                (Some(known), None) => {
                    let objects = snapshot.objects.entry(known.name).or_default();
                    let object = known.reduced(&object);
                    objects.extend(known.keeps(&object).then_some(object));
                }
                (None, None) if kind == "Node" && group.is_empty() => snapshot.nodes.push(object),
                (None, None) => {}
            }
        }
        notes.push(&format!("{} {}", path.display(), snapshot.found(reader)));
        for kind in Kind::read_by(reader) {
            if !snapshot.objects.contains_key(kind.name) {
                snapshot.unread.push(Unread {
                    kind: kind.name,
                    reason: one_line(&format!(
                        "{} has no object and no empty list of the kind",
                        path.display()
                    )),
                });
            }
        }
        Ok(snapshot)
    }

    /// What was found in files, and what is missing.
    fn found(&self, reader: Reader) -> String {
        let counted = |kind: &str, number: usize| format!("{kind} ({number})");
        let mut found = vec![
            counted("Node", self.nodes.len()),
            counted("HyperConverged", self.hyperconvergeds.len()),
        ];
        let mut missing = Vec::new();
        for kind in Kind::read_by(reader) {
            match self.objects.get(kind.name) {
                Some(objects) => found.push(counted(kind.name, objects.len())),
                None => missing.push(kind.name),
            }
        }
        let found = found.join(", ");
        if missing.is_empty() {
            return format!("has {found}");
        }
        let missing = missing.join(", ");
        format!("has {found}; what depends on other kinds is unchecked: {missing}")
    }

    /// The objects of a kind; none if it was not read.
    pub(crate) fn of(&self, kind: &str) -> &[Value] {
        self.objects.get(kind).map_or(&[], Vec::as_slice)
    }

    /// Whether a kind was read.
    pub(crate) fn has(&self, kind: &str) -> bool {
        self.objects.contains_key(kind)
    }

    /// The lists that the module compares with: a kind that was not read is as the module forecasts it. Disks are those
    /// in namespaces with boot sources.
    pub(crate) fn before(&self) -> Vec<Value> {
        let of_boot_sources = |kind: &str| ["DataImportCron", "DataSource"].contains(&kind);
        let namespace = |object: &Value| {
            let namespace = object.pointer("/metadata/namespace");
            namespace
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let mut namespaces: std::collections::BTreeSet<String> = GOLDEN.map(str::to_owned).into();
        for kind in KINDS.iter().filter(|kind| of_boot_sources(kind.name)) {
            namespaces.extend(self.of(kind.name).iter().map(namespace));
        }
        let kinds = KINDS.iter().take(4).filter(|kind| self.has(kind.name));
        kinds
            .map(|kind| {
                let objects = self.of(kind.name).iter();
                kind.list(objects.filter(|object| namespaces.contains(&namespace(object))))
            })
            .collect()
    }

    /// The snapshot as one list.
    pub(crate) fn to_list(&self) -> Value {
        let nodes = json!({"apiVersion": "v1", "kind": "NodeList", "items": self.nodes});
        let mut items = vec![nodes];
        items.extend(self.hyperconvergeds.iter().cloned());
        items.extend(self.converted.iter().cloned());
        let kinds = KINDS.iter().filter(|kind| self.has(kind.name));
        items.extend(kinds.map(|kind| kind.list(self.of(kind.name))));
        json!({"apiVersion": "v1", "kind": "List", "items": items})
    }

    /// Replaces the names and namespaces of virtual machines: the n-th one is `vm-n`.
    pub(crate) fn redact(&mut self) {
        let mut names = BTreeMap::new();
        for kind in ["VirtualMachine", "VirtualMachineInstance"] {
            for object in self.objects.get_mut(kind).into_iter().flatten() {
                let Some(name) = object.pointer_mut("/metadata/name") else {
                    continue;
                };
                let next = names.len() + 1;
                let number = *names.entry(name.to_string()).or_insert(next);
                *name = json!(format!("vm-{number}"));
            }
        }
    }
}

/// Where SSP makes boot sources, upstream and in OpenShift Virtualization.
const GOLDEN: [&str; 2] = ["kubevirt-os-images", "openshift-virtualization-os-images"];

impl Kind {
    /// Those that a command reads.
    pub(crate) fn read_by(reader: Reader) -> impl Iterator<Item = &'static Self> {
        KINDS
            .iter()
            .filter(move |kind| kind.readers.contains(&reader))
    }

    /// The API group, and the resource.
    pub(crate) fn resource(&self) -> (&'static str, &'static str) {
        let group = self.api_version.split_once('/').map(|(group, _)| group);
        let resource = self.path.rsplit('/').next();
        (group.unwrap_or_default(), resource.unwrap_or_default())
    }

    /// Whether an object is of interest.
    fn keeps(&self, object: &Value) -> bool {
        let group = object.pointer("/spec/policies").and_then(Value::as_object);
        match self.name {
            DATA_VOLUME => object.pointer(CRON).is_some(),
            "ClusterAdmissionPolicy" | "AdmissionPolicy" => {
                object.get("spec").is_some_and(policy::is_ours)
            }
            "ClusterAdmissionPolicyGroup" | "AdmissionPolicyGroup" => {
                group.is_some_and(|members| members.values().any(policy::is_ours))
            }
            _ => true,
        }
    }

    fn list<'o>(&self, objects: impl IntoIterator<Item = &'o Value>) -> Value {
        let items: Vec<&Value> = objects.into_iter().collect();
        let kind = format!("{}List", self.name);
        json!({"apiVersion": self.api_version, "kind": kind, "items": items})
    }

    fn reduced(&self, object: &Value) -> Value {
        let mut reduced = json!({"apiVersion": self.api_version, "kind": self.name});
        for pointer in ["/metadata/name", "/metadata/namespace"]
            .iter()
            .chain(self.fields)
        {
            if let Some(value) = object.pointer(pointer) {
                put(&mut reduced, pointer, value.clone());
            }
        }
        // Of the disks of a virtual machine, only what they are made from.
        if let Some(disks) = reduced.pointer_mut("/spec/dataVolumeTemplates") {
            for disk in disks.as_array_mut().into_iter().flatten() {
                *disk = json!({"spec": {"sourceRef": disk.pointer("/spec/sourceRef")}});
            }
        }
        // Of the members of a policy group, only which module they run.
        let members = reduced.pointer_mut("/spec/policies");
        for member in members.and_then(Value::as_object_mut).into_iter().flatten() {
            *member.1 = json!({"module": member.1.get("module")});
        }
        mask(&mut reduced);
        reduced
    }
}

/// HyperConvergeds in the other versions that the cluster serves, as manifests can have them.
fn converted(cluster: &Cluster, hyperconvergeds: &[Value]) -> Vec<Value> {
    let mut converted = Vec::new();
    for object in hyperconvergeds {
        let Identity {
            api_version,
            namespace: Some(namespace),
            name: Some(name),
            ..
        } = Identity::of(object)
        else {
            continue;
        };
        for version in ["hco.kubevirt.io/v1", "hco.kubevirt.io/v1beta1"] {
            if version != api_version {
                let other = cluster.hyperconverged(version, &namespace, &name);
                converted.extend(other.ok().flatten().as_ref().map(hyperconverged));
            }
        }
    }
    converted
}

/// A namespace; none if it cannot be read.
pub(super) fn named_namespace(cluster: &Cluster, name: &str) -> Option<Value> {
    let request = json!({
        "api_version": "v1",
        "kind": NAMESPACE,
        "name": name,
        "namespace": null,
        "disable_cache": true,
    });
    let request = request.to_string();
    let answer = cluster.call("kubernetes", "get_resource", request.as_bytes());
    serde_json::from_slice(&answer.ok()?).ok()
}

/// A HyperConverged without what is not read.
pub(super) fn hyperconverged(object: &Value) -> Value {
    let mut reduced = json!({});
    for pointer in [
        "/apiVersion",
        "/kind",
        "/metadata/name",
        "/metadata/namespace",
        "/metadata/uid",
        "/metadata/annotations",
        "/metadata/deletionTimestamp",
        "/spec",
        "/status",
    ] {
        if let Some(value) = object.pointer(pointer) {
            put(&mut reduced, pointer, value.clone());
        }
    }
    let annotations = reduced.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.retain(|name, _| READ.contains(&name.as_str()));
    }
    mask(&mut reduced);
    reduced
}

/// Masks credentials in the messages of conditions.
fn mask(object: &mut Value) {
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
