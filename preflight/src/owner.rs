//! What the boot sources of a cluster belong to.

use serde_json::Value;

/// The label with the name of the DataImportCron that an object belongs to.
pub(crate) const CRON: &str = "/metadata/labels/cdi.kubevirt.io~1dataImportCron";

/// The label for CDI's clean-up after a DataImportCron.
pub(crate) const CLEAN_UP: &str = "/metadata/labels/cdi.kubevirt.io~1dataImportCron.cleanup";

/// The annotation of what SSP creates.
pub(crate) const OWNER: &str = "/metadata/annotations/operator-sdk~1primary-resource-type";

/// The name of the DataImportCron that an object belongs to.
pub(crate) fn cron(object: &Value) -> Option<&str> {
    let name = object.pointer(CRON).and_then(Value::as_str);
    name.filter(|name| !name.is_empty())
}

/// Whether CDI deletes an object with its DataImportCron.
pub(crate) fn is_cleaned_up(object: &Value) -> bool {
    object.pointer(CLEAN_UP).and_then(Value::as_str) == Some("true")
}

/// Whether SSP created an object.
pub(crate) fn is_of_ssp(object: &Value) -> bool {
    object.pointer(OWNER).is_some()
}
