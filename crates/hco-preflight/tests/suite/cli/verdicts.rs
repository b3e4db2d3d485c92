//! `check`: the objects, nodes, settings, and modules of a check.

use rstest::rstest;

use super::transcripts::{compare, shown};
use super::{Run, command, file, run, run_of, run_with, scratch, written};

#[test]
fn the_standard_input_is_a_manifest_like_any_other() {
    let words = "check -f - --arch amd64=3,arm64=2";
    let manifest = "kind: HyperConverged\napiVersion: hco.kubevirt.io/v1\n";
    compare("other-stdin", &shown(words, &run_with(words, manifest)));
}

#[test]
fn the_nodes_can_come_from_the_standard_input() {
    run_with("check -f denied.yaml --nodes -", &file("nodes.yaml")).exits(1);
}

/// The embedded module also counts as this project's module if it is read from a file.
#[test]
fn a_module_that_reports_is_shown_by_its_findings() {
    let module = written("policy.wasm", policy_host::Policy::embedded_module());
    let words = "check -f denied.yaml --nodes nodes.yaml";
    let own = run(words).exits(1);
    let read = run(&format!("{words} --policy {module}"));
    assert_eq!(read.result(), own.result());
}

#[rstest]
#[case::by_word("--color always", &[], true)]
#[case::forced("", &[("CLICOLOR_FORCE", "1")], true)]
#[case::no_terminal("", &[], false)]
#[case::no_color("", &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], false)]
#[case::not_by_word("--color never", &[("CLICOLOR_FORCE", "1")], false)]
fn colour_is_there_when_it_is_wanted(
    #[case] words: &str,
    #[case] variables: &[(&str, &str)],
    #[case] is_wanted: bool,
) {
    let mut command = command();
    command.envs(variables.iter().copied());
    let words = format!("check -f warned.yaml --nodes nodes.yaml {words}");
    let printed = run_of(command, words.split_whitespace()).stdout;
    let is_first = printed.starts_with("\u{1b}[1m\u{1b}[32m✔ accepted");
    assert_eq!(is_first, is_wanted, "{printed:?}");
    assert_eq!(printed.contains('\u{1b}'), is_wanted, "{printed:?}");
}

#[test]
fn prose_keeps_to_the_width_and_values_stay_whole() {
    let words = "check -f denied.yaml --nodes nodes.yaml";
    let mut command = command();
    command.env("COLUMNS", "60");
    let run = run_of(command, words.split(' '));
    compare("other-narrow", &shown(words, &run));
}

/// `hco-preflight check … | head -1`.
#[test]
fn a_reader_that_has_read_enough_changes_no_verdict() {
    use std::process::Stdio;
    let mut command = command();
    command.args(["check", "-f", "denied.yaml", "--nodes", "nodes.yaml"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stderr, b"");
}

/// Other files of a repository, and a mounted `ConfigMap`, whose files exist three times.
#[test]
fn files_that_are_no_manifests_are_skipped() {
    let root = scratch();
    let write = |name: &str, text: &str| std::fs::write(root.join(name), text).unwrap();
    std::fs::create_dir(root.join("..2026")).unwrap();
    write("..2026/hco.yaml", &file("accepted.yaml"));
    std::os::unix::fs::symlink("..2026", root.join("..data")).unwrap();
    std::os::unix::fs::symlink("..data/hco.yaml", root.join("hco.yaml")).unwrap();
    write("patch.yaml", "- {op: remove, path: /spec}");
    std::fs::create_dir(root.join("templates")).unwrap();
    write("Chart.yaml", "name: chart");
    write("templates/a.yaml", "{{ include }}: [");
    let path = root.display();
    let check = || -> Run { run(&format!("check -R -f {path} --arch amd64=3")) };
    let templates = "templates of Helm charts; to check them, pipe `helm template CHART` to -f -";
    check()
        .exits(0)
        .prints(&["\n1 object: "])
        .notes(&format!(
            "note: skipped {templates}: {path}/templates/a.yaml\n"
        ))
        .notes(&format!(
            "note: skipped documents that are not objects: {path}/patch.yaml:1\n"
        ));
    let deep = format!("a: {}{}", "[".repeat(101), "]".repeat(101));
    for text in [
        // A template that names the kind.
        "kind: HyperConverged\n{{ include }}: [",
        "a: [\n---\nkind: \"Hyper\\x43onverged\"\n",
        "kind: \"Hyper\\x43onverged\"\n---\na: [\n",
        "apiVersion: hco.kubevirt.io/v1\nkind: \"Hyper\\\n  Converged\" # {{ x }}\nspec: 1\n---\na: [\n",
        &deep,
    ] {
        write("chart.yaml", text);
        assert_eq!(check().code, 2, "{text}");
    }
}

/// The API server sets the deletion timestamp, and only HCO writes the status.
#[test]
fn what_the_api_server_sets_is_not_taken_from_a_file() {
    let metadata = "\nmetadata:\n";
    let deleted = format!("{metadata}  deletionTimestamp: \"2026-01-01T00:00:00Z\"\n  uid: u\n");
    let status =
        "status: {relatedObjects: [{kind: KubeVirt, name: a, apiVersion: kubevirt.io/v1}]}";
    let text = file("denied.yaml").replacen(metadata, &deleted, 1);
    for text in [text.clone(), format!("{text}{status}\n")] {
        let check = run_with("check -f - --arch amd64=3,arm64=2", &text);
        check.exits(1).prints(&["multi-arch-import-disabled"]);
    }
}

/// The API server drops these fields with a warning at most.
#[rstest]
#[case::of_v1beta1(
    "v1",
    "spec: {workloads: {}}",
    "spec.workloads has no effect: it is a field of v1beta1, and the API server drops it; write spec.deployment.nodePlacements.workload"
)]
#[case::of_v1(
    "v1beta1",
    "spec: {workloadSources: {enableMultiArchBootImageImport: true}}",
    "write spec.featureGates.enableMultiArchBootImageImport"
)]
#[case::beside_spec(
    "v1beta1",
    "spec:\nfeatureGates: {enableMultiArchBootImageImport: true}",
    "featureGates has no effect: it stands beside spec, and the API server drops it; write spec.featureGates"
)]
fn fields_that_the_api_server_drops_are_named(
    #[case] version: &str,
    #[case] fields: &str,
    #[case] note: &str,
) {
    let text = format!(
        "apiVersion: hco.kubevirt.io/{version}\nkind: HyperConverged\nmetadata: {{name: kubevirt-hyperconverged}}\n{fields}\n"
    );
    let path = written("hco.yaml", text);
    run(&format!("check -f {path} --arch amd64=3")).notes(note);
}
