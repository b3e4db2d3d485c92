//! Fields at places where the API server drops them: fields of the other API version, and fields beside the spec.

use serde_json::Value;

/// A field of one version, and its place in the other one.
type Moved = (&'static str, &'static str);

const OF_V1BETA1: [Moved; 5] = [
    (
        "/spec/dataImportCronTemplates",
        "spec.workloadSources.dataImportCronTemplates",
    ),
    (
        "/spec/enableCommonBootImageImport",
        "spec.workloadSources.enableCommonBootImageImport",
    ),
    (
        "/spec/commonBootImageNamespace",
        "spec.workloadSources.commonBootImageNamespace",
    ),
    ("/spec/workloads", "spec.deployment.nodePlacements.workload"),
    ("/spec/infra", "spec.deployment.nodePlacements.infra"),
];

const OF_V1: [Moved; 6] = [
    (
        "/spec/workloadSources/enableMultiArchBootImageImport",
        "spec.featureGates.enableMultiArchBootImageImport",
    ),
    (
        "/spec/workloadSources/dataImportCronTemplates",
        "spec.dataImportCronTemplates",
    ),
    (
        "/spec/workloadSources/enableCommonBootImageImport",
        "spec.enableCommonBootImageImport",
    ),
    (
        "/spec/workloadSources/commonBootImageNamespace",
        "spec.commonBootImageNamespace",
    ),
    (
        "/spec/deployment/nodePlacements/workload",
        "spec.workloads.nodePlacement",
    ),
    (
        "/spec/deployment/nodePlacements/infra",
        "spec.infra.nodePlacement",
    ),
];

/// Fields of the spec that stand beside it, for example because an example lost its indentation.
const OF_SPEC: [&str; 6] = [
    "dataImportCronTemplates",
    "deployment",
    "featureGates",
    "infra",
    "workloadSources",
    "workloads",
];

/// A sentence about each field of a HyperConverged that the API server drops, and where it belongs.
pub(crate) fn of(object: &Value) -> Vec<String> {
    let (table, other): (&[Moved], _) = match object.pointer("/apiVersion").and_then(Value::as_str)
    {
        Some("hco.kubevirt.io/v1") => (&OF_V1BETA1, "v1beta1"),
        Some("hco.kubevirt.io/v1beta1") => (&OF_V1, "v1"),
        _ => return Vec::new(),
    };
    let has = |path: &str| object.pointer(path).is_some_and(|value| !value.is_null());
    let in_other_version = |(path, place): &Moved| {
        let field = path.trim_start_matches('/').replace('/', ".");
        format!(
            "{field} has no effect: it is a field of {other}, and the API server drops it; write {place}"
        )
    };
    let beside_spec = |field: &&str| {
        format!(
            "{field} has no effect: it stands beside spec, and the API server drops it; write spec.{field}"
        )
    };
    let moved = table
        .iter()
        .filter(|(path, _)| has(path))
        .map(in_other_version);
    let beside = OF_SPEC
        .iter()
        .filter(|field| has(&format!("/{field}")))
        .map(beside_spec);
    moved.chain(beside).collect()
}
