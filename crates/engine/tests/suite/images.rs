//! Output about images beside the findings: the fix, and the look-ups that were not made.

use e2e_tests::{Call, Case, Judged, cases};
use engine::{Fix, Report};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn case(name: &str) -> Case {
    let cases = cases();
    let case = cases.into_iter().find(|case| case.name == name);
    case.expect(name)
}

/// The report of a case, without the finding about the version of HCO, which these cases do not state.
fn report(name: &str) -> Report {
    without_preview(Judged::new(&case(name)).report)
}

fn without_preview(mut report: Report) -> Report {
    let rule = "import-is-preview";
    report.findings.retain(|finding| finding.rule != rule);
    report.warnings.retain(|line| !line.contains(rule));
    report
}

/// The value that a fix writes last.
fn value(remedy: &Fix) -> Option<String> {
    let operation = remedy.patch.last()?;
    let value = serde_json::to_value(operation.value.as_ref()?).unwrap();
    match value {
        Value::String(text) => Some(text),
        // An annotation in a map that was missing.
        Value::Object(map) => map.values().next()?.as_str().map(str::to_owned),
        _ => None,
    }
}

const SET: &str = "set the annotation to the architectures of the image";
const ANOTHER: &str = "use an image that supports amd64, arm64; this one supports only";

/// For a case and a rule: the beginning of the first fix's summary, and the annotation that the fix sets.
const REMEDIES: [(&str, &str, &str, Option<&str>); 16] = [
    (
        "images/missing-annotation",
        "architectures-missing",
        SET,
        Some("amd64"),
    ),
    (
        "images/partial-but-supported",
        "architectures-partial",
        SET,
        Some("amd64,arm64"),
    ),
    (
        "images/partial-as-the-image",
        "architectures-partial",
        ANOTHER,
        None,
    ),
    (
        "images/unsupported",
        "architectures-unsupported",
        SET,
        Some("amd64,arm64"),
    ),
    (
        "images/unsupported",
        "image-architectures-mismatch",
        SET,
        Some("amd64,arm64"),
    ),
    (
        "image-architectures-mismatch/lists-more",
        "image-architectures-mismatch",
        SET,
        Some("amd64"),
    ),
    (
        "image-architectures-mismatch/malformed-too",
        "architectures-malformed",
        SET,
        Some("amd64"),
    ),
    (
        "image-architectures-mismatch/malformed-and-lacking",
        "architectures-malformed",
        SET,
        Some("amd64"),
    ),
    (
        "image-architectures-mismatch/malformed-and-lacking",
        "image-architectures-mismatch",
        SET,
        Some("amd64"),
    ),
    (
        "image-architectures-mismatch/no-node-can-run-it",
        "image-architectures-mismatch",
        "use an image that supports amd64, arm64, or, if no VM runs on the other nodes, place the workloads on nodes that this image supports (s390x)",
        None,
    ),
    (
        "image-architectures-mismatch/no-node-has-it",
        "image-architectures-mismatch",
        SET,
        Some("amd64,arm64"),
    ),
    (
        "image-architectures-mismatch/sparse-index",
        "image-architectures-mismatch",
        SET,
        Some("amd64"),
    ),
    (
        "image-architectures-mismatch/contradicting-configuration",
        "image-architectures-mismatch",
        SET,
        Some("amd64"),
    ),
    // The list in the index is not enough to recommend it.
    (
        "image-architectures-mismatch/sparse-of-what-is-missing",
        "architectures-partial",
        ANOTHER,
        None,
    ),
    (
        "image-architectures-mismatch/sparse-index-of-all",
        "image-architectures-mismatch",
        "use an image that supports amd64, arm64",
        None,
    ),
    (
        "image-architectures-mismatch/no-workload-nodes",
        "image-architectures-mismatch",
        SET,
        Some("amd64"),
    ),
];

/// The recommended fix follows the image, whichever rule recommends it.
#[test]
fn the_fix_is_what_the_image_supports() {
    for (name, rule, summary, annotation) in REMEDIES {
        let report = report(name);
        let mut findings = report.findings.iter();
        let finding = findings.find(|finding| finding.rule == rule).expect(name);
        let remedy = &finding.fixes[0];
        assert!(remedy.summary.starts_with(summary), "{name}: {remedy:#?}");
        assert_eq!(value(remedy).as_deref(), annotation, "{name}");
        assert_eq!(remedy.complete, annotation.is_some(), "{name}");
    }
}

/// Enabling the import is complete if it sets the annotation to the architectures that the image supports.
#[test]
fn the_import_is_enabled_with_the_annotations_of_the_images() {
    let report = report("image-architectures-mismatch/import-off-mixed");
    let remedy = &report.findings[0].fixes[0];
    assert!(remedy.complete, "{remedy:#?}");
    assert_eq!(value(remedy).as_deref(), Some("amd64"));
}

/// An image that is not imported now does not fail now.
#[test]
fn the_fact_tells_when_the_import_fails() {
    for (name, end) in [
        ("lists-more", ": the import fails."),
        (
            "no-node-can-run-it",
            ": no VM can boot from the golden image.",
        ),
        (
            "no-node-has-it",
            ": the import fails as soon as a node with such an architecture joins.",
        ),
    ] {
        let report = report(&format!("image-architectures-mismatch/{name}"));
        let fact = &report.findings[0].fact;
        assert!(fact.ends_with(end), "{name}: {fact}");
    }
}

/// Why the repair `from-image` cannot be made.
#[test]
fn an_image_that_does_not_help_is_an_obstacle() {
    let case = case("images/missing-annotation-repaired");
    for (image, registries, why) in [
        (
            json!(["s390x"]),
            json!(null),
            "no workload node can run its image",
        ),
        (
            json!({"fails": "manifest unknown"}),
            json!(null),
            "its image cannot be read",
        ),
        (
            json!(["amd64"]),
            json!(["quay.io"]),
            "its image was not looked up",
        ),
    ] {
        let mut case = case.clone();
        case.images = serde_json::from_value(json!({"*": image})).unwrap();
        let mut payload: Value = serde_json::from_slice(&case.payload()).unwrap();
        payload["settings"]["registries"] = registries;
        let report = engine::report(payload.to_string().as_bytes(), &case.host());
        let obstacle = format!(
            "The repair from-image of architectures-missing was not applied: template `my-image`: {why}."
        );
        let message = report.message.unwrap_or_default();
        assert!(message.contains(&obstacle), "{message}");
    }
}

/// The index promises an image for arm64. The message shows the difference, and the user can mirror the image.
#[test]
fn the_difference_between_an_index_and_its_images_is_reported() {
    for (name, fact, is_mirrored) in [
        (
            "sparse-index",
            "supports only amd64 (listed, but not in the registry: arm64): the import fails.",
            true,
        ),
        (
            "sparse-index-of-all",
            "supports no architecture (listed, but not in the registry: amd64, arm64), but the workload nodes report amd64, arm64: no VM can boot from the golden image.",
            true,
        ),
        (
            "contradicting-configuration",
            "supports only amd64 (arm64 is listed, but its configuration says `amd64`): the import fails.",
            false,
        ),
    ] {
        let report = report(&format!("image-architectures-mismatch/{name}"));
        let finding = &report.findings[0];
        assert!(finding.fact.ends_with(fact), "{name}: {}", finding.fact);
        let mirror = "mirror all images that the index lists";
        let has_mirror = finding.fixes.iter().any(|remedy| remedy.summary == mirror);
        assert_eq!(has_mirror, is_mirrored, "{name}: {finding:#?}");
    }
}

/// The index of an image, then the image of each architecture that a workload node has, by digest.
#[test]
fn the_images_of_an_index_are_looked_up_in_order() {
    let case = case("image-architectures-mismatch/sparse-on-other-nodes");
    let host = case.host();
    engine::evaluate(&case.payload(), &host);
    let calls = host.calls();
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

/// After a repair, the policy evaluates the request again with the answers that the registry has already given.
#[test]
fn a_repair_needs_no_more_look_ups() {
    for (name, count) in [
        ("image-architectures-mismatch/sparse-repaired", 3),
        ("images/missing-annotation-repaired-sparse", 3),
    ] {
        let case = case(name);
        let host = case.host();
        engine::evaluate(&case.payload(), &host);
        assert_eq!(host.calls().len(), 1 + count, "{name}: {:?}", host.calls());
    }
}

#[test]
fn an_image_without_a_tag_is_the_latest_one() {
    let case = case("images/latest-is-the-default-tag");
    let host = case.host();
    engine::evaluate(&case.payload(), &host);
    assert_eq!(host.calls().len(), 1 + 3, "{:?}", host.calls());
}

#[test]
fn what_was_not_looked_up_is_a_warning() {
    for (name, warning) in [
        (
            "images/more-than-20-lookups",
            "6 images were not checked: a request makes at most 20 lookups.",
        ),
        (
            "image-architectures-mismatch/registries-not-listed",
            "Images at `registry.example.com` were not checked: the setting registries does not list the host.",
        ),
        (
            "image-unreadable/not-in-a-registry",
            "Images of templates `my-image` were not checked: the source has no docker:// URL.",
        ),
    ] {
        let warnings = report(name).warnings;
        assert_eq!(warnings.last().map(String::as_str), Some(warning), "{name}");
    }
    for name in [
        "image-architectures-mismatch/lists-the-same",
        "images/ignored-template",
    ] {
        let report = report(name);
        assert!(report.warnings.is_empty(), "{name}: {report:#?}");
    }
}

#[test]
fn one_image_too_many_is_counted_as_one() {
    let case = case("images/more-than-20-lookups");
    let mut payload: Value = serde_json::from_slice(&case.payload()).unwrap();
    let templates = &mut payload["request"]["object"]["spec"]["dataImportCronTemplates"];
    templates.as_array_mut().unwrap().truncate(7);
    let report = engine::evaluate(payload.to_string().as_bytes(), &case.host());
    let report = without_preview(report);
    let warning = "1 image was not checked: a request makes at most 20 lookups.";
    assert_eq!(report.warnings, [warning]);
}

/// An image with a digest is not looked up, so it does not use up a look-up.
#[test]
fn an_image_with_a_digest_is_no_look_up() {
    let case = case("images/more-than-20-lookups");
    let mut payload: Value = serde_json::from_slice(&case.payload()).unwrap();
    let templates = &mut payload["request"]["object"]["spec"]["dataImportCronTemplates"];
    let templates = templates.as_array_mut().unwrap();
    templates.truncate(7);
    let digest = format!("docker://registry.example.com/a@sha256:{}", "0".repeat(64));
    templates[6]["spec"]["template"]["spec"]["source"]["registry"]["url"] = digest.into();
    let host = case.host();
    let report = without_preview(engine::evaluate(payload.to_string().as_bytes(), &host));
    assert_eq!(host.calls().len(), 1 + 6 * 3);
    let rules: Vec<&str> = report
        .findings
        .iter()
        .map(|finding| &*finding.rule)
        .collect();
    assert_eq!(rules, ["image-unreadable"]);
    assert!(report.not_checked.is_empty(), "{report:#?}");
}

/// Which images are looked up, and in which order, does not depend on the order of the templates.
#[test]
fn the_same_images_are_looked_up_in_any_order() {
    let case = case("images/more-than-20-lookups");
    let asked = |object: &Value| {
        let mut payload: Value = serde_json::from_slice(&case.payload()).unwrap();
        payload["request"]["object"] = object.clone();
        let host = case.host();
        engine::evaluate(payload.to_string().as_bytes(), &host);
        let calls = host.calls();
        calls
            .into_iter()
            .map(|call| format!("{call:?}"))
            .collect::<Vec<_>>()
    };
    let object = case.request()["object"].clone();
    let mut reversed = object.clone();
    let templates = &mut reversed["spec"]["dataImportCronTemplates"];
    templates.as_array_mut().unwrap().reverse();
    let calls = asked(&object);
    assert_eq!(calls.len(), 1 + 6 * 3);
    assert_eq!(asked(&reversed), calls);
}
