//! `check`: the objects, nodes, settings, and modules of a check.

use rstest::{Context, rstest};

use super::{check, command, compare, run_with, scratch, shown};

#[rstest]
#[case::accepted("check -f accepted.yaml --nodes nodes.yaml", 0)]
#[case::denied("check -f denied.yaml --nodes nodes.yaml", 1)]
#[case::warned("check -f warned.yaml --arch amd64=3,arm64=2", 0)]
#[case::undecodable("check -f undecodable.yaml --arch amd64=3", 2)]
#[case::json("check -f manifest.json --arch amd64=1", 0)]
#[case::several_documents("check -f several.yaml --nodes nodes.yaml", 1)]
#[case::several_files("check -f accepted.yaml -f denied.yaml --nodes nodes.yaml", 1)]
#[case::directory("check -f chart --nodes nodes.yaml", 1)]
#[case::directories_below("check -R -f chart --nodes nodes.yaml", 2)]
#[case::examples(
    "check -f ../../../../deploy/examples -f policies.yaml -f several.yaml --nodes ../../../../deploy/examples/mixed-nodes.yaml",
    1
)]
#[case::quiet("check -q -f several.yaml --nodes nodes.yaml", 1)]
#[case::many_templates("check -f many.yaml --nodes nodes.yaml", 0)]
#[case::made_up_nodes("check -f denied.yaml --arch amd64=3", 0)]
#[case::joined_by("check -f denied.yaml --arch amd64=3 --what-if arm64=2", 1)]
#[case::old("check -f denied.yaml --nodes nodes.yaml --old old.yaml", 0)]
#[case::old_of_another_name("check -f several.yaml --nodes nodes.yaml --old old.yaml -q", 1)]
#[case::new_beside_the_old("check -f other.yaml --nodes nodes.yaml --old old.yaml", 0)]
#[case::old_of_another_version("check -f accepted.yaml --nodes nodes.yaml --old old.yaml", 2)]
#[case::settings("check -f denied.yaml --nodes nodes.yaml --settings settings.yaml", 0)]
#[case::settings_of_the_policy("check -f denied.yaml --nodes nodes.yaml --settings policy.yaml", 0)]
#[case::repair("check -f denied.yaml --nodes nodes.yaml --settings repair.yaml", 0)]
#[case::fail_on_warn("check -f warned.yaml --nodes nodes.yaml --fail-on warn", 1)]
#[case::fail_never("check -f denied.yaml --nodes nodes.yaml --fail-on never", 0)]
#[case::never_but_unjudged("check -f broken.yaml --nodes nodes.yaml --fail-on never", 2)]
#[case::empty("check -f nodes.yaml --nodes nodes.yaml", 2)]
#[case::empty_allowed("check -f nodes.yaml --nodes nodes.yaml --allow-empty", 0)]
#[case::empty_allowed_in_json("check -f nodes.yaml --nodes nodes.yaml --allow-empty -o json", 0)]
#[case::broken_is_not_empty("check -f broken.yaml --nodes nodes.yaml --allow-empty", 2)]
fn the_output_is_as_reviewed(#[case] words: &str, #[case] code: i32, #[context] context: Context) {
    let name = context.description.unwrap();
    check(&format!("check-{name}"), words, code);
}

#[test]
fn the_standard_input_is_a_manifest_like_any_other() {
    let words = "check -f - --arch amd64=3,arm64=2";
    let output = run_with(
        words,
        "kind: HyperConverged\napiVersion: hco.kubevirt.io/v1\n",
    );
    compare("check-stdin", &shown(words, &output));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_nodes_can_come_from_the_standard_input() {
    let nodes = std::fs::read_to_string(super::files().join("nodes.yaml")).unwrap();
    let output = run_with("check -f denied.yaml --nodes -", &nodes);
    assert_eq!(output.status.code(), Some(1));
}

/// The embedded module also counts as this project's module if it is read from a file.
#[test]
fn a_module_that_reports_is_shown_by_its_findings() {
    let module = scratch("own-module").join("policy.wasm");
    std::fs::write(&module, policy_host::Policy::embedded_module()).unwrap();
    let mut command = command();
    command.args([
        "check",
        "-f",
        "denied.yaml",
        "--nodes",
        "nodes.yaml",
        "--policy",
    ]);
    let output = command.arg(&module).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let own = super::run("check -f denied.yaml --nodes nodes.yaml");
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(own.stdout).unwrap()
    );
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
    command.args("check -f warned.yaml --nodes nodes.yaml".split(' '));
    command.args(words.split_whitespace());
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        printed.starts_with("\u{1b}[1m\u{1b}[32m✔ accepted"),
        is_wanted
    );
    assert_eq!(printed.contains('\u{1b}'), is_wanted, "{printed:?}");
}

#[test]
fn prose_keeps_to_the_width_and_values_stay_whole() {
    let words = "check -f denied.yaml --nodes nodes.yaml";
    let mut command = command();
    command.args(words.split_whitespace());
    let output = command.env("COLUMNS", "60").output().unwrap();
    compare("check-narrow", &shown(words, &output));
}

/// `hco-preflight check … | head -1`.
#[test]
fn a_reader_that_has_read_enough_changes_no_verdict() {
    use std::process::Stdio;
    let mut command = command();
    command.args(["check", "-f", "denied.yaml", "--nodes", "nodes.yaml"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

/// Other files of a repository, and a mounted `ConfigMap`, whose files exist three times.
#[test]
fn files_that_are_no_manifests_are_skipped() {
    let root = scratch("repository");
    let manifest = std::fs::read_to_string(super::files().join("accepted.yaml")).unwrap();
    std::fs::create_dir(root.join("..2026")).unwrap();
    std::fs::write(root.join("..2026/hco.yaml"), manifest).unwrap();
    std::os::unix::fs::symlink("..2026", root.join("..data")).unwrap();
    std::os::unix::fs::symlink("..data/hco.yaml", root.join("hco.yaml")).unwrap();
    for (name, text) in [
        ("patch.yaml", "- {op: remove, path: /spec}"),
        ("chart.yaml", "{{ include }}: ["),
    ] {
        std::fs::write(root.join(name), text).unwrap();
    }
    let check = |path: &str| super::run(&format!("check -R -f {path} --arch amd64=3"));
    let output = check(&root.display().to_string());
    let (out, notes) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert_eq!(output.status.code(), Some(0), "{out}{notes}");
    assert!(out.contains("\n1 object: "), "{out}");
    for (what, file) in [
        (
            "templates (`{{ }}`) that do not name a HyperConverged",
            "chart.yaml",
        ),
        ("what is not an object", "patch.yaml:1"),
    ] {
        let note = format!("note: skipped {what}: {}/{file}\n", root.display());
        assert!(notes.contains(&note), "{notes}");
    }
    // A template that names the kind is an error.
    std::fs::write(
        root.join("chart.yaml"),
        "kind: HyperConverged\n{{ include }}: [",
    )
    .unwrap();
    assert_eq!(check(&root.display().to_string()).status.code(), Some(2));
    // A file whose kind is written with escapes, and a file that is nested too deeply, are errors too.
    let deep = format!("a: {}{}", "[".repeat(101), "]".repeat(101));
    for text in [
        "a: [\n---\nkind: \"Hyper\\x43onverged\"\n",
        "kind: \"Hyper\\x43onverged\"\n---\na: [\n",
        deep.as_str(),
    ] {
        std::fs::write(root.join("chart.yaml"), text).unwrap();
        assert_eq!(
            check(&root.display().to_string()).status.code(),
            Some(2),
            "{text}"
        );
    }
}
