//! Fields at places where the API server drops them: fields of the other API version, and fields beside the spec.

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

/// Fields of the spec that stand beside it, for example because an example lost its indentation.
const OF_SPEC: [&str; 8] = [
    "commonBootImageNamespace",
    "dataImportCronTemplates",
    "deployment",
    "enableCommonBootImageImport",
    "featureGates",
    "infra",
    "workloadSources",
    "workloads",
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
    for (v1beta1, v1) in MOVED {
        let (outermost, _) = v1beta1.split_once('.').unwrap_or((v1beta1, ""));
        let (field, other, place) = if is_v1 {
            (outermost, "v1beta1", v1)
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
    let beside_spec = |field: &&str| {
        format!(
            "{field} has no effect: it stands beside spec, and the API server drops it; write spec.{field}"
        )
    };
    let beside = OF_SPEC.iter().filter(|field| has(field)).map(beside_spec);
    sentences.extend(beside);
    sentences
}
