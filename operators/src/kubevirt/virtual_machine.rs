//! The architecture of a VirtualMachine, and the nodes on which its launcher pod can run.

use kubernetes::json::{Field, Json, Object, Reading, WrongType};
use kubernetes::placement::{ARCHITECTURE_LABEL, Placement, node_affinity};
use kubernetes::request::GroupVersionKind;

use crate::ssp::architecture::is_known;

/// The label of a DataSource with the architecture of its disk. SSP sets it, and KubeVirt reads it since 1.7.
pub const DATA_SOURCE_ARCHITECTURE: &str = "template.kubevirt.io/architecture";
/// The label of nodes that can run, or emulate, VMs of an architecture, which follows it.
pub const VM_ARCHITECTURE: &str = "kubevirt.io/vm-arch-";

/// Whether a request is about a VirtualMachine.
pub fn is_virtual_machine(kind: &GroupVersionKind) -> bool {
    kind.group == "kubevirt.io" && kind.version == "v1" && kind.kind == "VirtualMachine"
}

/// The fields of a VirtualMachine that decide about its architecture.
#[derive(Debug)]
pub struct VirtualMachine {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// `spec.template.spec.architecture`, empty if it is not stated.
    pub architecture: String,
    /// The value of `kubernetes.io/arch` in its nodeSelector.
    pub node_selector: Option<String>,
    /// Its node affinity.
    pub affinity: Placement,
    /// The DataSources that its dataVolumeTemplates name, in their order.
    pub data_sources: Vec<SourceRef>,
    /// The index in `data_sources` of the one that its boot disk is made from.
    pub boot_source: Option<usize>,
    /// Whether it is being deleted.
    pub is_being_deleted: bool,
}

/// A reference to a DataSource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRef {
    /// The index of the dataVolumeTemplate.
    pub index: usize,
    /// The name of the dataVolumeTemplate.
    pub volume: String,
    /// The namespace of the DataSource.
    pub namespace: String,
    /// The name of the DataSource.
    pub name: String,
}

/// What KubeVirt reads of a DataSource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DataSource {
    /// The label with the architecture of its disk.
    pub architecture_label: Option<String>,
    /// The namespace and name of the DataSource that it points to.
    pub points_to: Option<(String, String)>,
}

/// Why a VirtualMachine gets its architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It states the architecture.
    Explicit,
    /// The label of the DataSource at this index of [`VirtualMachine::data_sources`].
    DataSource(usize),
    /// It is KubeVirt's default.
    Default,
}

impl DataSource {
    /// Reads a DataSource.
    ///
    /// # Errors
    ///
    /// A field has another type than CDI's schema says.
    pub fn read(json: Json<'_>) -> Result<Self, WrongType<'_>> {
        let object = Object::root(json);
        let labels = object.object("metadata").object("labels");
        let target = object.object("spec").object("source").field("dataSource");
        let is_pointer = target.is_present();
        let target = target.object();
        let mut reading = Reading::default();
        let namespace = reading.take(target.field("namespace").string());
        let name = reading.take(target.field("name").string());
        let read = Self {
            architecture_label: reading.take(labels.entry(DATA_SOURCE_ARCHITECTURE)),
            points_to: is_pointer
                .then(|| (namespace.unwrap_or_default(), name.unwrap_or_default())),
        };
        reading.finish(read)
    }
}

impl Reason {
    /// As in the report.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Explicit => "explicit",
            Self::DataSource(_) => "datasource",
            Self::Default => "default",
        }
    }
}

impl VirtualMachine {
    /// Reads a VirtualMachine.
    ///
    /// # Errors
    ///
    /// A field has another type than KubeVirt's schema says.
    pub fn read(json: Json<'_>) -> Result<Self, WrongType<'_>> {
        let machine = Object::root(json);
        let metadata = machine.object("metadata");
        let spec = machine.object("spec");
        let instance = spec.object("template").object("spec");
        let mut reading = Reading::default();
        let namespace = reading.take(metadata.field("namespace").string());
        let namespace = namespace.unwrap_or_default();
        let volumes = spec.field("dataVolumeTemplates");
        let volumes = volumes.list(|index, volume| SourceRef::read(index, &volume, &namespace));
        let volumes = reading.take(volumes).unwrap_or_default();
        let data_sources: Vec<SourceRef> = volumes.into_iter().flatten().collect();
        let boot_volume = reading.take(boot_volume(&instance));
        let affinity = instance.object("affinity").field("nodeAffinity");
        let affinity = reading.take(node_affinity(&affinity));
        let deleted = reading.take(metadata.field("deletionTimestamp").string());
        let read = Self {
            name: reading
                .take(metadata.field("name").string())
                .unwrap_or_default(),
            architecture: reading
                .take(instance.field("architecture").string())
                .unwrap_or_default(),
            node_selector: reading.take(instance.object("nodeSelector").entry(ARCHITECTURE_LABEL)),
            affinity: Placement::parse([], affinity),
            boot_source: boot_volume.and_then(|volume| {
                data_sources
                    .iter()
                    .position(|source| source.volume == volume)
            }),
            is_being_deleted: deleted.is_some_and(|it| !it.is_empty()),
            namespace,
            data_sources,
        };
        reading.finish(read)
    }

    /// The DataSource that the boot disk is made from.
    pub fn boot_data_source(&self) -> Option<&SourceRef> {
        self.data_sources.get(self.boot_source?)
    }

    /// Whether everything that is judged is the same in another VirtualMachine, without regard to what KubeVirt adds.
    pub fn is_judged_like(&self, other: &Self) -> bool {
        self.architecture == other.architecture
            && self.is_placed_like(other)
            && (!self.architecture.is_empty() || self.data_sources == other.data_sources)
    }

    /// Whether the boot disk and the placement are the same in another VirtualMachine.
    pub fn is_placed_like(&self, other: &Self) -> bool {
        let source = |machine: &Self| {
            let source = machine.boot_data_source();
            source.map(|it| (it.namespace.clone(), it.name.clone()))
        };
        self.node_selector == other.node_selector
            && self.affinity == other.affinity
            && source(self) == source(other)
    }

    /// The architecture that KubeVirt's mutating webhook writes, and why.
    ///
    /// `data_source` reads a DataSource by namespace and name. One that cannot be read is passed over in silence, and so is
    /// a label with an unknown architecture. Before KubeVirt 1.7 `data_source` returns `None` for all of them.
    ///
    /// MIRRORS: kubevirt pkg/defaults/defaults.go, setDefaultArchitectureFromDataSource, setDefaultArchitecture.
    pub fn resolve(
        &self,
        default: &str,
        mut data_source: impl FnMut(&str, &str) -> Option<DataSource>,
    ) -> (String, Reason) {
        if !self.architecture.is_empty() {
            return (self.architecture.clone(), Reason::Explicit);
        }
        for (index, reference) in self.data_sources.iter().enumerate() {
            if let Some(architecture) = reference.label(&mut data_source) {
                return (architecture, Reason::DataSource(index));
            }
        }
        (default.to_owned(), Reason::Default)
    }

    /// Where the launcher pod of this VM runs.
    ///
    /// MIRRORS: kubevirt pkg/virt-controller/services/nodeselectorrenderer.go, `NewNodeSelectorRenderer`: the nodeSelector
    /// of the VM is copied over the one for its architecture; template.go, `RenderLaunchManifest`, for the gate
    /// `CrossArchitectureVirtualization`.
    pub fn launcher(&self, architecture: &str, is_cross_architecture: bool) -> Launcher {
        if is_cross_architecture && !architecture.is_empty() {
            return Launcher {
                architecture: None,
                vm_architecture: Some([VM_ARCHITECTURE, architecture].concat()),
            };
        }
        let lower = (!architecture.is_empty()).then(|| lower(architecture));
        Launcher {
            architecture: self.node_selector.clone().or(lower),
            vm_architecture: None,
        }
    }
}

/// The node selector of a launcher pod, as far as it is about architectures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// The value of `kubernetes.io/arch`.
    pub architecture: Option<String>,
    /// The label that a node needs to run, or to emulate, VMs of the architecture. The pod then prefers nodes of the
    /// architecture itself.
    pub vm_architecture: Option<String>,
}

/// Whether KubeVirt refuses to start a VM of an architecture. The VM itself is accepted.
///
/// MIRRORS: kubevirt pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go,
/// `ValidateVirtualMachineInstancePerArch`.
pub fn is_refused(architecture: &str) -> bool {
    !is_known(architecture)
}

/// The name of the dataVolumeTemplate of the disk from which a VM boots: the disk with the lowest boot order, else the
/// first disk, else the first volume, because KubeVirt adds a disk for each volume without one.
///
/// MIRRORS: kubevirt pkg/virt-launcher/virtwrap/converter/storage/disk.go for the boot order; pkg/defaults/defaults.go,
/// `setDefaultVolumeDisk`.
fn boot_volume<'a>(instance: &Object<'a>) -> Result<Option<String>, WrongType<'a>> {
    let devices = instance.object("domain").object("devices");
    let disks = devices.field("disks").list(|_, disk| {
        let disk = disk.object();
        let order = disk.field("bootOrder").integer()?;
        Ok((order.unwrap_or(i64::MAX), disk.field("name").string()?))
    })?;
    let volumes = instance.field("volumes").list(|_, volume| {
        let volume = volume.object();
        let claim = volume.object("persistentVolumeClaim").field("claimName");
        let source = volume.object("dataVolume").field("name").string()?;
        let source = source.map_or_else(|| claim.string(), |name| Ok(Some(name)))?;
        Ok((volume.field("name").string()?, source))
    })?;
    // Of several equal orders, the first one.
    let boot = disks.into_iter().flatten().min_by_key(|(order, _)| *order);
    let mut volumes = volumes.into_iter().flatten();
    let volume = match boot {
        Some((_, name)) => volumes.find(|(volume, _)| *volume == name),
        None => volumes.next(),
    };
    Ok(volume.and_then(|(_, source)| source))
}

impl SourceRef {
    /// The architecture in the label of the DataSource, or of the one that it points to, if KubeVirt supports it.
    ///
    /// MIRRORS: kubevirt pkg/defaults/defaults.go, `setDefaultArchitectureFromDataSource`.
    pub fn label(
        &self,
        mut data_source: impl FnMut(&str, &str) -> Option<DataSource>,
    ) -> Option<String> {
        let found = data_source(&self.namespace, &self.name)?;
        let found = match found.points_to {
            // The API server refuses a request without a namespace.
            Some((namespace, _)) if namespace.is_empty() => None,
            Some((namespace, name)) => data_source(&namespace, &name),
            None => Some(found),
        };
        found?.architecture_label.filter(|label| is_known(label))
    }

    fn read<'a>(
        index: usize,
        volume: &Field<'a>,
        namespace: &str,
    ) -> Result<Option<Self>, WrongType<'a>> {
        let template = volume.object();
        let reference = template.object("spec").object("sourceRef");
        let kind = reference.field("kind").string()?.unwrap_or_default();
        let name = reference.field("name").string()?.unwrap_or_default();
        let own = reference.field("namespace").string()?;
        if !is_data_source(&kind) {
            return Ok(None);
        }
        Ok(Some(Self {
            index,
            volume: template
                .object("metadata")
                .field("name")
                .string()?
                .unwrap_or_default(),
            namespace: own
                .filter(|own| !own.is_empty())
                .unwrap_or_else(|| namespace.to_owned()),
            name,
        }))
    }
}

/// MIRRORS: Go strings.EqualFold: of the letters of this word only the s has another one that folds to it.
fn is_data_source(kind: &str) -> bool {
    let folded = kind.chars().map(|letter| match letter {
        '\u{17f}' => 's',
        other => other.to_ascii_lowercase(),
    });
    folded.eq("datasource".chars())
}

/// MIRRORS: Go strings.ToLower, for which an architecture is ASCII: the value of a label is.
fn lower(architecture: &str) -> String {
    architecture.to_ascii_lowercase()
}
