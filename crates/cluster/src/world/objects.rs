//! The objects of a cluster, with the fields that are read.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::NodeAffinity;
use kube_objects::json::{Json, WrongType};
use kube_objects::node_list;
use operator_models::kubevirt::virtual_machine::{BootSource, VirtualMachine};
use operator_models::ssp::data_sources::Key;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::field::text;
use crate::foreign::masked;
use crate::nodes::HOSTNAME;

/// Defines types by the places of their fields. A missing field gets its default, which is not written.
macro_rules! types {
    ($($(#[$meta:meta])* $name:ident {
        $($(#[$field_meta:meta])* $field:ident: $type:ty = $place:literal,)*
    })*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(object: D) -> Result<Self, D::Error> {
                let object = Value::deserialize(object)?;
                Ok(Self {
                    $($field: read(&object, $place).map_err(D::Error::custom)?,)*
                })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut object = Map::new();
                $(write(&mut object, $place, &self.$field);)*
                object.serialize(serializer)
            }
        }
    )*};
}

fn read<T: DeserializeOwned + Default>(object: &Value, place: &str) -> Result<T, String> {
    let (parent, _) = place.rsplit_once('/').unwrap_or_default();
    match object.pointer(place).filter(|value| !value.is_null()) {
        None => match object.pointer(parent) {
            None | Some(Value::Null | Value::Object(_)) => Ok(T::default()),
            Some(_) => Err(format!("{parent}: expected an object")),
        },
        Some(value) => T::deserialize(value).map_err(|error| format!("{place}: {error}")),
    }
}

fn write<T: Serialize + Default + PartialEq>(
    mut fields: &mut Map<String, Value>,
    place: &str,
    field: &T,
) {
    if *field == T::default() {
        return;
    }
    let (parents, name) = place.rsplit_once('/').unwrap_or_default();
    for parent in parents.split('/').skip(1) {
        let Value::Object(below) = fields.entry(parent).or_insert_with(|| json!({})) else {
            return;
        };
        fields = below;
    }
    // The keys of all types are strings.
    let value = serde_json::to_value(field).unwrap_or_default();
    fields.insert(name.replace("~1", "/"), value);
}

types! {
    Metadata {
        name: String = "/name",
        namespace: String = "/namespace",
        cron: String = "/labels/cdi.kubevirt.io~1dataImportCron",
        /// Whether CDI deletes the object with its DataImportCron.
        clean_up: String = "/labels/cdi.kubevirt.io~1dataImportCron.cleanup",
        owner: String = "/annotations/operator-sdk~1primary-resource-type",
    }

    Node {
        name: String = "/metadata/name",
        labels: Labels = "/metadata/labels",
        architecture: String = "/status/nodeInfo/architecture",
    }

    Reference {
        kind: String = "/kind",
        namespace: String = "/namespace",
        name: String = "/name",
    }

    Condition {
        r#type: String = "/type",
        status: String = "/status",
        reason: Option<String> = "/reason",
        message: Option<Masked> = "/message",
        since: Option<String> = "/lastTransitionTime",
    }

    DataImportCron {
        metadata: Metadata = "/metadata",
        /// The engine compares it with the wanted spec.
        spec: Value = "/spec",
        last_imported: Option<Reference> = "/status/lastImportedPVC",
        current_imports: Vec<CurrentImport> = "/status/currentImports",
        conditions: Vec<Condition> = "/status/conditions",
    }

    CurrentImport {
        volume: String = "/DataVolumeName",
    }

    DataSource {
        metadata: Metadata = "/metadata",
        /// Empty if it is not stored.
        resource_version: String = "/metadata/resourceVersion",
        architecture: String = "/metadata/labels/template.kubevirt.io~1architecture",
        preference: String = "/metadata/labels/instancetype.kubevirt.io~1default-preference",
        preference_kind: String = "/metadata/labels/instancetype.kubevirt.io~1default-preference-kind",
        claim: Option<Reference> = "/spec/source/pvc",
        snapshot: Option<Reference> = "/spec/source/snapshot",
        points_to: Option<Reference> = "/spec/source/dataSource",
        conditions: Vec<Condition> = "/status/conditions",
    }

    /// A `PersistentVolumeClaim` or a `VolumeSnapshot`.
    Disk {
        metadata: Metadata = "/metadata",
    }

    DataVolume {
        metadata: Metadata = "/metadata",
        /// The UID of the VM that it belongs to.
        machine: String = "/metadata/labels/kubevirt.io~1created-by",
        phase: String = "/status/phase",
        progress: String = "/status/progress",
        restarts: u64 = "/status/restartCount",
        conditions: Vec<Condition> = "/status/conditions",
    }

    Registry {
        url: Masked = "/url",
        architecture: String = "/platform/architecture",
    }

    Machine {
        metadata: Metadata = "/metadata",
        uid: String = "/metadata/uid",
        applied: AppliedMachine = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration",
        preference: Value = "/spec/preference",
        stored_preference: Option<Value> = "/status/preferenceRef/controllerRevisionRef",
        architecture: String = "/spec/template/spec/architecture",
        machine_type: String = "/spec/template/spec/domain/machine/type",
        node_architecture: Option<String> = "/spec/template/spec/nodeSelector/kubernetes.io~1arch",
        deprecated_node_architecture: Option<String> = "/spec/template/spec/nodeSelector/beta.kubernetes.io~1arch",
        hostname: Option<String> = "/spec/template/spec/nodeSelector/kubernetes.io~1hostname",
        node_affinity: NodeAffinity = "/spec/template/spec/affinity/nodeAffinity",
        disks: Vec<MachineDisk> = "/spec/template/spec/domain/devices/disks",
        volumes: Vec<Volume> = "/spec/template/spec/volumes",
        templates: Vec<DataVolumeTemplate> = "/spec/dataVolumeTemplates",
        status: String = "/status/printableStatus",
        failures: Failures = "/status/conditions",
    }

    MachineDisk {
        name: String = "/name",
        boot_order: Option<u64> = "/bootOrder",
    }

    Volume {
        name: String = "/name",
        disk: String = "/dataVolume/name",
        claim: String = "/persistentVolumeClaim/claimName",
    }

    DataVolumeTemplate {
        name: String = "/metadata/name",
        source: Option<Reference> = "/spec/sourceRef",
        image: Option<Registry> = "/spec/source/registry",
    }

    Instance {
        metadata: Metadata = "/metadata",
        architecture: String = "/spec/architecture",
        node: String = "/status/nodeName",
        phase: String = "/status/phase",
    }

    KubeVirt {
        metadata: Metadata = "/metadata",
        architectures: Option<Value> = "/spec/configuration/architectureConfiguration",
        machine_types: Option<Vec<String>> = "/spec/configuration/emulatedMachines",
        feature_gates: Vec<String> = "/spec/configuration/developerConfiguration/featureGates",
        default_architecture: Option<String> = "/status/defaultArchitecture",
        version: Option<String> = "/status/observedKubeVirtVersion",
    }

    Preference {
        metadata: Metadata = "/metadata",
        preferred: Option<String> = "/spec/preferredArchitecture",
        required: Option<String> = "/spec/requirements/architecture",
    }

    Ssp {
        metadata: Metadata = "/metadata",
        conditions: Vec<Condition> = "/status/conditions",
    }

    AdmissionPolicy {
        metadata: Metadata = "/metadata",
        spec: Value = "/spec",
    }
}

/// The conditions of a VM that say why it does not start. The others take more memory than the rest of the VM.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<Condition>")]
pub struct Failures(pub Vec<Condition>);

impl From<Vec<Condition>> for Failures {
    fn from(mut conditions: Vec<Condition>) -> Self {
        conditions.retain(|condition| match &*condition.r#type {
            "Failure" => condition.status == "True",
            "PodScheduled" => condition.status == "False",
            _ => false,
        });
        Self(conditions)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct Masked(pub String);

impl From<String> for Masked {
    fn from(text: String) -> Self {
        Self(masked(&text))
    }
}

/// Go reads null as an empty string.
type LabelMap = BTreeMap<String, Option<String>>;

/// The labels of a node as JSON text, which takes less memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "LabelMap", into = "LabelMap")]
pub struct Labels(Box<str>);

impl From<LabelMap> for Labels {
    fn from(labels: LabelMap) -> Self {
        let text = (!labels.is_empty()).then(|| json!(labels).to_string());
        Self(text.unwrap_or_default().into())
    }
}

impl From<Labels> for LabelMap {
    fn from(Labels(text): Labels) -> Self {
        serde_json::from_str(&text).unwrap_or_default()
    }
}

/// The fields of a VM that were applied. kubectl deletes the fields among them that a manifest no longer has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct AppliedMachine(String);

impl From<String> for AppliedMachine {
    fn from(text: String) -> Self {
        let object: Value = serde_json::from_str(&text).unwrap_or_default();
        let machine: Machine = serde_json::from_value(object).unwrap_or_default();
        Self(json!(machine).to_string())
    }
}

impl Metadata {
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            ..Self::default()
        }
    }

    pub fn key(&self) -> Key {
        self.beside(&self.name)
    }

    pub fn beside(&self, name: &str) -> Key {
        Key::new(&*self.namespace, name)
    }

    /// An object that this one refers to, in its own namespace if none is stated.
    fn named_by(&self, reference: &Reference) -> Key {
        match &*reference.namespace {
            "" => self.beside(&reference.name),
            namespace => Key::new(namespace, &*reference.name),
        }
    }

    pub fn cron(&self) -> Option<&str> {
        Some(&*self.cron).filter(|name| !name.is_empty())
    }

    pub fn cron_key(&self) -> Option<Key> {
        self.cron().map(|name| self.beside(name))
    }

    pub fn is_cleaned_up(&self) -> bool {
        self.clean_up == "true"
    }

    pub fn is_of_ssp(&self) -> bool {
        self.owner == "SSP.ssp.kubevirt.io"
    }
}

impl Node {
    pub(crate) fn keep(&mut self, labels: &BTreeSet<String>) {
        let mut all = LabelMap::from(self.labels.clone());
        all.retain(|name, _| labels.contains(name));
        self.labels = all.into();
    }

    /// Whether a nodeSelector with this hostname selects it. The label equals the name on most platforms.
    pub fn has_hostname(&self, hostname: &str) -> bool {
        let labels = LabelMap::from(self.labels.clone());
        let label = labels.get(HOSTNAME).and_then(Option::as_ref);
        *label.unwrap_or(&self.name) == hostname
    }

    pub fn matches(&self, condition: impl FnOnce(&node_list::Node<'_>) -> bool) -> bool {
        let all = LabelMap::from(self.labels.clone());
        let labels = all
            .iter()
            .map(|(key, value)| (&**key, value.as_deref().unwrap_or_default().into()))
            .collect();
        condition(&node_list::Node {
            architecture: (&self.architecture).into(),
            name: (&self.name).into(),
            labels,
        })
    }
}

pub fn condition<'c>(conditions: &'c [Condition], kind: &str) -> Option<&'c Condition> {
    conditions.iter().find(|condition| condition.r#type == kind)
}

impl DataImportCron {
    pub fn managed_data_source(&self) -> Option<&str> {
        text(&self.spec, "/managedDataSource")
    }
}

impl DataSource {
    pub fn disks(&self) -> impl Iterator<Item = Key> {
        [&self.claim, &self.snapshot]
            .into_iter()
            .flatten()
            .map(|disk| self.metadata.named_by(disk))
    }

    /// The fields that KubeVirt reads. A DataSource that KubeVirt cannot read has no label.
    pub fn boot_source(&self) -> BootSource {
        parsed(self, BootSource::read).unwrap_or_default()
    }
}

impl DataVolume {
    /// Whether it belongs to a DataImportCron, or to a VM whose disk does not exist yet.
    pub fn is_used(&self) -> bool {
        let is_unfinished = self.phase != "Succeeded";
        self.metadata.cron().is_some() || is_unfinished && !self.machine.is_empty()
    }
}

impl Machine {
    pub fn read(&self) -> Option<VirtualMachine> {
        parsed(self, VirtualMachine::read)
    }

    pub fn own_architecture(&self) -> Option<&str> {
        Some(&*self.architecture).filter(|own| !own.is_empty())
    }

    /// Whether its disks exist; `None` if that is unknown. `unfinished` has the UIDs of VMs with a disk that does not exist
    /// yet. KubeVirt also creates the `DataVolume`s of a stopped VM, but with `WaitForFirstConsumer`, their disks are
    /// created when the VM first starts.
    ///
    /// MIRRORS: kubevirt pkg/virt-controller/watch/vm/vm.go, setPrintableStatus.
    pub fn has_disks(&self, unfinished: Option<&BTreeSet<&str>>) -> Option<bool> {
        match &*self.status {
            "" | "Unknown" => None,
            "Running" | "Migrating" | "Paused" => Some(true),
            "Provisioning" | "WaitingForVolumeBinding" | "DataVolumeError" | "ErrorPvcNotFound" => {
                Some(false)
            }
            _ if self.uid.is_empty() => None,
            _ => Some(!unfinished?.contains(&*self.uid)),
        }
    }

    pub fn sources(&self) -> impl Iterator<Item = Key> {
        self.templates
            .iter()
            .filter_map(|template| template.source.as_ref())
            .filter(|source| source.kind == "DataSource")
            .map(|source| self.metadata.named_by(source))
    }
}

impl Instance {
    pub fn node(&self) -> Option<&str> {
        let is_done = matches!(&*self.phase, "Succeeded" | "Failed");
        Some(&*self.node).filter(|node| !is_done && !node.is_empty())
    }
}

fn parsed<T>(
    object: &impl Serialize,
    read: impl FnOnce(Json<'_>) -> Result<T, WrongType<'_>>,
) -> Option<T> {
    let text = json!(object).to_string();
    read(Json::parse(text.as_bytes()).ok()?).ok()
}

pub const ARTIFACT: &str = "hco-architecture-guard";

/// Whether a policy runs this project's module, from any registry and in any version.
pub fn is_ours(spec: &Value) -> bool {
    let file = text(spec, "/module").and_then(|module| module.rsplit('/').next());
    file.and_then(|file| file.split([':', '@']).next()) == Some(ARTIFACT)
}
