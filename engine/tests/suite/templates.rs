//! Where VMs boot from each golden image: what the preflight draws as a matrix.

use engine::{Cluster, ServiceAccount};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Workers of these architectures.
struct Workers<'a>(&'a [&'a str]);

impl Cluster for Workers<'_> {
    fn nodes(&self) -> Result<Vec<u8>, String> {
        let node = |architecture| {
            json!({
                "metadata": {"labels": {"node-role.kubernetes.io/worker": ""}},
                "status": {"nodeInfo": {"architecture": architecture}},
            })
        };
        let items: Vec<Value> = self.0.iter().map(node).collect();
        Ok(json!({ "items": items }).to_string().into_bytes())
    }

    fn may(&self, _: &ServiceAccount, _: &str) -> Option<Vec<u8>> {
        None
    }
}

/// One custom template with this annotation, and what is said of it: `amd64=boots`.
fn said(import: bool, annotation: Option<&str>, workers: &[&str]) -> String {
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
                {"metadata": {"name": "my-image", "annotations": annotations}, "spec": {}},
                {"metadata": {"name": "off", "annotations": {
                    "dataimportcrontemplate.kubevirt.io/enable": "false"}}, "spec": {}},
            ],
        }},
    }});
    let report = engine::judge(payload.to_string().as_bytes(), &Workers(workers));
    let templates = report.templates.unwrap();
    assert_eq!(templates.len(), 1, "the disabled one is no golden image");
    let words = templates[0].architectures.iter();
    words
        .map(|(name, word)| format!("{name}={word}"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn with_the_import_on_the_annotation_says_where_an_image_boots_by_exact_comparison() {
    let mixed = ["amd64", "arm64"];
    assert_eq!(
        said(true, Some("amd64, arm64"), &mixed),
        "amd64=boots arm64=doesNotBoot"
    );
    assert_eq!(said(true, None, &mixed), "amd64=notSaid arm64=notSaid");
    assert_eq!(said(true, Some(""), &["amd64"]), "amd64=doesNotBoot");
}

#[test]
fn an_architecture_that_ssp_does_not_know_gets_no_image() {
    assert_eq!(
        said(true, Some("amd64,ppc64le"), &["amd64", "ppc64le"]),
        "amd64=boots ppc64le=doesNotBoot"
    );
}

#[test]
fn with_the_import_off_the_annotation_is_believed_only_where_there_is_no_choice() {
    assert_eq!(said(false, Some("amd64"), &["amd64"]), "amd64=boots");
    assert_eq!(said(false, Some("amd64"), &["arm64"]), "arm64=doesNotBoot");
    assert_eq!(
        said(false, Some("amd64,arm64"), &["amd64", "arm64"]),
        "amd64=notSaid arm64=notSaid"
    );
}

#[test]
fn without_nodes_nothing_is_said() {
    let pod = json!({"request": {"kind": {"kind": "Pod"}}, "settings": {}}).to_string();
    let report = engine::judge(pod.as_bytes(), &Workers(&[]));
    assert_eq!(report.templates, None);
}
