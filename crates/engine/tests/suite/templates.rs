//! On which architectures VMs boot from each golden image: the matrix of the preflight.

use e2e_tests::FakeCluster;
use engine::{Boot, RULES, Subject};
use serde_json::{Map, Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::template_spec;

/// The reported states of one custom template with this annotation: `amd64=imported`.
fn imports(import: bool, annotation: Option<&str>, workers: &[&str]) -> String {
    let source = json!({"registry": {"url": "docker://registry.example.com/my-image:1"}});
    imports_with(
        import,
        annotation,
        workers,
        &template_spec("my-image", &source),
    )
}

/// The same with another spec.
fn imports_with(import: bool, annotation: Option<&str>, workers: &[&str], spec: &Value) -> String {
    let annotations = match annotation {
        Some(value) => json!({"ssp.kubevirt.io/dict.architectures": value}),
        None => json!({}),
    };
    let payload = json!({"settings": {}, "request": {
        "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
        "operation": "CREATE",
        "object": {"metadata": {"name": "x"}, "spec": {
            "featureGates": {"enableMultiArchBootImageImport": import},
            "enableCommonBootImageImport": false,
            "dataImportCronTemplates": [
                {"metadata": {"name": "my-image", "annotations": annotations}, "spec": spec},
                {"metadata": {"name": "off", "annotations": {
                    "dataimportcrontemplate.kubevirt.io/enable": "false"}}, "spec": {}},
            ],
        }},
    }});
    let report = engine::report(
        payload.to_string().as_bytes(),
        &FakeCluster::with_workers(workers),
    );
    let templates = report.templates.unwrap();
    assert_eq!(templates.len(), 1, "the disabled one is no golden image");
    let boots = templates[0].architectures.iter();
    let words: Vec<String> = boots
        .map(|(name, boot)| match boot {
            Boot::InImage => format!("{name}=boots"),
            Boot::Expected => format!("{name}=imported"),
            Boot::NotImported => format!("{name}=not-imported"),
            Boot::Unknown => format!("{name}=unknown"),
        })
        .collect();
    words.join(" ")
}

#[test]
fn with_the_import_on_an_image_is_imported_where_the_annotation_matches_exactly() {
    let mixed = ["amd64", "arm64"];
    assert_eq!(
        imports(true, Some("amd64, arm64"), &mixed),
        "amd64=imported arm64=not-imported"
    );
    assert_eq!(imports(true, None, &mixed), "amd64=unknown arm64=unknown");
    assert_eq!(imports(true, Some(""), &["amd64"]), "amd64=not-imported");
}

#[test]
fn an_image_that_is_never_imported_is_reported_as_such() {
    let source = json!({"registry": {"url": "docker://registry.example.com/my-image:1"}});
    let never = |member: &str, value: Value| {
        let mut spec = template_spec("my-image", &source);
        spec[member] = value;
        spec
    };
    let rejected = never("garbageCollect", json!("Sometimes"));
    let unscheduled = never("schedule", json!(""));
    for spec in [rejected, unscheduled] {
        assert_eq!(
            imports_with(true, Some("amd64,arm64"), &["amd64", "arm64"], &spec),
            "amd64=not-imported arm64=not-imported",
            "{spec}"
        );
        assert_eq!(
            imports_with(false, Some("amd64"), &["amd64"], &spec),
            "amd64=not-imported",
            "{spec}"
        );
    }
}

#[test]
fn an_architecture_that_ssp_does_not_know_gets_no_image() {
    assert_eq!(
        imports(true, Some("amd64,ppc64le"), &["amd64", "ppc64le"]),
        "amd64=imported ppc64le=not-imported"
    );
}

#[test]
fn with_the_import_off_the_annotation_counts_only_where_there_is_one_architecture() {
    assert_eq!(imports(false, Some("amd64"), &["amd64"]), "amd64=imported");
    assert_eq!(
        imports(false, Some("amd64"), &["arm64"]),
        "arm64=not-imported"
    );
    assert_eq!(
        imports(false, Some("amd64,arm64"), &["amd64", "arm64"]),
        "amd64=unknown arm64=unknown"
    );
}

#[test]
fn without_nodes_there_is_no_matrix() {
    let pod = json!({"request": {"kind": {"kind": "Pod"}}, "settings": {}}).to_string();
    let report = engine::report(pod.as_bytes(), &FakeCluster::with_workers(&[]));
    assert_eq!(report.templates, None);
}

#[test]
fn without_golden_images_there_is_no_matrix() {
    let payload = json!({"settings": {"goldenImages": "absent"}, "request": {
        "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
        "operation": "CREATE",
        "object": {"metadata": {"name": "x"}, "spec": {}},
    }});
    let cluster = FakeCluster::with_workers(&["amd64"]);
    let report = engine::report(payload.to_string().as_bytes(), &cluster);
    assert!(report.nodes.is_some());
    assert_eq!(report.templates, None);
}

/// A rule that is ignored for all templates does not need the nodes.
#[test]
fn ignored_rules_about_templates_do_not_list_the_nodes() {
    let rules = RULES
        .iter()
        .filter(|rule| rule.subject == Subject::Template);
    let ignored: Map<String, Value> = rules
        .map(|rule| (rule.id.to_owned(), json!("ignore")))
        .collect();
    for (levels, lists) in [(Map::new(), 1), (ignored, 0)] {
        let source = json!({"registry": {"url": "docker://registry.example.com/my-image:1"}});
        let annotations = json!({"ssp.kubevirt.io/dict.architectures": "amd64"});
        let others =
            json!({"no-workload-nodes": "ignore", "cluster-architecture-unknown": "ignore"});
        let settings = json!({"levels": others, "templates": {"my-*": levels}});
        let payload = json!({"settings": settings, "request": {
            "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
            "operation": "CREATE",
            "object": {"metadata": {"name": "x"}, "spec": {
                "featureGates": {"enableMultiArchBootImageImport": true},
                "enableCommonBootImageImport": false,
                "dataImportCronTemplates": [{
                    "metadata": {"name": "my-image", "annotations": annotations},
                    "spec": template_spec("my-image", &source),
                }],
            }},
        }});
        let cluster = FakeCluster::with_workers(&["amd64", "arm64"]);
        engine::evaluate(payload.to_string().as_bytes(), &cluster);
        assert_eq!(cluster.lists(), lists);
    }
}
