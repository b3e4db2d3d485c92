//! Comparisons with the state before a change: another version of HCO, other nodes, and the existing objects.

use engine::{Comparison, Objects, Report};
use kube_objects::json::{Field, Json};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::template_spec;

fn node(architecture: &str) -> Value {
    json!({
        "metadata": {"labels": {
            "node-role.kubernetes.io/worker": "", "kubernetes.io/arch": architecture,
        }},
        "status": {"nodeInfo": {"architecture": architecture}},
    })
}

fn list(kind: &str, items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": format!("{kind}List"), "items": items})
}

/// An object as HCO 1.18 stores it, with one template.
fn object() -> Value {
    let source = json!({"registry": {"url": "docker://quay.io/golden:1"}});
    let mut spec = template_spec("golden", &source);
    spec["retentionPolicy"] = json!("None");
    spec["importsToKeep"] = json!(1);
    json!({
        "apiVersion": "hco.kubevirt.io/v1beta1",
        "kind": "HyperConverged",
        "metadata": {"name": "kubevirt-hyperconverged", "namespace": "kubevirt", "resourceVersion": "1"},
        "spec": {
            "enableCommonBootImageImport": false,
            "dataImportCronTemplates": [{
                "metadata": {
                    "name": "golden-cron",
                    "annotations": {"ssp.kubevirt.io/dict.architectures": "amd64,arm64"},
                },
                "spec": spec,
            }],
        },
        "status": {"versions": [{"name": "operator", "version": "1.18.0"}]},
    })
}

/// The report on an object that stays as it is, on nodes of these architectures.
fn report(comparison: Option<&Comparison<'_>>, architectures: &[&str]) -> Report {
    report_on(comparison, "UPDATE", &object(), architectures)
}

fn report_on(
    comparison: Option<&Comparison<'_>>,
    operation: &str,
    object: &Value,
    architectures: &[&str],
) -> Report {
    let request = json!({
        "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
        "operation": operation,
        "object": object,
        "oldObject": object,
    });
    let payload = json!({"request": request, "settings": {}}).to_string();
    let nodes: Vec<Value> = architectures.iter().map(|it| node(it)).collect();
    let nodes = list("Node", &nodes).to_string();
    engine::report_change(payload.as_bytes(), &nodes, comparison)
}

/// A comparison with the same state.
fn same() -> Comparison<'static> {
    Comparison::default()
}

/// The report on an object that stays as it is, in a cluster with these objects.
fn report_with(objects: &Value) -> Report {
    let text = objects.to_string();
    let list = Field::root(Json::parse(text.as_bytes()).unwrap());
    let comparison = Comparison {
        objects: Objects::read(&list).unwrap(),
        ..same()
    };
    report(Some(&comparison), &["amd64"])
}

fn changes(report: &Report) -> Value {
    serde_json::to_value(&report.changes).unwrap()
}

#[test]
fn an_update_that_changes_nothing_judged_is_compared_with_what_was_before() {
    let plain = report(None, &["amd64"]);
    assert_eq!((plain.changes, plain.hco_version), (None, None));
    let report = report(Some(&same()), &["amd64"]);
    assert!(report.forecast_before.is_some() && report.forecast_before == report.forecast);
    let changes = changes(&report);
    assert_eq!(changes["crons"]["created"], json!([]));
    assert_eq!(changes["dataSources"]["deleted"], json!([]));
}

#[test]
fn new_nodes_are_compared_with_those_before() {
    let before = list("Node", &[node("amd64")]).to_string();
    let comparison = Comparison {
        nodes_before: Some(&before),
        ..same()
    };
    let report = report(Some(&comparison), &["amd64", "arm64", "arm64"]);
    assert_eq!(
        changes(&report)["dataSources"]["created"],
        json!([]),
        "the import is off"
    );
    let finding = report.findings.iter();
    let found: Vec<_> = finding.map(|finding| &*finding.rule).collect();
    assert!(found.contains(&"multi-arch-import-disabled"), "{found:?}");
    assert!(!report.allowed);
}

#[test]
fn with_the_import_on_the_boot_sources_follow_the_nodes() {
    let mut object = object();
    object["spec"]["featureGates"] = json!({"enableMultiArchBootImageImport": true});
    let both = list("Node", &[node("amd64"), node("arm64")]).to_string();
    let comparison = Comparison {
        nodes_before: Some(&both),
        ..same()
    };
    let report = report_on(Some(&comparison), "UPDATE", &object, &["amd64"]);
    let changes = changes(&report);
    let golden = "kubevirt-os-images/golden";
    assert_eq!(
        changes["crons"]["deleted"],
        json!([format!("{golden}-cron-arm64")])
    );
    assert_eq!(changes["lostImage"], json!([format!("{golden}-arm64")]));
}

#[test]
fn a_version_that_is_given_wins_over_the_status() {
    let comparison = Comparison {
        version: Some("4.23"),
        ..same()
    };
    let given = report(Some(&comparison), &["amd64"]);
    assert_eq!(given.hco_version.as_deref(), Some("1.19 (given)"));
    assert_eq!(given.default_architecture.as_deref(), Some("amd64"));
    // The status has an upstream version of HCO, whose namespace of golden images stays.
    let forecast = serde_json::to_value(&given.forecast).unwrap();
    assert_eq!(forecast["crons"][0]["namespace"], "kubevirt-os-images");
    let status = report(Some(&same()), &["amd64"]);
    assert_eq!(status.hco_version.as_deref(), Some("1.18.0 (status)"));
}

/// HCO's webhook completes a template when the object is written. This happens in the upgrade to 1.19, and in any
/// upgrade if the object lacks the annotation that HCO then adds.
#[test]
fn a_template_that_hco_completes_is_imported_again_after_an_upgrade_that_writes_it() {
    let mut object = object();
    object["status"]["versions"][0]["version"] = json!("1.17.0");
    let spec = &mut object["spec"]["dataImportCronTemplates"][0]["spec"];
    let spec = spec.as_object_mut().unwrap();
    spec.remove("retentionPolicy");
    spec.remove("importsToKeep");
    for (version, annotations, is_recreated) in [
        ("1.18", json!({"deployOVS": "false"}), false),
        ("1.18", json!(null), true),
        ("1.19", json!({"deployOVS": "false"}), true),
    ] {
        object["metadata"]["annotations"] = annotations;
        let recreated: &[&str] = if is_recreated {
            &["kubevirt-os-images/golden-cron"]
        } else {
            &[]
        };
        let upgrade = Comparison {
            version: Some(version),
            ..same()
        };
        let report = report_on(Some(&upgrade), "UPDATE", &object, &["amd64"]);
        assert_eq!(
            changes(&report)["crons"]["recreated"],
            json!(recreated),
            "{version}"
        );
    }
}

#[test]
fn the_objects_that_are_there_take_the_place_of_their_forecast() {
    let nothing = ["DataImportCron", "DataSource", "PersistentVolumeClaim"].map(|it| list(it, &[]));
    let outstanding = report_with(&json!(nothing));
    assert_eq!(
        changes(&outstanding)["crons"]["created"],
        json!(["kubevirt-os-images/golden-cron"])
    );
    let uploaded = json!({"metadata": {"name": "left", "namespace": "kubevirt-os-images"}});
    let cron = json!({
        "kind": "DataImportCron",
        "metadata": {
            "name": "left", "namespace": "kubevirt-os-images",
            "annotations": {"operator-sdk/primary-resource-type": "SSP.ssp.kubevirt.io"},
        },
        "spec": {"managedDataSource": "left", "schedule": "@daily"},
    });
    let objects = json!([list("PersistentVolumeClaim", &[uploaded]), cron]);
    let left = report_with(&objects);
    assert_eq!(
        changes(&left)["crons"]["deleted"],
        json!(["kubevirt-os-images/left"])
    );
}

#[test]
fn before_an_object_is_created_there_is_what_is_given() {
    let plain = report_on(None, "CREATE", &object(), &["amd64"]);
    assert_eq!(plain.changes, None);
    let compared = report_on(Some(&same()), "CREATE", &object(), &["amd64"]);
    assert_eq!(
        changes(&compared)["crons"]["created"],
        json!(["kubevirt-os-images/golden-cron"])
    );
    assert_eq!(compared.forecast_before, None);
}

/// HCO chooses the schedule of common templates, and writes it into its status.
#[test]
fn a_common_template_without_a_schedule_gets_that_of_the_status() {
    let mut old = object();
    old["status"]["dataImportSchedule"] = json!("52 8/12 * * *");
    old["spec"]["enableCommonBootImageImport"] = json!(true);
    let template = &mut old["spec"]["dataImportCronTemplates"][0];
    template["metadata"]["name"] = json!("fedora-image-cron");
    let mut new = old.clone();
    new["spec"]["dataImportCronTemplates"][0]["spec"]["schedule"] = json!("");
    for (schedule, is_recreated) in [("0 */12 * * *", true), ("52 8/12 * * *", false)] {
        old["spec"]["dataImportCronTemplates"][0]["spec"]["schedule"] = json!(schedule);
        let request = json!({
            "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
            "operation": "UPDATE", "object": new, "oldObject": old,
        });
        let payload = json!({"request": request}).to_string();
        let nodes = list("Node", &[node("amd64")]).to_string();
        let report = engine::report_change(payload.as_bytes(), &nodes, Some(&same()));
        let recreated = changes(&report)["crons"]["recreated"]
            .as_array()
            .unwrap()
            .len();
        assert_eq!(recreated > 0, is_recreated, "{schedule}");
    }
}
