//! The effect on disks and `DataSource`s when a `DataImportCron` is deleted, or deleted and created again.

use crate::cdi::data_import_cron::{DataImportCron, Spec};

/// Whether CDI deletes the `DataSource`, the disks, and the snapshots of a deleted `DataImportCron`.
///
/// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, setDataImportCronResourceLabels:
/// only None sets the label for the clean-up; any other value counts as All.
pub fn deletes_imports(spec: &Spec<'_>) -> bool {
    spec.retention_policy.as_deref() == Some("None")
}

/// Completes a spec as HCO's mutating webhook does, and as HCO does with the templates that it ships, from 1.18 on.
///
/// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/mutator/hyperConvergedMutator.go, getDICTPatches;
/// controllers/handlers/golden-images/golden_images.go, ensureDICTFields.
pub fn complete(spec: &mut Spec<'_>) {
    spec.retention_policy
        .get_or_insert_with(|| "None".to_owned());
    spec.imports_to_keep.get_or_insert(1);
}

/// The fields in which the spec of an existing `DataImportCron` differs from the spec that SSP wants. If no field
/// differs, SSP leaves it unchanged. Otherwise, SSP deletes it, and creates it again in its next pass.
///
/// MIRRORS: ssp-operator internal/common/resource.go, createOrUpdateWithImmutableSpec: semantic equality, so 10Gi
/// equals 10240Mi; labels, annotations and the order of fields do not count.
pub fn differences(one: &DataImportCron<'_>, other: &DataImportCron<'_>) -> Vec<String> {
    let mut found = one.spec.differences(other.spec);
    if one.managed_data_source != other.managed_data_source {
        found.push("managedDataSource".to_owned());
    }
    if !is_written_alike(one, other) && platform_architecture(one) != platform_architecture(other) {
        found.push("template.spec.source.registry.platform.architecture".to_owned());
    }
    found
}

/// Whether two specs have the same template and the same suffix. This check is cheaper than a semantic comparison.
fn is_written_alike(one: &DataImportCron<'_>, other: &DataImportCron<'_>) -> bool {
    one.platform_architecture == other.platform_architecture
        && one.spec.template.json() == other.spec.template.json()
}

/// The architecture that the importer requests.
fn platform_architecture(cron: &DataImportCron<'_>) -> Option<String> {
    match cron.platform_architecture {
        Some(architecture) if cron.spec.has_registry() => Some(architecture.to_owned()),
        _ => cron.spec.platform_architecture(),
    }
}

#[cfg(test)]
mod tests {
    use kube_objects::json::{Json, Object};
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn spec(text: &str) -> Spec<'_> {
        Spec::read(&Object::root(Json::parse(text.as_bytes()).unwrap())).unwrap()
    }

    fn cron<'a>(spec: &'a Spec<'a>) -> DataImportCron<'a> {
        DataImportCron {
            name: "x",
            namespace: "os-images",
            managed_data_source: &spec.managed_data_source,
            platform_architecture: None,
            data_source_label: None,
            spec,
        }
    }

    fn are_same(one: &str, other: &str) -> bool {
        differences(&cron(&spec(one)), &cron(&spec(other))).is_empty()
    }

    /// A spec with this `DataVolume`.
    fn of_volume(volume: &str) -> String {
        format!(
            r#"{{"schedule": "@daily", "managedDataSource": "x", "template": {{"spec": {volume}}}}}"#
        )
    }

    #[test]
    fn only_the_policy_none_deletes_disks() {
        assert!(deletes_imports(&spec(r#"{"retentionPolicy": "None"}"#)));
        for policy in ["\"All\"", "\"none\"", "\"\"", "null"] {
            let text = format!(r#"{{"retentionPolicy": {policy}}}"#);
            assert!(!deletes_imports(&spec(&text)), "{text}");
        }
    }

    #[test]
    fn hco_completes_only_what_is_not_set() {
        let completed = |text| {
            let mut spec = spec(text);
            complete(&mut spec);
            (spec.retention_policy, spec.imports_to_keep)
        };
        let none = || Some("None".to_owned());
        assert_eq!(completed("{}"), (none(), Some(1)));
        assert_eq!(
            completed(r#"{"retentionPolicy": "All", "importsToKeep": 3}"#),
            (Some("All".to_owned()), Some(3))
        );
        // Null equals a missing value.
        assert_eq!(
            completed(r#"{"retentionPolicy": null, "importsToKeep": 0}"#),
            (none(), Some(0))
        );
    }

    #[test]
    fn every_field_of_a_spec_counts() {
        let base = "{}";
        for other in [
            r#"{"serviceAccountName": "x"}"#,
            r#"{"template": {"kind": "x"}}"#,
        ] {
            assert!(!are_same(base, other), "{other}");
        }
        for other in [
            r#"{"schedule": "", "managedDataSource": "", "garbageCollect": null, "unknown": 1}"#,
            r#"{"template": {"metadata": {"name": "x"}, "spec": {}, "kind": ""}}"#,
        ] {
            assert!(are_same(base, other), "{other}");
        }
    }

    #[test]
    fn volumes_are_compared_as_go_stores_them() {
        for (one, other, expected) in [
            (
                r#"{"storage": {"resources": {"requests": {"storage": "10Gi"}}}}"#,
                r#"{"storage": {"resources": {"limits": {"storage": "10Gi"}}}}"#,
                false,
            ),
            // For a field without a pointer, an empty value equals a missing one.
            (
                r#"{"storage": {"resources": {"requests": {}}, "accessModes": [], "volumeName": ""}}"#,
                r#"{"storage": {}}"#,
                true,
            ),
            (
                r#"{"checkpoints": [], "finalCheckpoint": false, "contentType": ""}"#,
                "{}",
                true,
            ),
            // For a pointer, it does not.
            (r#"{"storage": {}}"#, "{}", false),
            (r#"{"storage": {}}"#, r#"{"pvc": {}}"#, false),
            (
                r#"{"storage": {"storageClassName": ""}}"#,
                r#"{"storage": {}}"#,
                false,
            ),
            (r#"{"preallocation": false}"#, "{}", false),
            (r#"{"source": {"blank": {}}}"#, r#"{"source": {}}"#, false),
            (
                r#"{"source": {"registry": {}}}"#,
                r#"{"source": {}}"#,
                false,
            ),
            (
                r#"{"source": {"registry": {"url": ""}}}"#,
                r#"{"source": {"registry": {}}}"#,
                false,
            ),
            (
                r#"{"source": {"registry": {"url": "a", "pullMethod": "pod"}}}"#,
                r#"{"source": {"registry": {"pullMethod": "pod", "url": "a", "unknown": 1}}}"#,
                true,
            ),
            (
                r#"{"source": {"pvc": {"name": "x", "namespace": "y"}}}"#,
                r#"{"source": {"pvc": {"namespace": "y", "name": "z"}}}"#,
                false,
            ),
            // The order of a list matters.
            (
                r#"{"storage": {"accessModes": ["ReadWriteOnce", "ReadWriteMany"]}}"#,
                r#"{"storage": {"accessModes": ["ReadWriteMany", "ReadWriteOnce"]}}"#,
                false,
            ),
        ] {
            let same = are_same(&of_volume(one), &of_volume(other));
            assert_eq!(same, expected, "{one}, {other}");
        }
    }

    #[test]
    fn the_fields_that_differ_are_named() {
        let (one, other) = (
            r#"{"source": {"registry": {"url": "a"}}, "storage": {"resources": {"requests": {"storage": "1Gi"}}}}"#,
            r#"{"source": {"registry": {"url": "b"}}, "storage": {"resources": {"requests": {"storage": "2Gi"}}}}"#,
        );
        let (one, other) = (
            of_volume(one),
            of_volume(other).replace("@daily", "@weekly"),
        );
        assert_eq!(
            differences(&cron(&spec(&one)), &cron(&spec(&other))),
            [
                "schedule",
                "template.spec.source.registry.url",
                "template.spec.storage.resources.requests"
            ]
        );
    }

    #[test]
    fn the_platform_is_that_of_ssp_or_that_of_the_template() {
        let url = r#"{"source": {"registry": {"url": "a"}}}"#;
        let arm64 =
            r#"{"source": {"registry": {"url": "a", "platform": {"architecture": "arm64"}}}}"#;
        let empty = r#"{"source": {"registry": {"url": "a", "platform": {}}}}"#;
        let pvc = r#"{"source": {"pvc": {"name": "a", "namespace": "b"}}}"#;
        let are_same = |one: &str, platform: Option<&str>, other: &str| {
            let (one, other) = (of_volume(one), of_volume(other));
            let (one, other) = (spec(&one), spec(&other));
            let with_platform = DataImportCron {
                platform_architecture: platform,
                ..cron(&one)
            };
            differences(&with_platform, &cron(&other)).is_empty()
        };
        assert!(are_same(url, Some("arm64"), arm64));
        assert!(are_same(empty, Some("arm64"), arm64));
        assert!(!are_same(arm64, Some("amd64"), arm64));
        assert!(!are_same(url, None, arm64));
        assert!(!are_same(url, None, empty));
        assert!(are_same(pvc, Some("arm64"), pvc));
    }
}
