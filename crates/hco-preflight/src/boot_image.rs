//! Images of boot disks that are not golden images.

use kube_objects::json::Json;
use kube_objects::text::list;
use operator_models::kubevirt::virtual_machine::{BootImage, VirtualMachine};
use serde_json::Value;

use crate::field::text;
use crate::foreign::one_line;
use crate::object_name::key;
use crate::plan::machines::{has_disks, unfinished};
use crate::report::NAMED;
use crate::stage::Compared;

/// The image of a VM's boot disk.
pub(crate) fn of(machine: &Value) -> Option<BootImage> {
    if text(machine, "/kind") != Some("VirtualMachine") {
        return None;
    }
    let machine = machine.to_string();
    let json = Json::parse(machine.as_bytes()).ok()?;
    VirtualMachine::read(json).ok()?.boot_image
}

/// The note about VMs with these names and objects on nodes of several architectures, if nothing states the architecture
/// of their boot disks.
pub(crate) fn note(machines: impl Iterator<Item = (String, Option<BootImage>)>) -> Option<String> {
    let unstated = machines.filter_map(|(name, image)| {
        let image = image.filter(|image| image.platform.is_none())?;
        Some(one_line(&format!("{name} ({})", image.name)))
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
        let image = of(&machine).filter(|image| {
            image.index.is_none() || has_disks(&machine, unfinished.as_ref()) == Some(false)
        });
        (key(&machine), image)
    });
    note(machines)
}
