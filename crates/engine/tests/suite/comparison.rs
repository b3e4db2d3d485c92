//! Comparisons with the state before a change: another version of HCO, other nodes, and the existing objects.

use engine::{Comparison, Objects, Report};
use kube_objects::json::{Field, Json};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{hyperconverged, node, payload, request, rules, template};

fn list(kind: &str, items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": format!("{kind}List"), "items": items})
}

/// An object as HCO 1.18 stores it, with one template.
fn object() -> Value {
    let mut template = template("golden-cron", "amd64,arm64");
    template["spec"]["managedDataSource"] = json!("golden");
    template["spec"]["retentionPolicy"] = json!("None");
    template["spec"]["importsToKeep"] = json!(1);
    let spec = json!({"enableCommonBootImageImport": false, "dataImportCronTemplates": [template]});
    let mut object = hyperconverged("v1beta1", &spec);
    object["metadata"]["resourceVersion"] = json!("1");
    object["status"] = json!({"versions": [{"name": "operator", "version": "1.18.0"}]});
    object
}

/// The node list of these workers.
fn workers(architectures: &[&str]) -> String {
    let nodes = architectures
        .iter()
        .map(|architecture| node("worker", architecture));
    list("Node", &nodes.collect::<Vec<_>>()).to_string()
}

/// The report on an update, on amd64 nodes.
fn report(comparison: Option<&Comparison<'_>>, old: &Value, new: &Value) -> Report {
    let payload = payload(&request(new, Some(old)), &json!({}));
    engine::report_change(&payload, &workers(&["amd64"]), comparison)
}

fn changes(report: &Report) -> Value {
    serde_json::to_value(&report.changes).unwrap()
}

#[test]
fn an_update_that_changes_no_evaluated_field_has_a_comparison() {
    let plain = report(None, &object(), &object());
    assert_eq!((plain.changes, plain.hco_version), (None, None));
    let report = report(Some(&Comparison::default()), &object(), &object());
    assert!(report.forecast_before.is_some() && report.forecast_before == report.forecast);
    let changes = changes(&report);
    assert_eq!(changes["crons"]["created"], json!([]));
    assert_eq!(changes["dataSources"]["deleted"], json!([]));
}

#[test]
fn new_nodes_are_compared_with_the_nodes_before() {
    let mut importing = object();
    importing["spec"]["featureGates"] = json!({"enableMultiArchBootImageImport": true});
    let mixed = ["amd64", "arm64"];
    for (object, before, after, created, lost) in [
        (object(), &mixed[..1], &mixed[..], json!([]), json!([])),
        (
            importing,
            &mixed,
            &mixed[..1],
            json!([]),
            json!(["kubevirt-os-images/golden-arm64"]),
        ),
    ] {
        let before = workers(before);
        let comparison = Comparison {
            nodes_before: Some(&before),
            ..Comparison::default()
        };
        let payload = payload(&request(&object, Some(&object)), &json!({}));
        let report = engine::report_change(&payload, &workers(after), Some(&comparison));
        let changes = changes(&report);
        assert_eq!(changes["dataSources"]["created"], created);
        assert_eq!(changes["lostImage"], lost);
        // The new nodes need the import.
        let is_needed = rules(&report).contains(&"multi-arch-import-disabled");
        assert_eq!(is_needed, after.len() > 1);
    }
}

#[test]
fn a_version_that_is_given_takes_precedence_over_the_status() {
    let comparison = Comparison {
        version: Some("4.23"),
        ..Comparison::default()
    };
    let given = report(Some(&comparison), &object(), &object());
    assert_eq!(given.hco_version.as_deref(), Some("1.19 (given)"));
    // The status has an upstream version of HCO, whose namespace of golden images stays.
    let forecast = json!(given.forecast);
    assert_eq!(forecast["crons"][0]["namespace"], "kubevirt-os-images");
    let status = report(Some(&Comparison::default()), &object(), &object());
    assert_eq!(status.hco_version.as_deref(), Some("1.18.0 (status)"));
}

/// HCO's webhook completes a template when the object is written. This happens in the upgrade to 1.19, and in any
/// upgrade if the object lacks the annotation that HCO then adds.
#[test]
fn a_template_that_hco_completes_is_imported_again_after_an_upgrade_that_writes_it() {
    let mut object = object();
    object["status"]["versions"][0]["version"] = json!("1.17.0");
    let spec = &mut object["spec"]["dataImportCronTemplates"][0]["spec"];
    spec["retentionPolicy"] = Value::Null;
    spec["importsToKeep"] = Value::Null;
    let golden = json!(["kubevirt-os-images/golden-cron"]);
    for (version, annotations, recreated) in [
        ("1.18", json!({"deployOVS": "false"}), &json!([])),
        ("1.18", json!(null), &golden),
        ("1.19", json!({"deployOVS": "false"}), &golden),
    ] {
        object["metadata"]["annotations"] = annotations;
        let upgrade = Comparison {
            version: Some(version),
            ..Comparison::default()
        };
        let changes = changes(&report(Some(&upgrade), &object, &object));
        assert_eq!(changes["crons"]["recreated"], *recreated, "{version}");
    }
}

#[test]
fn existing_objects_replace_their_forecast() {
    let nothing =
        ["DataImportCron", "DataSource", "PersistentVolumeClaim"].map(|kind| list(kind, &[]));
    let text = json!(nothing).to_string();
    let list = Field::root(Json::parse(text.as_bytes()).unwrap());
    let comparison = Comparison {
        objects: Objects::read(&list).unwrap(),
        ..Comparison::default()
    };
    let changes = changes(&report(Some(&comparison), &object(), &object()));
    let created = &changes["crons"]["created"];
    assert_eq!(*created, json!(["kubevirt-os-images/golden-cron"]));
}

#[test]
fn a_new_object_is_compared_with_the_existing_objects() {
    let payload = payload(&request(&object(), None), &json!({}));
    let report = |comparison| engine::report_change(&payload, &workers(&["amd64"]), comparison);
    assert_eq!(report(None).changes, None);
    let compared = report(Some(&Comparison::default()));
    let created = &changes(&compared)["crons"]["created"];
    assert_eq!(*created, json!(["kubevirt-os-images/golden-cron"]));
    assert_eq!(compared.forecast_before, None);
}

/// HCO chooses the schedule of common templates, and writes it into its status.
#[test]
fn a_common_template_without_a_schedule_gets_the_schedule_of_the_status() {
    let mut old = object();
    old["status"]["dataImportSchedule"] = json!("52 8/12 * * *");
    old["spec"]["enableCommonBootImageImport"] = json!(true);
    let template = &mut old["spec"]["dataImportCronTemplates"][0];
    template["metadata"]["name"] = json!("fedora-image-cron");
    let mut new = old.clone();
    new["spec"]["dataImportCronTemplates"][0]["spec"]["schedule"] = json!("");
    for (schedule, is_recreated) in [("0 */12 * * *", true), ("52 8/12 * * *", false)] {
        old["spec"]["dataImportCronTemplates"][0]["spec"]["schedule"] = json!(schedule);
        let changes = changes(&report(Some(&Comparison::default()), &old, &new));
        let recreated = &changes["crons"]["recreated"];
        assert_eq!(*recreated != json!([]), is_recreated, "{schedule}");
    }
}
