//! See `vm-disk-architecture-differs.md`.

use kubernetes::path::FieldPath;
use kubernetes::text::{escape, quote};

use crate::machine::{Machine, MachineFinding};
use crate::remedy::Remedy;

pub(crate) fn check(machine: &Machine<'_>) -> Option<MachineFinding> {
    let architecture = &machine.architecture;
    if architecture.is_empty() {
        return None;
    }
    let (source, label) = machine.boot_source()?;
    if label == *architecture {
        return None;
    }
    let mut remedies: Vec<Remedy> = machine
        .replace_source(source, architecture)
        .into_iter()
        .collect();
    let instead = machine.set_architecture(&label);
    match machine.is_available(&label) {
        Some(false) if remedies.is_empty() => remedies.push(Remedy::advice(format!(
            "use a DataSource with a disk for {}",
            escape(architecture, 32)
        ))),
        Some(false) => {}
        // No workload node has the VM's own architecture.
        _ if machine.is_available(architecture) == Some(false) => remedies.insert(0, instead),
        _ => remedies.push(instead),
    }
    let path = FieldPath::of(&["spec", "dataVolumeTemplates"]).index(source.index);
    let path = path.keys(&["spec", "sourceRef"]);
    let name = quote(&source.name);
    let shown = escape(architecture, 32);
    let fact = format!(
        "The boot disk is made from DataSource {name}, which is for {label}, but the VM's architecture is {shown}: it does not boot."
    );
    let identity = [
        &source.namespace,
        "/",
        &source.name,
        " ",
        &label,
        " ",
        architecture,
    ]
    .concat();
    Some(MachineFinding::new(identity, path, fact, remedies))
}
