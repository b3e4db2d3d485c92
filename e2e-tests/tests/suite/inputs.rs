//! The cases, the `CustomResourceDefinitions` of others, and the policy without Kubewarden.

use std::collections::BTreeSet;
use std::fs::{read_dir, read_to_string};
use std::path::Path;

use e2e_tests::{Arrival, Case, cases, crd};
use engine::KNOWN_ARCHITECTURES;

#[test]
fn few_cases_differ_on_an_api_server_and_each_says_why() {
    let differs = |case: &Case| matches!(case.apiserver, Arrival::Differs(_));
    let number = cases().iter().filter(|case| differs(case)).count();
    assert!(number <= 40, "{number}");
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let files = read_dir(directory).unwrap();
    let texts = files.filter_map(|file| read_to_string(file.unwrap().path()).ok());
    let reasons = texts.map(|text| {
        let lines = text.lines().zip(text.lines().skip(1));
        lines
            .filter(|(above, line)| above.starts_with("# ") && *line == "apiserver:")
            .count()
    });
    assert_eq!(reasons.sum::<usize>(), number);
}

#[test]
fn each_file_has_its_source_and_each_source_its_file() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    let readme = read_to_string(directory.join("README.md")).unwrap();
    let rows: BTreeSet<&str> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name)
        .collect();
    let files: BTreeSet<String> = read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|file| file.strip_suffix(".yaml.gz").map(str::to_owned))
        .collect();
    assert_eq!(rows, files.iter().map(String::as_str).collect());
    for name in rows {
        assert!(
            crd(name).contains("\nkind: CustomResourceDefinition\n"),
            "{name}"
        );
    }
}

/// The policy of the API server has its own copy of the list.
#[test]
fn the_guard_without_kubewarden_knows_the_same_architectures() {
    let policy = include_str!("../../../deploy/without-kubewarden/base/policy.yaml");
    let policy: Vec<&str> = policy.split_whitespace().collect();
    let list = KNOWN_ARCHITECTURES.map(|name| format!("'{name}'"));
    let list = format!("[{}]", list.join(", "));
    assert!(policy.join(" ").contains(&list), "{list}");
}
