//! On which architectures VMs boot from each golden image: the matrix of the preflight.

use std::iter::zip;

use e2e_tests::FakeCluster;
use engine::{RULES, Report, Subject};
use serde_json::{Map, Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{create, hyperconverged, payload, request, template};

fn report(object: &Value, settings: &Value, workers: &[&str]) -> Report {
    let payload = payload(&request(object, None), settings);
    engine::report(&payload, &FakeCluster::with_workers(workers))
}

/// An object with this template, and a disabled one.
fn object(import: bool, template: &Value) -> Value {
    let disabled = json!({"metadata": {"name": "off", "annotations": {
        "dataimportcrontemplate.kubevirt.io/enable": "false"}}, "spec": {}});
    let spec = json!({
        "featureGates": {"enableMultiArchBootImageImport": import},
        "enableCommonBootImageImport": false,
        "dataImportCronTemplates": [template, disabled],
    });
    hyperconverged("v1beta1", &spec)
}

#[test]
fn a_boot_source_boots_where_its_image_is_imported() {
    let mixed = &["amd64", "arm64"][..];
    let mut rejected = template("my-image", "amd64,arm64");
    rejected["spec"]["garbageCollect"] = json!("Sometimes");
    let mut unscheduled = template("my-image", "amd64,arm64");
    unscheduled["spec"]["schedule"] = json!("");
    let mut unannotated = template("my-image", "");
    unannotated["metadata"]["annotations"] = json!({});
    let annotated = |architectures: &str| template("my-image", architectures);
    let (expected, not_imported, unknown) = ("expected", "not-imported", "unknown");
    for (import, template, workers, states) in [
        (
            true,
            annotated("amd64, arm64"),
            mixed,
            &[expected, not_imported][..],
        ),
        (true, unannotated, mixed, &[unknown, unknown]),
        (true, annotated(""), &["amd64"], &[not_imported]),
        // CDI rejects its DataImportCron, or never imports.
        (true, rejected.clone(), mixed, &[not_imported, not_imported]),
        (false, rejected, &["amd64"], &[not_imported]),
        (
            true,
            unscheduled.clone(),
            mixed,
            &[not_imported, not_imported],
        ),
        (false, unscheduled, &["amd64"], &[not_imported]),
        // SSP does not support the architecture.
        (
            true,
            annotated("amd64,ppc64le"),
            &["amd64", "ppc64le"],
            &[expected, not_imported],
        ),
        // With the import off, the annotation counts only where there is one architecture.
        (false, annotated("amd64"), &["amd64"], &[expected]),
        (false, annotated("amd64"), &["arm64"], &[not_imported]),
        (false, annotated("amd64,arm64"), mixed, &[unknown, unknown]),
    ] {
        let templates = report(&object(import, &template), &json!({}), workers).templates;
        let templates = templates.unwrap();
        assert_eq!(
            templates.len(),
            1,
            "a disabled template is not a golden image"
        );
        let found = json!(templates[0].architectures);
        let wanted: Value = zip(workers.to_vec(), states.to_vec()).collect();
        assert_eq!(found, wanted, "{import} {template}");
    }
}

#[test]
fn without_nodes_or_golden_images_there_is_no_matrix() {
    let pod = json!({"apiVersion": "v1/v1", "kind": "Pod"});
    assert_eq!(report(&pod, &json!({}), &[]).templates, None);
    let object = hyperconverged("v1beta1", &json!({}));
    let report = report(&object, &json!({"goldenImages": "absent"}), &["amd64"]);
    assert!(report.nodes.is_some());
    assert_eq!(report.templates, None);
}

/// A rule that is ignored for all templates does not need the nodes.
#[test]
fn ignored_rules_about_templates_do_not_list_the_nodes() {
    let rules = RULES
        .iter()
        .filter(|rule| rule.subject == Subject::Template);
    let ignored = rules
        .map(|rule| (rule.id.to_owned(), json!("ignore")))
        .collect();
    for (levels, lists) in [(Map::new(), 1), (ignored, 0)] {
        let others =
            json!({"no-workload-nodes": "ignore", "cluster-architecture-unknown": "ignore"});
        let settings = json!({"levels": others, "templates": {"my-*": levels}});
        let cluster = super::mixed();
        create(
            &object(true, &template("my-image", "amd64")),
            &settings,
            &cluster,
        );
        assert_eq!(cluster.lists(), lists);
    }
}
