//! What disks are made from, and which ones are used.

use serde_json::Value;

use crate::field::{items, text};
use crate::object_name::namespace;

/// The DataSources that the disks of a virtual machine are made from.
pub(crate) fn sources(machine: &Value) -> Vec<String> {
    let own = text(machine, "/metadata/namespace");
    let disks = items(machine, "/spec/dataVolumeTemplates");
    disks.filter_map(|disk| source(disk, own)).collect()
}

/// The DataSource that a disk is made from.
pub(crate) fn source(disk: &Value, own: Option<&str>) -> Option<String> {
    let source = disk.pointer("/spec/sourceRef")?;
    let namespace = text(source, "/namespace").filter(|it| !it.is_empty());
    let (namespace, name) = (namespace.or(own)?, text(source, "/name")?);
    (text(source, "/kind") == Some("DataSource")).then(|| format!("{namespace}/{name}"))
}

/// The disk that a disk of this namespace is cloned from, without a DataSource.
pub(crate) fn cloned(disk: &Value, own: &str) -> Option<String> {
    let pvc = disk.pointer("/spec/source/pvc");
    let source = pvc.or(disk.pointer("/spec/source/snapshot"))?;
    let namespace = text(source, "/namespace").filter(|it| !it.is_empty());
    let name = text(source, "/name")?;
    Some(format!("{}/{name}", namespace.unwrap_or(own)))
}

/// Where the volume of a virtual machine names a disk.
///
/// MIRRORS: kubevirt staging/src/kubevirt.io/api/core/v1/schema.go, `VolumeSource`.
pub(crate) const DISKS: [&str; 4] = [
    "/dataVolume/name",
    "/persistentVolumeClaim/claimName",
    "/ephemeral/persistentVolumeClaim/claimName",
    "/memoryDump/claimName",
];

/// The disk that a volume of a virtual machine in this namespace is.
pub(crate) fn mounted(volume: &Value, own: &str) -> Option<String> {
    let name = DISKS.iter().find_map(|disk| text(volume, disk))?;
    Some(format!("{own}/{name}"))
}

/// The disks that a virtual machine, or an instance of one, has as volumes, whoever made them.
pub(crate) fn volumes(machine: &Value) -> Vec<String> {
    let own = namespace(machine);
    let of_instance = items(machine, "/spec/volumes");
    let volumes = items(machine, "/spec/template/spec/volumes").chain(of_instance);
    volumes.filter_map(|volume| mounted(volume, own)).collect()
}

/// The disks that those of a virtual machine are cloned from.
pub(crate) fn clones(machine: &Value) -> Vec<String> {
    let own = namespace(machine);
    let disks = items(machine, "/spec/dataVolumeTemplates");
    disks.filter_map(|disk| cloned(disk, own)).collect()
}
