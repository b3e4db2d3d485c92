//! Fields at places where the API server drops them: fields of the other API version, and fields beside the spec.

use std::collections::BTreeSet;

use cluster::field::text;
use serde_json::Value;

/// Fields of the spec whose place differs between the versions: the place in v1beta1, and in v1.
const MOVED: [(&str, &str); 6] = [
    (
        "featureGates.enableMultiArchBootImageImport",
        "workloadSources.enableMultiArchBootImageImport",
    ),
    (
        "dataImportCronTemplates",
        "workloadSources.dataImportCronTemplates",
    ),
    (
        "enableCommonBootImageImport",
        "workloadSources.enableCommonBootImageImport",
    ),
    (
        "commonBootImageNamespace",
        "workloadSources.commonBootImageNamespace",
    ),
    (
        "workloads.nodePlacement",
        "deployment.nodePlacements.workload",
    ),
    ("infra.nodePlacement", "deployment.nodePlacements.infra"),
];

/// A sentence about each field of a HyperConverged that the API server drops, and where it belongs.
pub(crate) fn of(object: &Value) -> Vec<String> {
    let is_v1 = match text(object, "/apiVersion") {
        Some("hco.kubevirt.io/v1") => true,
        Some("hco.kubevirt.io/v1beta1") => false,
        _ => return Vec::new(),
    };
    let has = |field: &str| {
        let value = object.pointer(&format!("/{}", field.replace('.', "/")));
        value.is_some_and(|value| !value.is_null())
    };
    let mut sentences = Vec::new();
    let outermost = |field: &'static str| field.split_once('.').map_or(field, |(first, _)| first);
    let mut of_spec = BTreeSet::new();
    for (v1beta1, v1) in MOVED {
        of_spec.extend([v1beta1, v1].map(outermost));
        let (field, other, place) = if is_v1 {
            (outermost(v1beta1), "v1beta1", v1)
        } else {
            (v1, "v1", v1beta1)
        };
        // v1 has feature gates as well, as a list.
        if field != "featureGates" && has(&format!("spec.{field}")) {
            sentences.push(format!(
                "spec.{field} has no effect: it is a field of {other}, and the API server drops it; write spec.{place}"
            ));
        }
    }
    // An example can have lost its indentation.
    for field in of_spec.into_iter().filter(|field| has(field)) {
        sentences.push(format!(
            "{field} has no effect: it stands beside spec, and the API server drops it; write spec.{field}"
        ));
    }
    sentences
}
