//! See `vm-disk-architecture-differs.md`.

use std::borrow::Cow;

use kube_objects::path::FieldPath;
use kube_objects::text::{escape, quote};
use operator_models::kubevirt::virtual_machine::{BootImage, SourceRef};

use crate::machine::Machine;
use crate::proposal::Proposal;
use crate::rule::{Level, Rule};
use crate::violation::Violation;

pub(crate) static RULE: Rule =
    Rule::about_virtual_machines("vm-disk-architecture-differs", Level::Warn);

/// The boot disk is for another architecture than the VM.
pub(crate) struct DifferingDisk<'f> {
    source: Source<'f>,
    /// The architecture of the disk.
    label: String,
    /// The architecture of the VM.
    architecture: &'f str,
}

/// The source of the boot disk.
enum Source<'f> {
    DataSource(&'f SourceRef),
    /// An image, and the index of its dataVolumeTemplate.
    Image(&'f BootImage, usize),
}

pub(crate) fn check<'f>(machine: &'f Machine<'f>) -> Option<DifferingDisk<'f>> {
    let architecture = machine.architecture.as_str();
    let source = machine.boot_source();
    let source = source.map(|(source, label)| (Source::DataSource(source), label));
    let image = || {
        let (image, platform) = machine.boot_image()?;
        Some((Source::Image(image, image.index?), platform.to_owned()))
    };
    let (source, label) = source.or_else(image)?;
    let differs = !architecture.is_empty() && label != architecture;
    differs.then_some(DifferingDisk {
        source,
        label,
        architecture,
    })
}

impl<'f> Violation<'f, Machine<'f>> for DifferingDisk<'f> {
    fn value(&self) -> Cow<'_, str> {
        let Self {
            label,
            architecture,
            ..
        } = self;
        match self.source {
            Source::DataSource(SourceRef {
                namespace, name, ..
            }) => format!("{namespace}/{name} {label} {architecture}"),
            Source::Image(image, _) => format!("{} {label} {architecture}", image.name),
        }
        .into()
    }

    fn path(&self, _: &'f Machine<'f>) -> FieldPath {
        let template = |index| FieldPath::new(&["spec", "dataVolumeTemplates"]).index(index);
        match self.source {
            Source::DataSource(source) => template(source.index).keys(&["spec", "sourceRef"]),
            Source::Image(_, index) => template(index).keys(&["spec", "source", "registry"]),
        }
    }

    fn fact(&self, machine: &'f Machine<'f>) -> String {
        let made = match self.source {
            Source::DataSource(source) => {
                format!("made from DataSource {}, which is", quote(&source.name))
            }
            Source::Image(..) => "imported".to_owned(),
        };
        format!(
            "The boot disk is {made} for {}, but the VM's architecture is {}: it does not boot.",
            escape(&self.label, 32),
            machine.shown()
        )
    }

    fn fixes(&self, machine: &'f Machine<'f>) -> Vec<Proposal<'f>> {
        let mut fixes = Vec::new();
        if let Source::DataSource(source) = self.source {
            fixes.extend(machine.replace_source(source));
        }
        if machine.is_available(&self.label) != Some(false) {
            fixes.push(machine.set_architecture(&self.label));
        }
        // If no workload node has the VM's architecture, the disk's architecture is used.
        if machine.is_available(self.architecture) == Some(false) {
            fixes.reverse();
        }
        if fixes.is_empty() {
            fixes.push(Proposal::advice(match self.source {
                Source::DataSource(_) => "use a DataSource for the VM's architecture",
                Source::Image(..) => "import the image for the VM's architecture",
            }));
        }
        fixes
    }
}
