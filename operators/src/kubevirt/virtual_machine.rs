//! The architecture of a VirtualMachine, and the nodes on which its launcher pod can run.

use kubernetes::sorted::Map;

use kubernetes::json::{Field, Json, Object, WrongType};
use kubernetes::placement::ARCHITECTURE_LABEL;

use crate::ssp::architecture::is_known;

/// The label of a DataSource with the architecture of its disk. SSP sets it, and KubeVirt reads it since 1.7.
pub const DATA_SOURCE_ARCHITECTURE: &str = "template.kubevirt.io/architecture";
/// The label of nodes that can run, or emulate, VMs of an architecture, which follows it.
pub const VM_ARCHITECTURE: &str = "kubevirt.io/vm-arch-";

/// The fields of a VirtualMachine that decide about its architecture.
#[derive(Debug)]
pub struct VirtualMachine {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// `spec.template.spec.architecture`, empty if it is not stated.
    pub architecture: String,
    /// `spec.template.spec.nodeSelector`.
    pub node_selector: Map<String, String>,
    /// The DataSources that its dataVolumeTemplates name, in their order.
    pub data_sources: Vec<SourceRef>,
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
        let namespace = metadata.field("namespace").string()?.unwrap_or_default();
        let mut node_selector = Map::new();
        for (key, value) in instance.object("nodeSelector").fields()? {
            node_selector.insert(key.into_owned(), value.string()?.unwrap_or_default());
        }
        let volumes = spec
            .field("dataVolumeTemplates")
            .list(|index, volume| SourceRef::read(index, &volume, &namespace))?;
        Ok(Self {
            name: metadata.field("name").string()?.unwrap_or_default(),
            architecture: instance.field("architecture").string()?.unwrap_or_default(),
            node_selector,
            data_sources: volumes.unwrap_or_default().into_iter().flatten().collect(),
            namespace,
        })
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
            let labelled = data_source(&reference.namespace, &reference.name)
                .and_then(|found| match found.points_to {
                    // The API server refuses a request without a namespace.
                    Some((namespace, _)) if namespace.is_empty() => None,
                    Some((namespace, name)) => data_source(&namespace, &name),
                    None => Some(found),
                })
                .and_then(|found| found.architecture_label)
                .filter(|label| is_known(label));
            if let Some(architecture) = labelled {
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
        let own = self.node_selector.get(ARCHITECTURE_LABEL);
        if is_cross_architecture && !architecture.is_empty() {
            return Launcher {
                architecture: None,
                vm_architecture: Some([VM_ARCHITECTURE, architecture].concat()),
            };
        }
        let lower = (!architecture.is_empty()).then(|| lower(architecture));
        Launcher {
            architecture: own.cloned().or(lower),
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

impl SourceRef {
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

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn a_kind_is_compared_as_go_folds_it() {
        for kind in ["DataSource", "datasource", "Data\u{17f}ource"] {
            assert!(is_data_source(kind), "{kind}");
        }
        for kind in ["", "DataSources", "DataImportCron"] {
            assert!(!is_data_source(kind), "{kind}");
        }
    }
}
