//! Requests that the API server never sends, but other programs may send. The policy answers with 400 and a sentence,
//! or evaluates the request without the missing fields.

use engine::Report;
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{hyperconverged, importing, mixed, payload, template};

fn evaluate(request: &Value) -> Report {
    engine::validate(&payload(request, &json!({})), &mixed())
}

fn request(version: &str, api_version: Option<&str>) -> Value {
    let mut object = hyperconverged(version, &Value::Null);
    let mut request = super::request(&object, None);
    object["apiVersion"] = json!(api_version);
    request["object"] = object;
    request
}

#[test]
fn a_payload_without_a_request_is_rejected_with_the_reason() {
    let mut without_object = request("v1", None);
    without_object["object"] = Value::Null;
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
        (
            json!({"request": without_object}),
            "the request has no object",
        ),
    ] {
        let report = engine::validate(payload.to_string().as_bytes(), &mixed());
        assert_eq!(report.code, Some(400), "{payload}");
        let message = report.message.unwrap();
        assert!(message.contains(&format!(": {reason}.\n")), "{message}");
    }
}

#[test]
fn the_object_or_the_kind_has_the_version() {
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
        let report = evaluate(&request(kind, api_version));
        assert_eq!(report.code, code, "{kind} {api_version:?}");
    }
}

/// With `generateName`, the API server chooses the name later.
#[test]
fn an_object_may_have_no_name() {
    let mut request = request("v1", None);
    request["object"]["metadata"] = json!({"namespace": "a", "generateName": "x-"});
    let message = evaluate(&request).message.unwrap();
    assert!(message.contains(" a/(without a name): "), "{message}");
}

#[test]
fn a_subresource_is_accepted_however_its_key_is_written() {
    for (key, code) in [
        ("subResource", None),
        ("sub_resource", None),
        ("other", Some(403)),
    ] {
        let mut request = request("v1", None);
        request[key] = "status".into();
        assert_eq!(evaluate(&request).code, code, "{key}");
    }
}

#[test]
fn existing_problems_of_a_rule_are_one_warning() {
    for (count, words) in [
        (1, "Existing problem"),
        (2, "Existing problem, and 1 more"),
        (4, "Existing problem, and 3 more"),
    ] {
        let templates = (0..count).map(|number| template(&format!("t{number}"), "AMD64,arm64"));
        let old = hyperconverged("v1beta1", &importing(&templates.collect()));
        let mut new = old.clone();
        new["spec"]["dataImportCronTemplates"][0]["spec"]["schedule"] = "0 0 * * *".into();
        let report = evaluate(&super::request(&new, Some(&old)));
        assert!(report.allowed, "{:?}", report.message);
        let mut warnings = report.warnings;
        warnings.retain(|warning| warning.starts_with("[architectures-malformed]"));
        let fact = "The entry `AMD64` of template `t0` is not valid";
        let begins = format!("[architectures-malformed] {words}: {fact}");
        let is_one = warnings.len() == 1 && warnings[0].starts_with(&begins);
        assert!(is_one, "{warnings:?}");
    }
}
