//! See `vm-disk-architecture-differs.md`.

use std::borrow::Cow;

use kube_objects::path::FieldPath;
use kube_objects::text::quote;
use operator_models::kubevirt::virtual_machine::SourceRef;

use crate::machine::Machine;
use crate::proposal::Proposal;
use crate::rule::{Level, Rule};
use crate::violation::Violation;

pub(crate) static RULE: Rule =
    Rule::about_virtual_machines("vm-disk-architecture-differs", Level::Warn);

/// The DataSource of the boot disk is for another architecture.
pub(crate) struct DifferingDisk<'f> {
    source: &'f SourceRef,
    /// The architecture of the DataSource.
    label: String,
    /// The architecture of the VM.
    architecture: &'f str,
}

pub(crate) fn check<'f>(machine: &'f Machine<'f>) -> Option<DifferingDisk<'f>> {
    let architecture = machine.architecture.as_str();
    let (source, label) = machine.boot_source()?;
    let differs = !architecture.is_empty() && label != architecture;
    differs.then_some(DifferingDisk {
        source,
        label,
        architecture,
    })
}

impl<'f> Violation<'f, Machine<'f>> for DifferingDisk<'f> {
    fn value(&self) -> Cow<'_, str> {
        let SourceRef {
            namespace, name, ..
        } = self.source;
        format!("{namespace}/{name} {} {}", self.label, self.architecture).into()
    }

    fn path(&self, _: &'f Machine<'f>) -> FieldPath {
        let template = FieldPath::of(&["spec", "dataVolumeTemplates"]).index(self.source.index);
        template.keys(&["spec", "sourceRef"])
    }

    fn fact(&self, machine: &'f Machine<'f>) -> String {
        format!(
            "The boot disk is made from DataSource {}, which is for {}, but the VM's architecture is {}: it does not boot.",
            quote(&self.source.name),
            self.label,
            machine.shown()
        )
    }

    fn fixes(&self, machine: &'f Machine<'f>) -> Vec<Proposal<'f>> {
        let mut fixes = Vec::new();
        fixes.extend(machine.replace_source(self.source));
        if machine.is_available(&self.label) != Some(false) {
            fixes.push(machine.set_architecture(&self.label));
        }
        // If no workload node has the VM's architecture, the disk's architecture is used.
        if machine.is_available(self.architecture) == Some(false) {
            fixes.reverse();
        }
        if fixes.is_empty() {
            fixes.push(Proposal::advice("use a DataSource for the VM's architecture"));
        }
        fixes
    }
}
