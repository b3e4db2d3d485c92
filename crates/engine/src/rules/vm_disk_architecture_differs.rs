use operator_models::kubevirt::virtual_machine::{NamedBy, SourceRef};

use super::prelude::*;

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
    architecture: &'f str,
}

pub(crate) fn check<'f>(machine: &'f Machine<'f>) -> Option<DifferingDisk<'f>> {
    let architecture = machine.architecture.as_str();
    let template = |index| FieldPath::new(&["spec", "dataVolumeTemplates"]).index(index);
    let (source, name, path, label) = if let Some((source, label)) = machine.boot_source() {
        let name = format!("{}/{}", source.namespace, source.name);
        let path = template(source.index).keys(&["spec", "sourceRef"]);
        (Some(source), name, path, label)
    } else {
        let (image, platform) = machine.boot_image()?;
        let NamedBy::Template(index) = image.named_by else {
            return None;
        };
        let path = template(index).keys(&["spec", "source", "registry"]);
        (None, image.name.clone(), path, platform.to_owned())
    };
    let differs = !architecture.is_empty() && label != architecture;
    differs.then_some(DifferingDisk {
        source,
        name,
        path,
        label,
        architecture,
    })
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
        let replacement = self
            .source
            .and_then(|source| machine.replace_source(source));
        let mut fixes = Vec::from_iter(replacement);
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
