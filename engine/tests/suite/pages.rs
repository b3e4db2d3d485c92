//! The pages of the rules are executed: the first example raises exactly its rule, the fix raises nothing.

use e2e_tests::{ClusterOf, FakeCluster, pages};
use engine::Report;
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// What every page has, in this order.
const HEADINGS: [&str; 6] = [
    "What it checks",
    "Why it matters",
    "Example that fires",
    "The fix",
    "When to switch it off",
    "Settings",
];

/// The cluster of a page; `unreachable` is one whose host lacks the permission.
fn cluster_of(name: &str) -> FakeCluster {
    if name == "unreachable" {
        return FakeCluster::returning(Err(
            "error invoking host capability kubernetes.list_resources_all: Host error: Policy has not been \
             granted access to Kubernetes v1/Node resources. The violation has been reported."
                .to_owned(),
        ));
    }
    FakeCluster::of(&ClusterOf::Name(name.to_owned()))
}

fn judge(object: &Value, cluster: &str) -> Report {
    let (group, version) = object["apiVersion"]
        .as_str()
        .unwrap()
        .split_once('/')
        .unwrap();
    let payload = json!({"settings": {}, "request": {
        "kind": {"group": group, "version": version, "kind": object["kind"]},
        "operation": "CREATE",
        "object": object,
    }});
    engine::judge(payload.to_string().as_bytes(), &cluster_of(cluster))
}

#[test]
fn the_examples_do_what_their_pages_say() {
    let mut wrong = Vec::new();
    for page in pages() {
        let blocks = page.blocks();
        let mut examples = blocks
            .iter()
            .filter_map(|(info, text)| Some((info.strip_prefix("yaml cluster=")?, text)))
            .map(|(cluster, text)| {
                let object: Value =
                    yaml_serde::from_str(text).unwrap_or_else(|e| panic!("{}: {e}", page.id));
                let report = judge(&object, cluster);
                let mut fired: Vec<&str> =
                    report.findings.iter().map(|finding| finding.rule).collect();
                fired.dedup();
                (fired, report.message)
            });
        let mut wanted = vec![page.id.as_str()];
        wanted.extend(page.fires_with());
        match examples.next() {
            Some((fired, _)) if fired == wanted => {}
            other => wrong.push(format!("{}: the example raises {other:?}", page.id)),
        }
        match examples.next() {
            Some((fired, _)) if fired.is_empty() => {}
            other => wrong.push(format!("{}: the fix raises {other:?}", page.id)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_settings_of_the_pages_are_valid() {
    for page in pages() {
        for (_, text) in page
            .blocks()
            .iter()
            .filter(|(info, _)| *info == "yaml settings")
        {
            let settings: Value = yaml_serde::from_str(text).unwrap();
            engine::validate_settings(settings.to_string().as_bytes())
                .unwrap_or_else(|mistakes| panic!("{}: {mistakes}", page.id));
        }
    }
}

#[test]
fn every_page_has_the_same_headings() {
    for page in pages() {
        let headings: Vec<&str> = page
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("## "))
            .collect();
        assert_eq!(headings, HEADINGS, "{}", page.id);
        assert!(
            page.summary().len() <= 140,
            "{}: {}",
            page.id,
            page.summary()
        );
    }
}
