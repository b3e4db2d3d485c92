//! The sources of disks, and the disks that VMs use.

use serde_json::Value;

use crate::field::{items, text};

/// The DataSources of a VM's disks.
pub(crate) fn sources(machine: &Value) -> Vec<String> {
    let own = text(machine, "/metadata/namespace");
    let disks = items(machine, "/spec/dataVolumeTemplates");
    disks.filter_map(|disk| source(disk, own)).collect()
}

/// The DataSource of a disk.
pub(crate) fn source(disk: &Value, own: Option<&str>) -> Option<String> {
    let source = disk.pointer("/spec/sourceRef")?;
    let namespace = text(source, "/namespace").filter(|it| !it.is_empty());
    let (namespace, name) = (namespace.or(own)?, text(source, "/name")?);
    (text(source, "/kind") == Some("DataSource")).then(|| format!("{namespace}/{name}"))
}

/// The fields in which the volumes of a VM name a disk.
///
/// MIRRORS: kubevirt staging/src/kubevirt.io/api/core/v1/schema.go, `VolumeSource`.
pub(crate) const DISKS: [&str; 4] = [
    "/dataVolume/name",
    "/persistentVolumeClaim/claimName",
    "/ephemeral/persistentVolumeClaim/claimName",
    "/memoryDump/claimName",
];
