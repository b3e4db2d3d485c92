//! The state of a cluster. It has only the fields that are read, because there can be many thousands of objects.

mod cluster;
mod files;
mod objects;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use anyhow::{Result, bail};
use kube_objects::json::Json;
use operator_models::kubevirt::installation;
use operator_models::ssp::data_sources::{
    GOLDEN_IMAGES_NAMESPACE, Key, OPENSHIFT_GOLDEN_IMAGES_NAMESPACE,
};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::client::{Cluster, ClusterError};
use crate::field::{self, key};
use crate::foreign::{self, Foreign, masked, one_line};
use crate::identity::Identity;
use crate::nodes::labels_in;
use crate::notes::Notes;

use self::Reader::{Check, Cluster as Live, Plan};
use self::files::Seen;
pub use self::objects::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    Plan,
    /// `snapshot`, which reads every kind.
    Snapshot,
    /// `check -f` and `fix`.
    Check,
    Cluster,
    /// `settings`, which reads only HyperConverged objects.
    Settings,
}

#[derive(Debug, Clone, Serialize)]
pub struct Gap {
    pub kind: &'static str,
    pub reason: String,
    #[serde(rename = "transient")]
    pub is_transient: bool,
}

#[derive(Debug)]
pub struct List<T> {
    state: State,
    objects: Vec<T>,
    is_kept: fn(&T) -> bool,
}

/// A kind of objects that is read besides HyperConverged objects, and whether it was read.
#[derive(Debug)]
struct State {
    kind: &'static str,
    api_version: &'static str,
    /// The commands that read it, besides `snapshot`.
    readers: &'static [Reader],
    is_read: bool,
    gap: Option<Gap>,
}

const CDI: &str = "cdi.kubevirt.io/v1beta1";
const INSTANCETYPE: &str = "instancetype.kubevirt.io/v1beta1";
const KUBEVIRT: &str = "kubevirt.io/v1";
const SNAPSHOT: &str = "snapshot.storage.k8s.io/v1";

const CLUSTER_PREFERENCE: &str = "VirtualMachineClusterPreference";
const PREFERENCE: &str = "VirtualMachinePreference";

/// The kind with the settings of the cluster's policies. Every command uses the default settings without it.
const POLICY: &str = "ClusterAdmissionPolicy";

const FILES: &str = "files";

pub struct World {
    pub cluster: Option<Cluster>,
    pub hyperconvergeds: Vec<Value>,
    /// The same HyperConverged objects in other API versions.
    converted: Vec<Value>,
    unread_machines: BTreeMap<Key, String>,
    /// Kinds that the command needs, but could not read.
    pub gaps: Vec<Gap>,
    /// Whether the nodes come from the status, which has no names.
    pub has_made_up_nodes: bool,
    pub nodes: List<Node>,
    pub crons: List<DataImportCron>,
    pub sources: List<DataSource>,
    pub claims: List<Disk>,
    pub snapshots: List<Disk>,
    pub machines: List<Machine>,
    pub running: List<Instance>,
    pub volumes: List<DataVolume>,
    pub kubevirts: List<KubeVirt>,
    pub preferences: List<Preference>,
    pub cluster_preferences: List<Preference>,
    pub ssps: List<Ssp>,
    pub cluster_policies: List<AdmissionPolicy>,
}

impl World {
    fn new() -> Self {
        Self {
            cluster: None,
            hyperconvergeds: Vec::new(),
            converted: Vec::new(),
            unread_machines: BTreeMap::new(),
            gaps: Vec::new(),
            has_made_up_nodes: false,
            nodes: List::new("Node", "v1", &[Check, Plan, Live]),
            crons: List::new("DataImportCron", CDI, &[Plan, Live]),
            sources: List::new("DataSource", CDI, &[Check, Plan, Live]),
            claims: List::new("PersistentVolumeClaim", "v1", &[Plan, Live]),
            snapshots: List::new("VolumeSnapshot", SNAPSHOT, &[Plan, Live]),
            machines: List::new("VirtualMachine", KUBEVIRT, &[Check, Plan, Live]),
            running: List::new("VirtualMachineInstance", KUBEVIRT, &[Plan, Live]),
            volumes: List {
                is_kept: DataVolume::is_used,
                ..List::new("DataVolume", CDI, &[Plan, Live])
            },
            kubevirts: List::new("KubeVirt", KUBEVIRT, &[Check, Plan, Live]),
            preferences: List::new(PREFERENCE, INSTANCETYPE, &[Check, Plan, Live]),
            cluster_preferences: List::new(CLUSTER_PREFERENCE, INSTANCETYPE, &[Check, Plan, Live]),
            ssps: List::new("SSP", "ssp.kubevirt.io/v1beta3", &[Live]),
            cluster_policies: List {
                is_kept: |policy| is_ours(&policy.spec),
                ..List::new(POLICY, "policies.kubewarden.io/v1", &[Check])
            },
        }
    }

    fn lists(&mut self) -> [&mut dyn AnyList; 13] {
        [
            &mut self.nodes,
            &mut self.crons,
            &mut self.sources,
            &mut self.claims,
            &mut self.snapshots,
            &mut self.machines,
            &mut self.running,
            &mut self.volumes,
            &mut self.kubevirts,
            &mut self.preferences,
            &mut self.cluster_preferences,
            &mut self.ssps,
            &mut self.cluster_policies,
        ]
    }
}

trait AnyList {
    fn state(&mut self) -> &mut State;

    /// If a field has the wrong type, it records a gap.
    fn add(&mut self, object: Value, seen: Option<&mut Seen>);

    fn write(&self, out: &mut dyn Write) -> io::Result<()>;
}

impl State {
    fn is_read_by(&self, reader: Reader) -> bool {
        reader == Reader::Snapshot || self.readers.contains(&reader)
    }

    fn set_gap(&mut self, reason: String, is_transient: bool) {
        self.gap.get_or_insert(Gap {
            kind: self.kind,
            reason,
            is_transient,
        });
    }
}

impl<T> List<T> {
    fn new(kind: &'static str, api_version: &'static str, readers: &'static [Reader]) -> Self {
        Self {
            state: State {
                kind,
                api_version,
                readers,
                is_read: false,
                gap: None,
            },
            objects: Vec::new(),
            is_kept: |_| true,
        }
    }

    pub fn kind(&self) -> &'static str {
        self.state.kind
    }

    pub fn is_read(&self) -> bool {
        self.state.is_read
    }

    /// Empty if the objects were not read.
    pub fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        let objects = self.is_read().then_some(&self.objects);
        objects.into_iter().flatten()
    }

    pub fn by<'l, K: Ord>(&'l self, key: impl Fn(&'l T) -> K) -> BTreeMap<K, &'l T> {
        self.iter().map(|object| (key(object), object)).collect()
    }
}

impl<T: Serialize> List<T> {
    /// The objects for the check of VMs; `None` if they were not read. A note then gives the reason.
    pub fn all(&self, notes: &mut Notes) -> Option<Vec<Value>> {
        if let Some(Gap { kind, reason, .. }) = &self.state.gap {
            let number = if self.is_read() { "one" } else { "any" };
            notes.push(&format!(
                "virtual machines are checked without {number} {kind} of the cluster: {reason}"
            ));
        }
        self.is_read()
            .then(|| self.objects.iter().map(|object| json!(object)).collect())
    }
}

impl<T: DeserializeOwned + Serialize> AnyList for List<T> {
    fn state(&mut self) -> &mut State {
        &mut self.state
    }

    fn add(&mut self, object: Value, seen: Option<&mut Seen>) {
        let key = key(&object);
        match serde_json::from_value::<T>(object) {
            Ok(fields) => {
                let is_new = seen.is_none_or(|seen| seen.is_new(self.kind(), &key, &json!(fields)));
                let is_kept = is_new && (self.is_kept)(&fields);
                self.objects.extend(is_kept.then_some(fields));
            }
            Err(error) => self.state.set_gap(
                format!("{} cannot be read: {error}", key.trim_start_matches('/')),
                false,
            ),
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (version, kind) = (self.state.api_version, self.kind());
        write!(
            out,
            r#"{{"apiVersion":"{version}","kind":"{kind}List","items":["#
        )?;
        for (index, object) in self.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            let text = foreign::json(json!(object).to_string());
            write!(out, "{separator}\n{text}")?;
        }
        write!(out, "]}}")
    }
}

impl World {
    pub fn default_architecture(&self) -> Option<Foreign> {
        let only = self.only_kubevirt()?;
        only.default_architecture.as_deref().map(Foreign::from)
    }

    fn only_kubevirt(&self) -> Option<&KubeVirt> {
        let mut kubevirts = self.kubevirts.iter();
        kubevirts.next().filter(|_| kubevirts.next().is_none())
    }

    pub fn kubevirt(&self) -> Option<installation::KubeVirt> {
        let only = self.only_kubevirt()?;
        only.version.as_ref()?;
        let list = json!({"items": [only]}).to_string();
        installation::KubeVirt::only(Json::parse(list.as_bytes()).ok()?).ok()
    }

    pub fn skipped(&self) -> Option<&str> {
        let skipped = self.gaps.iter().find(|gap| gap.kind == FILES)?;
        Some(&skipped.reason)
    }

    /// For a kind that was not read, the engine uses its forecast. Without DataImportCrons, it uses the forecast for all
    /// kinds, because no disk would belong to an existing one.
    pub fn boot_sources(&self) -> Value {
        fn listed<T: Serialize>(list: &List<T>) -> Option<Value> {
            let kind = format!("{}List", list.kind());
            list.is_read()
                .then(|| json!({"kind": kind, "items": list.objects}))
        }
        if !self.crons.is_read() {
            return json!([]);
        }
        let lists = [
            listed(&self.crons),
            listed(&self.sources),
            listed(&self.claims),
            listed(&self.snapshots),
        ];
        lists.into_iter().flatten().collect()
    }

    pub fn write(mut self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, r#"{{"apiVersion":"v1","kind":"List","items":["#)?;
        for object in self.hyperconvergeds.iter().chain(&self.converted) {
            writeln!(out, "{},", foreign::json(object.to_string()))?;
        }
        let mut separator = "";
        for list in self.lists() {
            if list.state().is_read {
                out.write_all(separator.as_bytes())?;
                list.write(out)?;
                separator = ",\n";
            }
        }
        writeln!(out, "\n]}}")
    }

    pub fn name(&self) -> &'static str {
        match self.cluster {
            Some(_) => "the cluster",
            None => "--from",
        }
    }

    /// The namespace of objects without a namespace.
    pub fn namespace(&self) -> &str {
        match (&self.cluster, self.hyperconvergeds.as_slice()) {
            (Some(cluster), _) => cluster.namespace(),
            (None, [one]) => field::namespace(one),
            _ => "",
        }
    }

    pub fn hyperconvergeds(&self, namespace: Option<&str>) -> Vec<&Value> {
        self.hyperconvergeds
            .iter()
            .filter(|object| namespace.is_none_or(|wanted| wanted == field::namespace(object)))
            .collect()
    }

    pub fn has_kind_of(&self, identity: &Identity) -> bool {
        identity.is_hyperconverged() || self.machines.is_read()
    }

    /// The live object for a manifest. `namespace` applies if the manifest does not name one.
    pub fn object(&self, identity: &Identity, namespace: Option<&str>) -> Result<Option<Value>> {
        let Some(name) = &identity.name else {
            return Ok(None);
        };
        let named = identity.namespace.as_deref().or(namespace);
        let namespace = named.unwrap_or(self.namespace());
        if identity.is_hyperconverged() {
            return self.hyperconverged(identity, namespace);
        }
        let key = Key::new(namespace, &**name);
        if let Some(reason) = self.unread_machines.get(&key) {
            bail!("{reason}");
        }
        let mut machines = self.machines.iter();
        let live = machines.find(|machine| machine.metadata.key() == key);
        Ok(live.map(|machine| json!(machine)))
    }

    fn hyperconverged(&self, identity: &Identity, namespace: &str) -> Result<Option<Value>> {
        if namespace.is_empty() && self.hyperconvergeds.len() > 1 {
            bail!(
                "the manifest has no namespace, and --from has several HyperConverged objects: specify -n"
            );
        }
        let same: Vec<&Value> = self
            .hyperconvergeds
            .iter()
            .chain(&self.converted)
            .filter(|object| field::namespace(object) == namespace)
            .filter(|object| Identity::of(object).is_same_object(identity))
            .collect();
        let version = |object: &&&Value| Identity::of(object).api_version == identity.api_version;
        match (same.iter().find(version), same.first()) {
            (Some(live), _) => Ok(Some((*live).clone())),
            (None, None) => Ok(None),
            (None, Some(other)) => bail!(
                "the manifest is {}, but the object of {} is {}: only objects of the same version can be compared",
                one_line(&identity.api_version),
                self.name(),
                one_line(&Identity::of(other).api_version)
            ),
        }
    }

    /// The policies, or the reason why the default settings apply. After a transient error, it fails, because the cluster
    /// must not appear to have no policies.
    pub fn policies(&self) -> Result<Result<Vec<Value>, &str>> {
        let list = &self.cluster_policies;
        Ok(match &list.state.gap {
            _ if self.cluster.is_none() && !list.is_read() => Err("--from has no policies"),
            None if !list.is_read() => Err("Kubewarden is not installed in the cluster"),
            None => Ok(list.iter().map(|policy| json!(policy)).collect()),
            Some(gap) if gap.is_transient => {
                return Err(ClusterError::Silence(gap.reason.clone()).into());
            }
            Some(gap) => Err(&gap.reason),
        })
    }

    /// It fails if a node of this source cannot be read, because a comparison needs all nodes.
    fn reduce_nodes(&mut self, manifests: &[&Value], reader: Reader, source: &str) -> Result<()> {
        if let Some(gap) = &self.nodes.state.gap {
            bail!("{}: Node {}", one_line(source), one_line(&gap.reason));
        }
        // Objects that are compared with a snapshot later may use any label.
        if reader != Reader::Snapshot {
            let own = self.hyperconvergeds.iter();
            let labels = labels_in(own.chain(manifests.iter().copied()));
            for node in &mut self.nodes.objects {
                node.keep(&labels);
            }
        }
        Ok(())
    }

    /// Removes the disks that do not matter, and collects the gaps.
    fn finish(&mut self, reader: Reader) {
        let mut names: BTreeSet<Key> = self
            .sources
            .iter()
            .flat_map(|source| source.disks().chain([source.metadata.key()]))
            .collect();
        names.extend(self.crons.iter().filter_map(|cron| {
            let disk = cron.last_imported.as_ref()?;
            Some(cron.metadata.beside(&disk.name))
        }));
        // A disk in a namespace of golden images may have been uploaded for a DataSource that does not exist yet.
        for disks in [&mut self.claims, &mut self.snapshots] {
            disks.objects.retain(|Disk { metadata }| {
                metadata.cron().is_some()
                    || GOLDEN.contains(&&*metadata.namespace)
                    || names.contains(&metadata.key())
            });
        }
        self.gaps = self
            .lists()
            .into_iter()
            .map(AnyList::state)
            .filter(|state| state.is_read_by(reader))
            .filter_map(|state| state.gap.clone())
            .collect();
    }
}

pub const GOLDEN: [&str; 2] = [GOLDEN_IMAGES_NAMESPACE, OPENSHIFT_GOLDEN_IMAGES_NAMESPACE];

pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The annotations of a HyperConverged that are read, because they affect results or advice.
const ANNOTATIONS: [&str; 7] = [
    // HCO adds this annotation in an upgrade, and therefore writes the object.
    "deployOVS",
    "hco.kubevirt.io/v1-only-fields",
    "ssp.kubevirt.io/jsonpatch",
    "kubevirt.kubevirt.io/jsonpatch",
    "containerizeddataimporter.kubevirt.io/jsonpatch",
    LAST_APPLIED,
    "argocd.argoproj.io/tracking-id",
];

/// Removes fields that are not read, and masks credentials in the messages of conditions.
fn hyperconverged(mut object: Value) -> Value {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.retain(|name, _| ANNOTATIONS.contains(&&**name));
            if let Some(Value::String(applied)) = annotations.get_mut(LAST_APPLIED) {
                let object: Value = serde_json::from_str(applied).unwrap_or_default();
                *applied = hyperconverged(object).to_string();
            }
        }
    }
    let conditions = object
        .pointer_mut("/status/conditions")
        .and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        if let Some(Value::String(message)) = condition.get_mut("message") {
            *message = masked(message);
        }
    }
    object
}
