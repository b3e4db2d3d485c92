//! Evaluates every case of `e2e-tests/cases/` with the engine.

use std::collections::BTreeMap;
use std::iter;

use e2e_tests::{Call, Judged, cases};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn every_case_has_the_expected_verdict() {
    let mut wrong = Vec::new();
    let cases = cases();
    for case in &cases {
        if let Some(mistake) = Judged::new(case).mistake() {
            wrong.push(format!("{} ({})\n{mistake}", case.name, case.about));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} cases:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
    assert!(cases.len() >= 100, "only {} cases were found", cases.len());
}

#[test]
fn every_rule_has_a_case_that_fires_and_one_that_is_silent() {
    let mut fires: BTreeMap<&str, usize> = BTreeMap::new();
    let cases = cases();
    for rule in engine::RULES {
        let fired = cases.iter().filter(|case| case.expect.fires(rule.id));
        fires.insert(rule.id, fired.count());
    }
    let never: Vec<_> = fires.iter().filter(|(_, count)| **count == 0).collect();
    assert!(never.is_empty(), "no case fires for {never:?}");
    // Every rule needs a case in which it is silent. The directory with its name holds the near misses.
    for rule in engine::RULES {
        let silent = cases.iter().any(|case| {
            case.name.starts_with(&format!("{}/", rule.id)) && !case.expect.fires(rule.id)
        });
        assert!(silent, "no silent case in e2e-tests/cases/{}", rule.id);
    }
}

/// The policy looks up only the images that HCO reads, that the request changes, and that the settings list.
#[test]
fn no_image_is_looked_up_without_need() {
    for name in [
        "golden-images/absent-and-images",
        "image-architectures-mismatch/import-off",
        "image-architectures-mismatch/not-asked",
        "image-architectures-mismatch/own-template-and-more-nodes",
        "image-architectures-mismatch/registries-not-listed",
        "image-architectures-mismatch/shipped-template",
        "image-architectures-mismatch/shipped-template-and-fewer-nodes",
        "image-architectures-mismatch/update-unchanged",
        "image-unreadable/not-in-a-registry",
        "image-unreadable/digest",
        "image-unreadable/tag-and-digest",
        "images/ignored-template",
        "images/no-nodes-no-look-up",
        "images/update-of-the-placement",
    ] {
        let cases = cases();
        let case = cases.iter().find(|case| case.name == name);
        let calls = Judged::new(case.expect(name)).cluster.calls();
        let is_look_up =
            |call: &Call| matches!(call, Call::Manifest(_) | Call::ManifestAndConfig(_));
        assert!(!calls.iter().any(is_look_up), "{name}: {calls:?}");
    }
}

/// The policy makes one look-up for an image, and one for each image of its index, however many rules and templates
/// need them. Two tags can have the same image, which is looked up for each of them.
#[test]
fn an_image_is_looked_up_once() {
    let is_tag = |call: &Call| matches!(call, Call::Manifest(_));
    for case in cases() {
        let calls = Judged::new(&case).cluster.calls();
        let mut look_ups = calls.clone();
        look_ups.retain(|call| is_tag(call) || matches!(call, Call::ManifestAndConfig(_)));
        assert!(look_ups.len() <= 20, "{}: {calls:?}", case.name);
        let of_tags = look_ups.iter().filter(|call| is_tag(call));
        let of_each = look_ups.chunk_by(|_, next| !is_tag(next));
        for mut calls in iter::once(of_tags.collect::<Vec<_>>())
            .chain(of_each.map(|look_ups| look_ups.iter().collect()))
        {
            let count = calls.len();
            calls.sort_by_key(|call| format!("{call:?}"));
            calls.dedup_by_key(|call| format!("{call:?}"));
            assert_eq!(calls.len(), count, "{}: {calls:?}", case.name);
        }
    }
}
