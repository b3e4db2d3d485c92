//! The templates of a HyperConverged, in either version.

use cluster::field::{items, name, text};
use serde_json::{Value, json};

const FIELDS: [&str; 2] = [
    "workloadSources.dataImportCronTemplates",
    "dataImportCronTemplates",
];

pub(crate) fn of_spec(object: &Value) -> impl Iterator<Item = (String, &Value)> {
    FIELDS.iter().flat_map(|field| {
        items(object, &format!("/spec/{}", field.replace('.', "/")))
            .enumerate()
            .map(move |(index, template)| (format!("spec.{field}[{index}]"), template))
    })
}

pub(crate) fn of_status(object: &Value) -> impl Iterator<Item = &Value> {
    items(object, "/status/dataImportCronTemplates")
}

const ANNOTATION: &str = "/metadata/annotations/ssp.kubevirt.io~1dict.architectures";

/// The annotation that HCO uses. With the import on, HCO filters the annotation in the status.
fn used_annotation(template: &Value) -> Option<&str> {
    text(template, "/status/originalSupportedArchitectures")
        .or_else(|| text(template, ANNOTATION))
        .filter(|value| !value.is_empty())
}

/// Whether the spec overrides a common template of the status.
pub(crate) fn is_modified(of_status: &Value) -> bool {
    of_status.pointer("/status/modified") == Some(&Value::Bool(true))
}

/// The names of the common templates that the status lists, each as the setting has it; `None` if the spec changes it so
/// that the status does not show what HCO ships.
pub(crate) fn common(object: &Value) -> impl Iterator<Item = (&str, Option<Value>)> {
    of_status(object)
        .filter(|template| template.pointer("/status/commonTemplate") == Some(&Value::Bool(true)))
        .map(|template| {
            let used = used_annotation(template);
            // HCO uses its own annotation for a modified template whose image is its own, too.
            let is_shown = !is_modified(template)
                || of_spec(object)
                    .filter(|(_, of_spec)| name(of_spec) == name(template))
                    .any(|(_, of_spec)| used_annotation(of_spec) != used);
            let source = template.pointer("/spec/template/spec/source");
            let stated = source.filter(|_| is_shown).map(|source| match used {
                Some(used) => json!({"source": source, "architectures": used}),
                None => json!({"source": source}),
            });
            (name(template), stated)
        })
}
