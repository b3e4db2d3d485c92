//! The pages of the rules are executed: each example raises exactly its rule, each fix raises nothing.

use std::collections::{BTreeMap, BTreeSet};

use e2e_tests::{ClusterOf, FakeCluster, Images, ONLY_IN_FILES, Objects, Page, pages};
use engine::{ComparesNodes, RULES, Report};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// What every page has, in this order: readers need the fix first.
const HEADINGS: [&str; 6] = [
    "The fix",
    "What it checks",
    "Why it matters",
    "Example that fires",
    "When to switch it off",
    "Settings",
];

/// The cluster of a page; `unreachable` is one whose host lacks the permission.
fn cluster_of(name: &str) -> FakeCluster {
    if name == "unreachable" {
        let error = |resource: &str| {
            format!(
                "error invoking host capability kubernetes.list_resources_all: Host error: Policy has not been granted \
                 access to Kubernetes {resource} resources. The violation has been reported."
            )
        };
        let unreadable = [("KubeVirt".to_owned(), error("kubevirt.io/v1/KubeVirt"))];
        let objects = Objects::default().with(&[], &unreadable.into());
        return FakeCluster::returning(Err(error("v1/Node"))).with_objects(objects);
    }
    FakeCluster::of(&ClusterOf::Name(name.to_owned()))
}

/// Judges an object on a cluster. With `image=amd64,arm64` its images are looked up and support these architectures,
/// with `image=unreadable` they cannot be read. With an object before it, it is an update.
fn judge(object: &Value, before: Option<&Value>, info: &str) -> Report {
    let (cluster, image) = match info.split_once(" image=") {
        Some((cluster, image)) => (cluster, Some(image)),
        None => (info, None),
    };
    let settings = image.map_or(json!({}), |_| json!({"images": "verify"}));
    let images = match image {
        Some("unreadable") | None => Images::any(&[]),
        Some(names) => Images::any(&names.split(',').collect::<Vec<_>>()),
    };

    let (group, version) = object["apiVersion"]
        .as_str()
        .unwrap()
        .split_once('/')
        .unwrap();
    let payload = json!({"settings": settings, "request": {
        "kind": {"group": group, "version": version, "kind": object["kind"]},
        "operation": before.map_or("CREATE", |_| "UPDATE"),
        "object": object,
        "oldObject": before,
    }});
    engine::evaluate(
        payload.to_string().as_bytes(),
        &cluster_of(cluster).with_images(images),
    )
}

/// The objects before an update, by API version: the blocks `yaml before`.
fn before(page: &Page) -> BTreeMap<String, Value> {
    let blocks = page.blocks();
    let blocks = blocks.iter().filter(|(info, _)| *info == "yaml before");
    blocks
        .map(|(_, text)| {
            let object: Value = yaml_serde::from_str(text).expect(&page.id);
            (object["apiVersion"].as_str().unwrap().to_owned(), object)
        })
        .collect()
}

/// The examples below a heading: the API version and the rules that fire, both in the order of the page. If the page shows
/// an object before an update, its examples are updates of it.
fn examples(page: &Page, heading: &str) -> Vec<(String, BTreeSet<&'static str>)> {
    let before = before(page);
    let section = page.section(heading);
    let blocks = section.blocks();
    let examples = blocks
        .iter()
        .filter_map(|(info, text)| Some((info.strip_prefix("yaml cluster=")?, text)));
    examples
        .map(|(cluster, text)| {
            let object: Value = yaml_serde::from_str(text).expect(&page.id);
            let version = object["apiVersion"].as_str().unwrap_or_default();
            let findings = judge(&object, before.get(version), cluster).findings;
            let rules = findings.iter().map(|finding| finding.rule).collect();
            (version.replace("hco.kubevirt.io/", ""), rules)
        })
        .collect()
}

#[test]
fn the_examples_do_what_their_headings_say() {
    for page in pages() {
        let all: BTreeSet<&str> = [page.id.as_str()]
            .into_iter()
            .chain(page.fires_with())
            .collect();
        for (heading, wanted) in [("Example that fires", all), ("The fix", BTreeSet::new())] {
            for (version, fired) in examples(&page, heading) {
                assert_eq!(fired, wanted, "{}, {heading}, {version}", page.id);
            }
        }
    }
}

#[test]
fn the_examples_show_v1beta1_first_and_fold_v1() {
    for page in pages().iter().filter(|page| page.id != ONLY_IN_FILES) {
        let wanted = match page.only_in() {
            Some(version) => vec![version],
            None => vec!["v1beta1", "v1"],
        };
        for heading in ["Example that fires", "The fix"] {
            let examples = examples(page, heading);
            let mut versions: Vec<&str> = examples
                .iter()
                .map(|(version, _)| version.as_str())
                .collect();
            versions.dedup();
            assert!(
                !versions.is_empty() && wanted.starts_with(&versions),
                "{}, {heading}: {versions:?}",
                page.id
            );
        }
        if page.only_in().is_none() {
            folds_what_few_readers_have(page);
        }
    }
}

/// Objects in v1, and nothing else, are folded, below the first version of HCO that accepts all of their fields.
fn folds_what_few_readers_have(page: &Page) {
    let mut summary = None;
    let mut version = "";
    for line in page.text.lines() {
        let opens = line.strip_prefix("<details><summary>");
        match (line, opens) {
            (_, Some(rest)) => summary = Some(rest.trim_end_matches("</summary>")),
            ("</details>", _) => summary = None,
            _ => {}
        }
        version = line.strip_prefix("apiVersion: ").unwrap_or(version);
        let place = format!("{}: {line} below {summary:?}", page.id);
        match line {
            "apiVersion: hco.kubevirt.io/v1" => {
                assert!(
                    summary.is_some_and(|it| it.starts_with("In v1 (HCO 1.1")),
                    "{place}"
                );
            }
            "apiVersion: hco.kubevirt.io/v1beta1" => assert_eq!(summary, None, "{place}"),
            "    enableMultiArchBootImageImport: true" if version == "hco.kubevirt.io/v1" => {
                assert_eq!(summary, Some("In v1 (HCO 1.19 and later)"), "{place}");
            }
            _ => {}
        }
    }
    assert_eq!(summary, None, "{}: <details> is not closed", page.id);
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
        assert_eq!(
            headings, HEADINGS,
            "left: the sections of {}.md, right: those that each page has",
            page.id
        );
        let summary = page.summary();
        // It stands in tables and forms.
        assert!(
            summary.len() <= 140 && !summary.contains('\n') && !summary.ends_with('.'),
            "{}: {summary}",
            page.id
        );
    }
}

/// What the operators behind HCO do depends on their versions, so the reader has to know from which one the page holds.
#[test]
fn a_page_about_the_operators_behind_hco_names_their_versions() {
    for rule in RULES {
        let is_forecast = [ComparesNodes::Always, ComparesNodes::ForUpdates];
        let is_about_operators = rule.is_about_images || is_forecast.contains(&rule.compares_nodes);
        if !is_about_operators && rule.id != "default-architecture-changes" {
            continue;
        }
        let pages = pages();
        let page = pages.iter().find(|page| page.id == rule.id).unwrap();
        let (head, _) = page.text.split_once("\n## ").unwrap();
        let line = head
            .lines()
            .find_map(|line| line.strip_prefix("Applies to: HCO 1."))
            .unwrap_or_else(|| panic!("{}: no line `Applies to: HCO 1.`", rule.id));
        let names = ["SSP 0.", "CDI 1.", "KubeVirt 1."];
        assert!(
            names.iter().any(|name| line.contains(name)),
            "{}: the version of no operator behind HCO: {line}",
            rule.id
        );
    }
}
