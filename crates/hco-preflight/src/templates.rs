//! The templates of a HyperConverged, in either version.

use cluster::field::items;
use serde_json::Value;

/// The fields of the spec that contain templates.
const FIELDS: [&str; 2] = [
    "workloadSources.dataImportCronTemplates",
    "dataImportCronTemplates",
];

/// The templates of the spec, each with its path.
pub(crate) fn of_spec(object: &Value) -> impl Iterator<Item = (String, &Value)> {
    FIELDS.iter().flat_map(|field| {
        items(object, &format!("/spec/{}", field.replace('.', "/")))
            .enumerate()
            .map(move |(index, template)| (format!("spec.{field}[{index}]"), template))
    })
}

/// The golden images that HCO lists in the status.
pub(crate) fn of_status(object: &Value) -> impl Iterator<Item = &Value> {
    items(object, "/status/dataImportCronTemplates")
}
