//! Images of boot disks that are not golden images.

use kube_objects::json::Json;
use kube_objects::text::list;
use operator_models::kubevirt::virtual_machine::{BootImage, VirtualMachine};
use serde_json::Value;

use crate::field::text;
use crate::foreign::{masked, one_line};
use crate::object_name::key;
use crate::plan::machines::{has_disks, unfinished};
use crate::report::NAMED;
use crate::stage::Compared;

fn read(machine: &Value) -> Option<VirtualMachine> {
    if text(machine, "/kind") != Some("VirtualMachine") {
        return None;
    }
    let machine = machine.to_string();
    let json = Json::parse(machine.as_bytes()).ok()?;
    VirtualMachine::read(json).ok()
}

/// The image of a VM's boot disk.
pub(crate) fn of(machine: &Value) -> Option<BootImage> {
    read(machine)?.boot_image
}

/// The same, if nothing states its architecture. A containerDisk is for the architecture of the VM's node.
pub(crate) fn unstated(machine: &Value) -> Option<BootImage> {
    let machine = read(machine)?;
    let is_placed = !machine.architecture.is_empty() || machine.node_selector.is_some();
    let image = machine.boot_image?;
    let is_stated = image.platform.is_some() || image.index.is_none() && is_placed;
    (!is_stated).then_some(image)
}

/// The note about VMs with these names, and with images whose architecture nothing states.
pub(crate) fn note(machines: impl Iterator<Item = (String, Option<BootImage>)>) -> Option<String> {
    let unstated = machines.filter_map(|(name, image)| {
        let image = image?;
        Some(one_line(&format!("{name} ({})", masked(&image.name))))
    });
    let unstated: Vec<String> = unstated.collect();
    (!unstated.is_empty()).then(|| {
        format!(
            "nothing states the architecture of the boot disks of these VMs, so the node that imports or runs the image decides; `hco-preflight images` shows the architectures of an image: {}",
            list(&unstated, NAMED)
        )
    })
}

/// The note about the VMs of a cluster whose disk is still to be made, or is made at each start.
pub(crate) fn note_of(compared: &Compared<'_>) -> Option<String> {
    let workload = compared.will_be.workload_architectures.as_ref()?;
    let unfinished = unfinished(compared);
    let machines = compared.snapshot.of("VirtualMachine");
    let machines = machines.filter(|_| workload.len() > 1).map(|machine| {
        let image = unstated(&machine).filter(|image| {
            image.index.is_none() || has_disks(&machine, unfinished.as_ref()) == Some(false)
        });
        (key(&machine), image)
    });
    note(machines)
}
