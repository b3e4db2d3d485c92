//! See `vm-disk-architecture-differs.md`.

use operator_models::kubevirt::virtual_machine::{NamedBy, SourceRef};

use super::prelude::*;
use crate::machine::Machine;

pub(crate) static RULE: Rule =
    Rule::about_virtual_machines("vm-disk-architecture-differs", Level::Warn);

/// The boot disk is for another architecture than the VM.
pub(crate) struct DifferingDisk<'f> {
    /// `None` if the disk is imported from an image.
    source: Option<&'f SourceRef>,
    /// The name of the source, or of the image.
    name: String,
    path: FieldPath,
    /// The architecture of the disk.
    label: String,
    /// The architecture of the VM.
    architecture: &'f str,
}

pub(crate) fn check<'f>(machine: &'f Machine<'f>) -> Option<DifferingDisk<'f>> {
    let architecture = machine.architecture.as_str();
    let template = |index| FieldPath::new(&["spec", "dataVolumeTemplates"]).index(index);
    let disk = if let Some((source, label)) = machine.boot_source() {
        DifferingDisk {
            source: Some(source),
            name: format!("{}/{}", source.namespace, source.name),
            path: template(source.index).keys(&["spec", "sourceRef"]),
            label,
            architecture,
        }
    } else {
        let (image, platform) = machine.boot_image()?;
        let NamedBy::Template(index) = image.named_by else {
            return None;
        };
        DifferingDisk {
            source: None,
            name: image.name.clone(),
            path: template(index).keys(&["spec", "source", "registry"]),
            label: platform.to_owned(),
            architecture,
        }
    };
    let differs = !architecture.is_empty() && disk.label != architecture;
    differs.then_some(disk)
}

impl<'f> Violation<'f, Machine<'f>> for DifferingDisk<'f> {
    fn value(&self) -> Cow<'_, str> {
        format!("{} {} {}", self.name, self.label, self.architecture).into()
    }

    fn path(&self, _: &'f Machine<'f>) -> FieldPath {
        self.path.clone()
    }

    fn fact(&self, machine: &'f Machine<'f>) -> String {
        let made = match self.source {
            Some(source) => format!("made from DataSource {}, which is", quote(&source.name)),
            None => "imported".to_owned(),
        };
        format!(
            "The boot disk is {made} for {}, but the VM's architecture is {}: it does not boot.",
            escape(&self.label, 32),
            machine.shown()
        )
    }

    fn fixes(&self, machine: &'f Machine<'f>) -> Vec<Proposal<'f>> {
        let mut fixes = Vec::new();
        fixes.extend(
            self.source
                .and_then(|source| machine.replace_source(source)),
        );
        if machine.is_available(&self.label) != Some(false) {
            fixes.push(machine.set_architecture(&self.label));
        }
        // If no workload node has the VM's architecture, the disk's architecture is used.
        if machine.is_available(self.architecture) == Some(false) {
            fixes.reverse();
        }
        if fixes.is_empty() {
            fixes.push(Proposal::advice(match self.source {
                Some(_) => "use a DataSource for the VM's architecture",
                None => "import the image for the VM's architecture",
            }));
        }
        fixes
    }
}
