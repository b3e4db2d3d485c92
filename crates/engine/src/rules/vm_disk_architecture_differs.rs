//! See `vm-disk-architecture-differs.md`.

use kube_objects::path::FieldPath;
use kube_objects::text::quote;

use crate::finding::{Finding, Identity};
use crate::fix::Fix;
use crate::machine::{Machine, finding};

pub(crate) fn check(machine: &Machine<'_>) -> Option<(Identity<'static>, Finding<'static>)> {
    let architecture = machine.architecture.as_str();
    let (source, label) = machine.boot_source()?;
    if architecture.is_empty() || label == architecture {
        return None;
    }
    let mut fixes = Vec::new();
    fixes.extend(machine.replace_source(source, architecture));
    if machine.is_available(&label) != Some(false) {
        fixes.push(machine.set_architecture(&label));
    }
    // The architecture of the disk, if no workload node has that of the VM.
    if machine.is_available(architecture) == Some(false) {
        fixes.reverse();
    }
    if fixes.is_empty() {
        fixes.push(Fix::advice("use a DataSource for the VM's architecture"));
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
    Some(finding(&identity, path, &fact, fixes))
}
