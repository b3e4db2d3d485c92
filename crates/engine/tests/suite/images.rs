//! Images: which ones the policy looks up, and why a repair by the image was not applied.

use e2e_tests::{Call, Case, cases};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::payload;

fn case(name: &str) -> Case {
    let cases = cases();
    let case = cases.into_iter().find(|case| case.name == name);
    case.expect(name)
}

/// The calls to the cluster for this payload: the nodes, and the images.
fn calls(case: &Case, payload: &[u8]) -> Vec<Call> {
    let host = case.host();
    engine::validate(payload, &host);
    host.calls()
}

/// Why the repair `from-image` cannot be made.
#[test]
fn an_image_that_does_not_help_is_an_obstacle() {
    let mut case = case("images/missing-annotation-repaired");
    for (image, registry, why) in [
        (
            json!(["s390x"]),
            "registry.example.com",
            "no workload node can run its image",
        ),
        (
            json!({"fails": "manifest unknown"}),
            "registry.example.com",
            "its image cannot be read",
        ),
        (json!(["amd64"]), "quay.io", "its image was not looked up"),
    ] {
        case.images = serde_json::from_value(json!({"*": image})).unwrap();
        let mut settings = case.settings();
        settings["registries"] = json!([registry]);
        let report = engine::report(&payload(&case.request(), &settings), &case.host());
        let obstacle = format!(
            "The repair from-image of architectures-missing was not applied: template `my-image`: {why}."
        );
        let message = report.message.unwrap_or_default();
        assert!(message.contains(&obstacle), "{message}");
    }
}

/// Hosts write the URL first and the cause last.
#[test]
fn the_reason_why_an_image_is_unreadable_is_one_line_of_its_end() {
    let mut case = case("image-unreadable/denied");
    for (reason, shown) in [
        (" a\n\tb ".to_owned(), "(a b)".to_owned()),
        (
            format!("{}manifest unknown", "x".repeat(200)),
            format!("…{}manifest unknown)", "x".repeat(104)),
        ),
        // Escapes are longer than the characters that they represent.
        ("\u{1}".repeat(40), format!("({})", "\\u{1}".repeat(40))),
    ] {
        case.images = serde_json::from_value(json!({"*": {"fails": reason}})).unwrap();
        let report = engine::report(&case.payload(), &case.host());
        let mut findings = report.findings.iter();
        let finding = findings.find(|finding| finding.rule == "image-unreadable");
        let fact = &finding.unwrap().fact;
        assert!(fact.contains(&shown), "{fact}");
    }
}

/// The index of an image, then the image of each architecture that a workload node has, by digest.
#[test]
fn the_images_of_an_index_are_looked_up_in_order() {
    let case = case("image-architectures-mismatch/sparse-on-other-nodes");
    let calls = calls(&case, &case.payload());
    let [
        _,
        Call::Manifest(index),
        Call::ManifestAndConfig(amd64),
        Call::ManifestAndConfig(arm64),
    ] = calls.as_slice()
    else {
        panic!("{calls:?}");
    };
    assert_eq!(index, "registry.example.com/my-image:1");
    let is_entry = |image: &String| image.starts_with("registry.example.com/my-image@sha256:");
    assert!(
        is_entry(amd64) && is_entry(arm64) && amd64 != arm64,
        "{calls:?}"
    );
}

/// The payload of the case with more than 20 lookups, after a change of its templates.
fn many(case: &Case, change: impl Fn(&mut Vec<Value>)) -> Vec<u8> {
    let mut request = case.request();
    let templates = &mut request["object"]["spec"]["dataImportCronTemplates"];
    change(templates.as_array_mut().unwrap());
    payload(&request, &case.settings())
}

#[test]
fn images_beyond_the_limit_are_not_looked_up() {
    let case = case("images/more-than-20-lookups");
    let digest = format!("docker://registry.example.com/a@sha256:{}", "0".repeat(64));
    let one_too_many = many(&case, |templates| templates.truncate(7));
    let with_digest = many(&case, |templates| {
        templates.truncate(7);
        templates[6]["spec"]["template"]["spec"]["source"]["registry"]["url"] = json!(digest);
    });
    // An image with a digest is not looked up, so it does not count.
    for (payload, not_checked) in [
        (
            one_too_many,
            Some("1 image was not checked: a request makes at most 20 lookups."),
        ),
        (with_digest, None),
    ] {
        assert_eq!(calls(&case, &payload).len(), 1 + 6 * 3);
        let report = engine::validate(&payload, &case.host());
        let mut warnings = report.warnings.iter();
        let warning = warnings.find(|line| !line.starts_with('['));
        assert_eq!(warning.map(String::as_str), not_checked);
        assert_eq!(report.not_checked.is_empty(), not_checked.is_none());
    }
}

/// The order of the templates does not decide which images are looked up, and in which order.
#[test]
fn the_same_images_are_looked_up_in_any_order() {
    let case = case("images/more-than-20-lookups");
    let reversed = many(&case, |templates| templates.reverse());
    let calls = calls(&case, &case.payload());
    assert_eq!(calls.len(), 1 + 6 * 3);
    assert_eq!(self::calls(&case, &reversed), calls);
}
