//! Requests that the API server never sends, but other programs may send. The policy answers with 400 and a sentence,
//! or evaluates the request without the missing fields.

use e2e_tests::FakeCluster;
use engine::Report;
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn judge(payload: &Value) -> Report {
    let nodes = FakeCluster::with_workers(&["amd64", "arm64"]);
    engine::evaluate(payload.to_string().as_bytes(), &nodes)
}

fn request(version: &str, api_version: Option<&str>) -> Value {
    json!({"request": {
        "kind": {"group": "hco.kubevirt.io", "version": version, "kind": "HyperConverged"},
        "operation": "CREATE",
        "object": {"apiVersion": api_version, "metadata": {"name": "x"}},
    }})
}

#[test]
fn a_payload_that_is_no_request_is_rejected_with_the_reason() {
    let mut without_object = request("v1", None);
    without_object["request"]["object"] = Value::Null;
    for (payload, reason) in [
        (json!([]), "the document must be an object, not a list"),
        (json!({}), "the payload has no request"),
        (json!({"request": null}), "the payload has no request"),
        (
            json!({"request": []}),
            "request must be an object, not a list",
        ),
        (json!({"request": {}}), "the request has no kind"),
        (
            json!({"request": {"kind": {"group": 1}}}),
            "request.kind.group must be a string, not a number",
        ),
        (without_object, "the request has no object"),
    ] {
        let report = judge(&payload);
        assert_eq!(report.code, Some(400), "{payload}");
        let message = report.message.unwrap();
        assert!(message.contains(&format!(": {reason}.\n")), "{message}");
    }
}

#[test]
fn the_version_is_that_of_the_object_or_of_the_kind() {
    for (kind, api_version, code) in [
        ("v1", Some("hco.kubevirt.io/v1"), Some(403)),
        ("v1", None, Some(403)),
        ("", Some("hco.kubevirt.io/v1"), Some(403)),
        ("", None, Some(400)),
        ("v2", Some("hco.kubevirt.io/v1"), Some(400)),
        ("v1", Some("hco.kubevirt.io/v2"), Some(400)),
        ("v1", Some("example.com/v1"), Some(400)),
        ("v1", Some("hco.kubevirt.io"), Some(400)),
    ] {
        let report = judge(&request(kind, api_version));
        assert_eq!(report.code, code, "{kind} {api_version:?}");
    }
}

#[test]
fn a_subresource_is_accepted_however_its_key_is_written() {
    for (key, code) in [
        ("subResource", None),
        ("sub_resource", None),
        ("other", Some(403)),
    ] {
        let mut request = request("v1", None);
        request["request"][key] = "status".into();
        assert_eq!(judge(&request).code, code, "{key}");
    }
}

#[test]
fn settings_are_accepted_or_their_problems_reported() {
    let validate = |settings: &str| engine::validate_settings(settings.as_bytes());
    assert_eq!(validate(r#"{"updates":"strict"}"#), Ok(()));
    let error = validate(r#"{"updates":"never"}"#).unwrap_err();
    assert!(error.starts_with("1 problem in the settings:"), "{error}");
    let error = validate("{").unwrap_err();
    assert!(
        error.starts_with("the settings are not valid JSON: "),
        "{error}"
    );
}

/// The suffix for an architecture is added to a name only if the import is on and the template is annotated.
#[test]
fn a_name_has_room_for_the_suffix_of_an_architecture() {
    let rejects = |length: usize, import: bool, annotation: &str| {
        let mut request = request("v1beta1", None);
        request["request"]["object"]["spec"] = json!({
            "featureGates": {"enableMultiArchBootImageImport": import},
            "dataImportCronTemplates": [{
                "metadata": {
                    "name": "x".repeat(length),
                    "annotations": {"ssp.kubevirt.io/dict.architectures": annotation},
                },
                "spec": crate::template_spec("m", &json!({"registry": {"url": "docker://x.io/a"}})),
            }],
        });
        let findings = judge(&request).findings.into_iter();
        findings
            .map(|finding| finding.rule)
            .any(|rule| rule == "template-name-invalid")
    };
    for (length, import, annotation, is_rejected) in [
        (37, true, "amd64,arm64", false),
        (38, true, "amd64,arm64", true),
        (43, false, "amd64,arm64", false),
        (44, false, "amd64,arm64", true),
    ] {
        assert_eq!(
            rejects(length, import, annotation),
            is_rejected,
            "{length} {import} {annotation}"
        );
    }
}

#[test]
fn existing_problems_of_a_rule_are_one_warning() {
    let warnings = |count: usize| {
        let template = |number: usize| {
            json!({
                "metadata": {
                    "name": format!("t{number}"),
                    "annotations": {"ssp.kubevirt.io/dict.architectures": "AMD64,arm64"},
                },
                "spec": crate::template_spec(&format!("t{number}"), &json!({"registry": {"url": "docker://x.io/a"}})),
            })
        };
        let spec = |templates: Value| {
            json!({
                "featureGates": {"enableMultiArchBootImageImport": true},
                "dataImportCronTemplates": templates,
            })
        };
        let mut request = request("v1beta1", None);
        let old: Value = (0..count).map(template).collect();
        let mut new = old.clone();
        new[0]["spec"]["schedule"] = "0 0 * * *".into();
        request["request"]["operation"] = "UPDATE".into();
        request["request"]["oldObject"] = request["request"]["object"].clone();
        request["request"]["oldObject"]["spec"] = spec(old);
        request["request"]["object"]["spec"] = spec(new);
        let report = judge(&request);
        assert!(report.allowed, "{:?}", report.message);
        let of_rule = |warning: &String| warning.starts_with("[architectures-malformed]");
        report
            .warnings
            .into_iter()
            .filter(of_rule)
            .collect::<Vec<_>>()
    };
    let fact = "The entry `AMD64` of template `t0` is not valid";
    for (count, begins) in [
        (
            1,
            format!("[architectures-malformed] Existing problem: {fact}"),
        ),
        (
            2,
            format!("[architectures-malformed] Existing problem, and 1 more: {fact}"),
        ),
        (
            4,
            format!("[architectures-malformed] Existing problem, and 3 more: {fact}"),
        ),
    ] {
        let warnings = warnings(count);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].starts_with(&begins), "{warnings:?}");
    }
}
