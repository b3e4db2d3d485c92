//! Images of boot disks that are not golden images.

use std::collections::BTreeSet;

use kube_objects::json::Json;
use operator_models::kubevirt::virtual_machine::{BootImage, VirtualMachine};
use serde_json::Value;

use crate::foreign::one_line;
use crate::object_name::key;
use crate::plan::machines::{has_disks, unfinished};
use crate::report::NAMED;
use crate::stage::Compared;

/// The image of a VM's boot disk.
pub(crate) fn of(machine: &Value) -> Option<BootImage> {
    let text = machine.to_string();
    let json = Json::parse(text.as_bytes()).ok()?;
    VirtualMachine::read(json).ok()?.boot_image
}

/// The note about a VM in a file, if nothing states the architecture of its boot disk.
pub(crate) fn note(machine: &Value) -> Option<String> {
    let image = of(machine).filter(|image| image.platform.is_none())?;
    let image = one_line(&image.name);
    Some(format!(
        "nothing states the architecture of the boot disk's image {image}: the node that imports or runs it decides; `hco-preflight images` with -f shows the architectures of the image"
    ))
}

/// The note about the VMs of a cluster with several architectures whose disk is still to be made, or is made at each
/// start.
pub(crate) fn note_of(compared: &Compared<'_>) -> Option<String> {
    let workload = compared.will_be.workload_architectures.as_ref()?;
    if workload.len() < 2 {
        return None;
    }
    let unfinished = unfinished(compared);
    let machines = compared
        .snapshot
        .of("VirtualMachine")
        .filter_map(|machine| {
            let image = of(&machine).filter(|image| image.platform.is_none())?;
            let is_to_be_made =
                image.index.is_none() || has_disks(&machine, unfinished.as_ref()) == Some(false);
            is_to_be_made.then(|| format!("{} ({})", key(&machine), image.name))
        });
    let machines: BTreeSet<String> = machines.collect();
    if machines.is_empty() {
        return None;
    }
    let mut named: Vec<String> = machines
        .iter()
        .take(NAMED)
        .map(|name| one_line(name))
        .collect();
    if let Some(more @ 1..) = machines.len().checked_sub(NAMED) {
        named.push(format!("{more} more"));
    }
    Some(format!(
        "nothing states the architecture of the boot disks of these VMs, so the node that imports or runs the image decides: {}",
        named.join(", ")
    ))
}
