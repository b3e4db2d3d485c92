//! See `vm-disk-architecture-differs.md`.

use kubernetes::path::FieldPath;
use kubernetes::text::quote;

use crate::machine::{Machine, MachineFinding};
use crate::remedy::Remedy;

pub(crate) fn check(machine: &Machine<'_>) -> Option<MachineFinding> {
    let architecture = machine.architecture.as_str();
    let (source, label) = machine.boot_source()?;
    if architecture.is_empty() || label == architecture {
        return None;
    }
    let mut remedies = Vec::new();
    remedies.extend(machine.replace_source(source, architecture));
    if machine.is_available(&label) != Some(false) {
        remedies.push(machine.set_architecture(&label));
    }
    // The architecture of the disk, if no workload node has that of the VM.
    if machine.is_available(architecture) == Some(false) {
        remedies.reverse();
    }
    if remedies.is_empty() {
        remedies.push(Remedy::advice("use a DataSource for the VM's architecture"));
    }
    let path = FieldPath::of(&["spec", "dataVolumeTemplates"]).index(source.index);
    let fact = [
        "The boot disk is made from DataSource ",
        &quote(&source.name),
        ", which is for ",
        &label,
        ", but the VM's architecture is ",
        &machine.shown(),
        ": it does not boot.",
    ];
    let identity = [
        &source.namespace,
        "/",
        &source.name,
        &label,
        " ",
        architecture,
    ];
    let path = path.keys(&["spec", "sourceRef"]);
    Some(MachineFinding::new(&identity, path, &fact, remedies))
}
