//! The templates of a HyperConverged, in either version.

use serde_json::Value;

/// Where the spec has them.
const FIELDS: [&str; 2] = [
    "workloadSources.dataImportCronTemplates",
    "dataImportCronTemplates",
];

/// Those of the spec, each with its path.
pub(crate) fn of_spec(object: &Value) -> impl Iterator<Item = (String, &Value)> {
    FIELDS.iter().flat_map(|field| {
        let list = object.pointer(&format!("/spec/{}", field.replace('.', "/")));
        let templates = list.and_then(Value::as_array).into_iter().flatten();
        let templates = templates.enumerate();
        templates.map(move |(index, template)| (format!("spec.{field}[{index}]"), template))
    })
}

/// The golden images, as HCO lists them.
pub(crate) fn of_status(object: &Value) -> impl Iterator<Item = &Value> {
    let templates = object.pointer("/status/dataImportCronTemplates");
    templates.and_then(Value::as_array).into_iter().flatten()
}
