//! Images of boot disks that are not golden images.

use std::collections::BTreeMap;

use cluster::World;
use cluster::field::text;
use cluster::foreign::{masked, one_line};
use cluster::object_name::key;
use kube_objects::json::Json;
use kube_objects::text::list;
use operator_models::kubevirt::virtual_machine::{BootImage, NamedBy, VirtualMachine};
use serde_json::Value;

use crate::input::Situation;
use crate::plan::machines::unfinished;
use crate::report::NAMED;

/// The images of `DataVolume`s, by namespace and name.
pub(crate) struct DataVolumes(BTreeMap<String, BootImage>);

impl DataVolumes {
    /// The `DataVolume`s among the objects of files.
    pub(crate) fn of_files<'v>(objects: impl IntoIterator<Item = &'v Value>) -> Self {
        let images = objects
            .into_iter()
            .filter(|object| text(object, "/kind") == Some("DataVolume"))
            .filter_map(|volume| {
                let json = volume.to_string();
                let image = BootImage::of_data_volume(Json::parse(json.as_bytes()).ok()?)?;
                Some((key(volume), image))
            })
            .collect();
        Self(images)
    }

    fn of_world(world: &World) -> Self {
        let images = world
            .volumes
            .iter()
            .filter_map(|volume| Some((volume.metadata.key().to_string(), volume.image()?)))
            .collect();
        Self(images)
    }

    /// The image of a VM's boot disk.
    pub(crate) fn image(&self, vm: &VirtualMachine) -> Option<BootImage> {
        let claim = format!("{}/{}", vm.namespace, vm.boot_claim);
        let image = vm.boot_image.as_ref().or_else(|| self.0.get(&claim));
        image.cloned()
    }

    /// The same, if nothing states its architecture. A containerDisk is for the architecture of the VM.
    pub(crate) fn unstated(&self, vm: &VirtualMachine) -> Option<BootImage> {
        let image = self.image(vm)?;
        let is_placed = !vm.architecture.is_empty() || vm.node_selector.is_some();
        let is_stated = image.named_by == NamedBy::ContainerDisk && is_placed;
        (image.platform.is_none() && !is_stated).then_some(image)
    }
}

/// A VM of a file.
pub(crate) fn read(machine: &Value) -> Option<VirtualMachine> {
    if text(machine, "/kind") != Some("VirtualMachine") {
        return None;
    }
    let text = machine.to_string();
    let json = Json::parse(text.as_bytes()).ok()?;
    VirtualMachine::read(json).ok()
}

/// The note about VMs with these names, and with images whose architecture nothing states.
pub(crate) fn note(machines: impl Iterator<Item = (String, Option<BootImage>)>) -> Option<String> {
    let unstated: Vec<String> = machines
        .filter_map(|(name, image)| {
            let image = image?;
            Some(one_line(&format!("{name} ({})", masked(&image.name))))
        })
        .collect();
    (!unstated.is_empty()).then(|| {
        format!(
            "{}: nothing states the architecture of these boot disks. If an image has several, the node that imports it decides, or KubeVirt's default for a containerDisk. Set `platform.architecture` in the registry source, or the architecture of the VM; `images` shows the architectures of an image",
            list(&unstated, NAMED)
        )
    })
}

/// The note about the VMs of a cluster whose disk is still to be created, or is created at each start.
pub(crate) fn note_of(situation: &Situation) -> Option<String> {
    let workload = situation.after.report.workload_architectures.as_ref()?;
    if workload.len() < 2 {
        return None;
    }
    let unfinished = unfinished(situation);
    let volumes = DataVolumes::of_world(&situation.world);
    let machines = situation.world.machines.iter().map(|machine| {
        // Snapshots have no DataVolumes whose disk is complete.
        let is_incomplete = || machine.has_disks(unfinished.as_ref()) == Some(false);
        let image = machine
            .read()
            .and_then(|machine| volumes.unstated(&machine))
            .filter(|image| !matches!(image.named_by, NamedBy::Template(_)) || is_incomplete());
        (machine.metadata.key().to_string(), image)
    });
    note(machines)
}
