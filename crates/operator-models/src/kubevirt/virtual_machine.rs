//! The architecture of a VirtualMachine, and the nodes on which its launcher pod can run.

use kube_objects::json::{Json, Object, WrongType};
use kube_objects::placement::{ARCHITECTURE_LABEL, DEPRECATED_ARCHITECTURE_LABEL, Placement};
use kube_objects::request::Request;
use kube_objects::text::folds_to;
use strum::IntoStaticStr;

use super::installation::KubeVirt;
use super::preference::{Preference, PreferenceName};
pub use crate::hco::template::{DEFAULT_PREFERENCE, DEFAULT_PREFERENCE_KIND};
pub use crate::ssp::architecture::DATA_SOURCE_ARCHITECTURE;
use crate::ssp::architecture::is_known;

pub fn is_virtual_machine(request: &Request<'_>) -> bool {
    request.group == "kubevirt.io" && request.version == "v1" && request.kind == "VirtualMachine"
}

/// The fields of a VirtualMachine that determine its architecture.
#[derive(Debug)]
pub struct VirtualMachine {
    pub name: String,
    pub namespace: String,
    /// `spec.template.spec.architecture`, empty if it is not stated.
    pub architecture: String,
    /// `spec.template.spec.domain.machine.type`, empty if it is not stated. KubeVirt writes the default of the architecture.
    pub machine_type: String,
    pub node_selector: Option<String>,
    pub deprecated_node_selector: Option<String>,
    pub affinity: Placement,
    /// The DataSources that its dataVolumeTemplates name, in their order.
    pub data_sources: Vec<SourceRef>,
    /// The index in `data_sources` of the DataSource of its boot disk.
    pub boot_source: Option<usize>,
    /// The image of its boot disk, if a dataVolumeTemplate imports it and states a platform.
    pub boot_image: Option<BootImage>,
    /// Where its preference comes from; `None` if it has none, or infers it from a claim.
    pub preference: Option<PreferenceMatcher>,
    pub is_being_deleted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootImage {
    pub url: String,
    /// The index of the dataVolumeTemplate.
    pub template: usize,
    /// The architecture in its `platform`.
    pub architecture: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreferenceMatcher {
    Named(PreferenceName),
    /// A label of this DataSource names it.
    Inferred {
        data_source: (String, String),
        /// Whether KubeVirt accepts the VM if there is no label.
        ignores_failure: bool,
    },
    /// KubeVirt rejects the VM, whatever the cluster contains.
    Rejected(InferenceError),
}

/// Why KubeVirt cannot infer the preference of a VM, and rejects the VM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InferenceError {
    /// The VM has no volume of this name, or its preference cannot be inferred from such a volume.
    Volume(String),
    /// The DataSource does not exist, or was not read.
    NoDataSource(String),
    /// The DataSource has no label, and no disk whose labels KubeVirt reads.
    NoLabel(String),
    /// The DataSource, or the volume, has a `VolumeSnapshot`, whose labels KubeVirt reads from 1.9 on.
    Snapshot(String),
    /// The fields of `spec.preference` contradict each other.
    Matcher,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRef {
    pub index: usize,
    pub volume: String,
    pub namespace: String,
    pub name: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BootSource {
    /// Whether the API server has stored it. CDI copies labels to stored objects.
    pub is_stored: bool,
    pub architecture_label: Option<String>,
    /// The namespace and name of the DataSource that it points to.
    pub points_to: Option<(String, String)>,
    /// Whether its disk is a `PersistentVolumeClaim`, whose labels are not read here.
    pub has_claim: bool,
    pub has_snapshot: bool,
    /// The name and the kind of the preference for VMs that infer it.
    pub default_preference: Option<(String, String)>,
}

/// The look-ups that KubeVirt makes to determine the architecture of a VM. It ignores objects that it cannot read.
pub trait Lookup {
    fn data_source(&mut self, namespace: &str, name: &str) -> Option<BootSource>;

    fn preference(&mut self, name: &PreferenceName) -> Option<Preference>;
}

#[derive(Debug, Clone, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase", const_into_str)]
pub enum Reason {
    Explicit,
    Preference,
    /// The label of the DataSource at this index of [`VirtualMachine::data_sources`].
    DataSource(usize),
    Default,
}

impl BootSource {
    pub fn read(json: Json<'_>) -> Result<Self, WrongType<'_>> {
        let object = Object::root(json);
        let metadata = object.object("metadata");
        let labels = metadata.object("labels");
        let source = object.object("spec").object("source");
        let pointer = source.field("dataSource");
        let is_pointer = pointer.is_present();
        let target = pointer.object();
        let (namespace, name) = (target.text("namespace")?, target.text("name")?);
        let preference = labels.entry(DEFAULT_PREFERENCE)?;
        let kind = labels.entry(DEFAULT_PREFERENCE_KIND)?;
        Ok(Self {
            is_stored: !metadata.text("resourceVersion")?.is_empty(),
            architecture_label: labels.entry(DATA_SOURCE_ARCHITECTURE)?,
            points_to: is_pointer.then_some((namespace, name)),
            has_claim: source.field("pvc").is_present(),
            has_snapshot: source.field("snapshot").is_present(),
            default_preference: preference.map(|name| (name, kind.unwrap_or_default())),
        })
    }
}

impl VirtualMachine {
    pub fn read(json: Json<'_>) -> Result<Self, WrongType<'_>> {
        let machine = Object::root(json);
        let metadata = machine.object("metadata");
        let spec = machine.object("spec");
        let instance = spec.object("template").object("spec");
        let namespace = metadata.text("namespace")?;
        let mut data_sources = Vec::new();
        let templates = spec.field("dataVolumeTemplates").objects()?;
        for (index, template) in templates.iter().enumerate() {
            data_sources.extend(SourceRef::read(index, template, &namespace)?);
        }
        let boot_claim = boot_volume(&instance)?;
        let boot_image = BootImage::find(&templates, &boot_claim)?;
        // KubeVirt uses the preference as it was when the VM was created, which is stored in a ControllerRevision.
        //
        // MIRRORS: kubevirt pkg/instancetype/preference/find/spec.go, FindPreference.
        let stored = machine.object("status").object("preferenceRef");
        let is_stored = stored.field("controllerRevisionRef").is_present()
            || !spec.object("preference").text("revisionName")?.is_empty();
        let preference = preference(&spec, &templates, &namespace)?
            .filter(|preference| !is_stored || !matches!(preference, PreferenceMatcher::Named(_)));
        let node_selector = instance.object("nodeSelector");
        let machine_type = instance.object("domain").object("machine");
        let affinity = instance.object("affinity").field("nodeAffinity").parse()?;
        Ok(Self {
            name: metadata.text("name")?,
            architecture: instance.text("architecture")?,
            machine_type: machine_type.text("type")?,
            deprecated_node_selector: node_selector.entry(DEPRECATED_ARCHITECTURE_LABEL)?,
            node_selector: node_selector.entry(ARCHITECTURE_LABEL)?,
            affinity: Placement::parse([], affinity),
            preference,
            boot_source: data_sources
                .iter()
                .position(|source| source.volume == boot_claim),
            boot_image,
            is_being_deleted: !metadata.text("deletionTimestamp")?.is_empty(),
            namespace,
            data_sources,
        })
    }

    pub fn boot_data_source(&self) -> Option<&SourceRef> {
        self.data_sources.get(self.boot_source?)
    }

    /// The labels in the nodeSelector that select an architecture, and their values.
    pub fn node_selectors(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let deprecated = self.deprecated_node_selector.as_deref();
        let labels = [
            (ARCHITECTURE_LABEL, self.node_selector.as_deref()),
            (DEPRECATED_ARCHITECTURE_LABEL, deprecated),
        ];
        labels
            .into_iter()
            .filter_map(|(label, architecture)| Some((label, architecture?)))
    }

    /// Whether all evaluated fields are equal in another VirtualMachine, except for the fields that KubeVirt adds.
    pub fn is_judged_like(&self, other: &Self) -> bool {
        self.architecture == other.architecture
            && self.is_placed_like(other)
            && (!self.architecture.is_empty() || self.data_sources == other.data_sources)
    }

    /// Whether everything but the architecture and the DataSources of other disks is equal in another VirtualMachine.
    pub fn is_placed_like(&self, other: &Self) -> bool {
        let is_same = match (self.boot_data_source(), other.boot_data_source()) {
            (Some(one), Some(other)) => one.namespace == other.namespace && one.name == other.name,
            (one, other) => one.is_none() && other.is_none(),
        };
        let platform = |vm: &Self| Some(vm.boot_image.as_ref()?.architecture.clone());
        self.node_selector == other.node_selector
            && self.deprecated_node_selector == other.deprecated_node_selector
            && self.affinity == other.affinity
            && self.machine_type == other.machine_type
            && self.preference == other.preference
            && platform(self) == platform(other)
            && is_same
    }

    pub fn preference(&self, lookup: &mut dyn Lookup) -> Option<(PreferenceName, Preference)> {
        let name = self.preference_name(lookup).ok()??;
        let preference = lookup.preference(&name)?;
        Some((name, preference))
    }

    /// The name of the preference; `None` if there is none, or if a label that was not read decides.
    ///
    /// MIRRORS: kubevirt pkg/instancetype/infer/volume.go, fromDataSource, but only for labels of DataSources.
    ///
    /// # Errors
    ///
    /// Why KubeVirt cannot infer it, and rejects the VM.
    pub fn preference_name(
        &self,
        lookup: &mut dyn Lookup,
    ) -> Result<Option<PreferenceName>, InferenceError> {
        let (data_source, ignores_failure) = match &self.preference {
            None => return Ok(None),
            Some(PreferenceMatcher::Named(name)) => return Ok(Some(name.clone())),
            Some(PreferenceMatcher::Rejected(error)) => return Err(error.clone()),
            Some(PreferenceMatcher::Inferred {
                data_source,
                ignores_failure,
            }) => (data_source, *ignores_failure),
        };
        let (namespace, name) = data_source;
        let key = || [namespace, "/", name].concat();
        let Some(found) = lookup.data_source(namespace, name) else {
            return Err(InferenceError::NoDataSource(key()));
        };
        match found.default_preference {
            Some((name, kind)) => Ok(PreferenceName::new(name, &kind, &self.namespace)),
            // CDI adds the disk, and for a pointer the label of its target, after the DataSource is stored.
            None if !found.is_stored || ignores_failure || found.has_claim => Ok(None),
            None if found.has_snapshot => Err(InferenceError::Snapshot(key())),
            None => Err(InferenceError::NoLabel(key())),
        }
    }

    /// The architecture that KubeVirt's mutating webhook writes, and why.
    ///
    /// MIRRORS: kubevirt pkg/instancetype/webhooks/vm/mutator.go, mutateArch, which runs first; pkg/defaults/defaults.go,
    /// setDefaultArchitectureFromDataSource, setDefaultArchitecture.
    pub fn resolve(&self, kubevirt: &KubeVirt, lookup: &mut dyn Lookup) -> (String, Reason) {
        if !self.architecture.is_empty() {
            return (self.architecture.clone(), Reason::Explicit);
        }
        if kubevirt.applies_preferences()
            && let Some((_, preference)) = self.preference(lookup)
            && let Some(preferred) = preference.preferred.filter(|name| !name.is_empty())
        {
            return (preferred, Reason::Preference);
        }
        let labelled = self.data_sources.iter().enumerate();
        for (index, reference) in labelled.filter(|_| kubevirt.reads_labels()) {
            if let Some(architecture) = reference.label(lookup) {
                return (architecture, Reason::DataSource(index));
            }
        }
        (kubevirt.default_architecture.clone(), Reason::Default)
    }

    /// The value of `kubernetes.io/arch` in the node selector of this VM's launcher pod. With the gate
    /// `CrossArchitectureVirtualization`, the pod selects another label.
    ///
    /// MIRRORS: kubevirt pkg/virt-controller/services/nodeselectorrenderer.go, `NewNodeSelectorRenderer`: the
    /// nodeSelector of the VM overwrites the one for its architecture; template.go, `RenderLaunchManifest`.
    pub fn launcher_architecture(
        &self,
        architecture: &str,
        is_cross_architecture: bool,
    ) -> Option<String> {
        // MIRRORS: Go strings.ToLower. An architecture is ASCII, because it is the value of a label.
        let lower = (!architecture.is_empty()).then(|| architecture.to_ascii_lowercase());
        if is_cross_architecture && lower.is_some() {
            return None;
        }
        self.node_selector.clone().or(lower)
    }
}

/// The name of the dataVolumeTemplate or claim from which a VM boots, empty if it has none: the volume of the disk with the
/// lowest boot order, else of the first disk, else the first volume, because KubeVirt adds a disk for each volume without one.
///
/// MIRRORS: kubevirt pkg/virt-launcher/virtwrap/converter/storage/disk.go for the boot order; pkg/defaults/defaults.go,
/// `setDefaultVolumeDisk`.
fn boot_volume<'a>(instance: &Object<'a>) -> Result<String, WrongType<'a>> {
    let devices = instance.object("domain").object("devices");
    let disks = devices.field("disks").list(|_, item| {
        let disk = item.object();
        let order = disk.field("bootOrder").integer()?.unwrap_or(i64::MAX);
        Ok((order, disk.text("name")?))
    })?;
    // If several disks have the lowest order, the first of them counts.
    let boot = disks.into_iter().flatten().min_by_key(|(order, _)| *order);
    for volume in instance.field("volumes").objects()? {
        let name = volume.text("name")?;
        if boot.as_ref().is_none_or(|(_, wanted)| *wanted == name) {
            let data_volume = volume.object("dataVolume").text("name")?;
            let claim = volume.object("persistentVolumeClaim");
            return match data_volume.as_str() {
                "" => claim.text("claimName"),
                _ => Ok(data_volume),
            };
        }
    }
    Ok(String::new())
}

/// Where the preference of a VM comes from.
///
/// MIRRORS: kubevirt pkg/instancetype/webhooks/vm/mutator.go, validatePreferenceMatcher; pkg/instancetype/infer/volume.go,
/// fromVolumes, fromDataVolume, fromDataVolumeSourceRef; handler.go, Preference.
fn preference<'a>(
    spec: &Object<'a>,
    templates: &[Object<'a>],
    namespace: &str,
) -> Result<Option<PreferenceMatcher>, WrongType<'a>> {
    if !spec.field("preference").is_present() {
        return Ok(None);
    }
    let matcher = spec.object("preference");
    let volume = matcher.text("inferFromVolume")?;
    let (name, kind) = (matcher.text("name")?, matcher.text("kind")?);
    let policy = matcher.field("inferFromVolumeFailurePolicy").string()?;
    let is_named = volume.is_empty() && !name.is_empty();
    let is_inferred = !volume.is_empty() && name.is_empty() && kind.is_empty();
    let is_policy = |policy: &str| matches!(policy, "Ignore" | "Reject");
    let rejected = |error| Ok(Some(PreferenceMatcher::Rejected(error)));
    if !(is_named || is_inferred) || !policy.as_deref().is_none_or(is_policy) {
        return rejected(InferenceError::Matcher);
    } else if is_named {
        let name = PreferenceName::new(name, &kind, namespace);
        return Ok(name.map(PreferenceMatcher::Named));
    }
    let ignores_failure = policy.as_deref() == Some("Ignore");
    let instance = spec.object("template").object("spec");
    let volumes = instance.field("volumes").objects()?;
    let has_name = |found: &&Object<'a>| found.text("name").is_ok_and(|name| name == volume);
    let Some(found) = volumes.iter().find(has_name) else {
        return rejected(InferenceError::Volume(volume));
    };
    let unsupported = |error| {
        let rejected = PreferenceMatcher::Rejected(error);
        Ok((!ignores_failure).then_some(rejected))
    };
    if found.field("persistentVolumeClaim").is_present() {
        return Ok(None);
    } else if !found.field("dataVolume").is_present() {
        return unsupported(InferenceError::Volume(volume));
    }
    let name = found.object("dataVolume").text("name")?;
    let has_name = |template: &&Object<'a>| {
        let own = template.object("metadata").text("name");
        own.is_ok_and(|own| own == name)
    };
    let Some(template) = templates.iter().find(has_name) else {
        return Ok(None);
    };
    let source = template.object("spec").object("source");
    if source.field("pvc").is_present() {
        return Ok(None);
    } else if source.field("snapshot").is_present() {
        return unsupported(InferenceError::Snapshot(volume));
    }
    let reference = template.object("spec").object("sourceRef");
    // The label with the architecture is read in any letter case of the kind, see `SourceRef::read`.
    if reference.text("kind")? != "DataSource" {
        return unsupported(InferenceError::Volume(volume));
    }
    let own = reference.field("namespace").string()?;
    Ok(Some(PreferenceMatcher::Inferred {
        data_source: (
            own.unwrap_or_else(|| namespace.to_owned()),
            reference.text("name")?,
        ),
        ignores_failure,
    }))
}

impl BootImage {
    fn find<'a>(templates: &[Object<'a>], claim: &str) -> Result<Option<Self>, WrongType<'a>> {
        for (index, template) in templates.iter().enumerate() {
            let source = template.object("spec").object("source");
            let registry = source.object("registry");
            let image = Self {
                url: registry.text("url")?,
                template: index,
                architecture: registry.object("platform").text("architecture")?,
            };
            if !image.url.is_empty() && template.object("metadata").text("name")? == claim {
                return Ok(Some(image).filter(|image| !image.architecture.is_empty()));
            }
        }
        Ok(None)
    }
}

impl SourceRef {
    /// The architecture in the label of the DataSource, or of the DataSource that it points to, if KubeVirt supports
    /// it.
    ///
    /// MIRRORS: kubevirt pkg/defaults/defaults.go, `setDefaultArchitectureFromDataSource`.
    pub fn label(&self, lookup: &mut dyn Lookup) -> Option<String> {
        let found = lookup.data_source(&self.namespace, &self.name)?;
        let found = match found.points_to {
            // The API server rejects a request without a namespace.
            Some((namespace, _)) if namespace.is_empty() => None,
            Some((namespace, name)) => lookup.data_source(&namespace, &name),
            None => Some(found),
        };
        found?.architecture_label.filter(|label| is_known(label))
    }

    fn read<'a>(
        index: usize,
        template: &Object<'a>,
        namespace: &str,
    ) -> Result<Option<Self>, WrongType<'a>> {
        let reference = template.object("spec").object("sourceRef");
        let own = reference.text("namespace")?;
        let source = Self {
            index,
            volume: template.object("metadata").text("name")?,
            namespace: match own.as_str() {
                "" => namespace.to_owned(),
                _ => own,
            },
            name: reference.text("name")?,
        };
        let is_data_source = folds_to(&reference.text("kind")?, "DataSource");
        Ok(is_data_source.then_some(source))
    }
}
