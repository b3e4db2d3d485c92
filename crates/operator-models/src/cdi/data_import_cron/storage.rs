//! The storage of an import.

use kube_objects::json::{Object, WrongType};
use kube_objects::quantity::Quantity;

use crate::cdi::data_import_cron::Rejection;
use crate::cdi::data_import_cron::source::Source;

/// Why CDI rejects the storage.
///
/// MIRRORS: containerized-data-importer pkg/apiserver/webhooks/datavolume-validate.go, validateDataVolumeSpec,
/// validateStorageSize, validateStorageClassName.
pub(super) fn examine<'a>(
    volume: &Object<'a>,
    source: &Source,
) -> Result<Option<Rejection>, WrongType<'a>> {
    const MODES: [&str; 4] = [
        "ReadWriteOnce",
        "ReadOnlyMany",
        "ReadWriteMany",
        "ReadWriteOncePod",
    ];
    let (pvc, storage) = (volume.field("pvc"), volume.field("storage"));
    let claim = match (pvc.is_present(), storage.is_present()) {
        (false, false) => return Ok(Some(Rejection::StorageMissing)),
        (true, true) => return Ok(Some(Rejection::StorageDuplicate)),
        (true, false) => pvc.object(),
        (false, true) => storage.object(),
    };
    let requests = claim.object("resources").object("requests");
    let size = requests.field("storage");
    let is_required = pvc.is_present() || !source.is_clone;
    let rejection = match size.json_or_null().map(Quantity::read) {
        Some(size) => examine_size(size),
        None => is_required.then_some(Rejection::SizeMissing),
    };
    if rejection.is_some() {
        return Ok(rejection);
    }
    let class = claim.field("storageClassName").string()?;
    if class.is_some_and(|class| class.len() > 253) {
        return Ok(Some(Rejection::StorageClassTooLong));
    }
    let modes = claim.field("accessModes").strings()?.unwrap_or_default();
    if pvc.is_present() && modes.is_empty() {
        return Ok(Some(Rejection::AccessModeMissing));
    }
    if pvc.is_present() && modes.len() > 1 {
        return Ok(Some(Rejection::AccessModesMultiple));
    }
    if let Some(unknown) = modes.iter().find(|mode| !MODES.contains(&mode.as_str())) {
        return Ok(Some(Rejection::AccessModeUnknown(unknown.clone())));
    }
    let is_populated =
        claim.field("dataSource").is_present() || claim.field("dataSourceRef").is_present();
    Ok(is_populated.then_some(Rejection::ExternallyPopulated))
}

/// MIRRORS: containerized-data-importer pkg/apiserver/webhooks/datavolume-validate.go, validateStorageSize: Go converts
/// a size of more than 64 bits to zero, but its check for zero does not match such a size, so the size counts as too
/// small.
fn examine_size(size: Option<Quantity>) -> Option<Rejection> {
    const SMALLEST: i64 = 1 << 20;
    match size.map(Quantity::value) {
        None => Some(Rejection::SizeInvalid),
        Some(Some(..=0)) => Some(Rejection::SizeNotPositive),
        Some(Some(..SMALLEST) | None) => Some(Rejection::SizeTooSmall),
        Some(Some(_)) => None,
    }
}
