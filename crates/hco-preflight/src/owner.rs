//! The owners of boot sources in a cluster.

use serde_json::Value;

use crate::field::text;
use crate::object_name::namespace;

/// The label with the name of the DataImportCron that an object belongs to.
pub(crate) const CRON: &str = "/metadata/labels/cdi.kubevirt.io~1dataImportCron";

/// The label for CDI's clean-up after a DataImportCron is deleted.
pub(crate) const CLEAN_UP: &str = "/metadata/labels/cdi.kubevirt.io~1dataImportCron.cleanup";

/// The annotation of objects that SSP creates.
pub(crate) const OWNER: &str = "/metadata/annotations/operator-sdk~1primary-resource-type";

/// The value of the annotation for SSP.
const SSP: &str = "SSP.ssp.kubevirt.io";

/// The label of a VM's `DataVolume`, with the UID of the VM.
pub(crate) const CREATED_BY: &str = "/metadata/labels/kubevirt.io~1created-by";

/// The UID of the virtual machine that a `DataVolume` belongs to.
pub(crate) fn machine(volume: &Value) -> Option<&str> {
    text(volume, CREATED_BY)
}

/// The name of the DataImportCron that an object belongs to.
pub(crate) fn cron(object: &Value) -> Option<&str> {
    text(object, CRON).filter(|name| !name.is_empty())
}

/// The namespace and name of the DataImportCron that an object belongs to: `NAMESPACE/NAME`.
pub(crate) fn cron_key(object: &Value) -> Option<String> {
    Some(format!("{}/{}", namespace(object), cron(object)?))
}

/// Whether CDI deletes an object with its DataImportCron.
pub(crate) fn is_cleaned_up(object: &Value) -> bool {
    text(object, CLEAN_UP) == Some("true")
}

/// Whether SSP created an object.
pub(crate) fn is_of_ssp(object: &Value) -> bool {
    text(object, OWNER) == Some(SSP)
}
