//! `check`: the objects, nodes, settings, and modules of a check, and what the command says about itself.

use rstest::rstest;

use super::{command, file, run, run_of, run_with, scratch, written};

#[test]
fn the_standard_input_is_a_manifest_like_any_other() {
    let manifest = "kind: HyperConverged\napiVersion: hco.kubevirt.io/v1\n";
    let place = "stdin:1 · hco.kubevirt.io/v1 · checked as a new object";
    let run = run_with("check -f - --arch amd64=3,arm64=2", manifest).exits(1);
    run.shows(&["✘ denied  (without a name)", place]);
    // So are the nodes.
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
    let mut command = command();
    command.env("COLUMNS", "60");
    let run = run_of(
        command,
        ["check", "-f", "denied.yaml", "--nodes", "nodes.yaml"],
    );
    let run = run.shows(&[
        "The import is off, but the workload nodes have 2",
        "denied.yaml:8",
        "kubectl patch hyperconvergeds.v1beta1.hco.kubevirt.io kubevirt-hyperconverged -n kubevirt-hyperconverged --type merge -p '{\"spec\":{\"featureGates\":{\"enableMultiArchBootImageImport\":true}}}'",
    ]);
    let wide = run.stdout.lines().filter(|line| line.chars().count() > 60);
    // The command, and the line about the object.
    assert_eq!(wide.count(), 2, "{run:?}");
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
#[test]
fn fields_that_the_api_server_drops_are_named() {
    let documents = [
        ("v1", "spec: {workloads: {}}"),
        (
            "v1beta1",
            "spec: {workloadSources: {enableMultiArchBootImageImport: true}}",
        ),
        (
            "v1beta1",
            "spec:\nfeatureGates: {enableMultiArchBootImageImport: true}",
        ),
    ];
    let documents = documents.map(|(version, fields)| {
        format!("apiVersion: hco.kubevirt.io/{version}\nkind: HyperConverged\n{fields}\n")
    });
    let run = run_with("check -f - --arch amd64=3", &documents.join("---\n"));
    let run = run.notes("stdin:1: spec.workloads has no effect: it is a field of v1beta1, and the API server drops it; write spec.deployment.nodePlacements.workload\n");
    let run = run.notes("write spec.featureGates.enableMultiArchBootImageImport\n");
    run.notes("featureGates has no effect: it stands beside spec, and the API server drops it; write spec.featureGates\n");
}

/// Other users can write to this cache.
#[test]
fn a_shared_cache_is_not_used() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = scratch();
    let cache = home.join("hco-preflight");
    std::fs::create_dir(&cache).unwrap();
    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = command();
    command.env("XDG_CACHE_HOME", &home);
    let words = "check -f accepted.yaml --arch amd64=1";
    run_of(command, words.split_whitespace()).exits(0);
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0);
}

#[test]
fn the_version_is_printed() {
    let (version, rules) = (env!("CARGO_PKG_VERSION"), engine::RULES.len());
    let expected = format!("hco-preflight {version}\nrules {rules}\n");
    assert_eq!(run("--version").stdout, expected);
}

/// kubectl runs `kubectl-hco_preflight` for `kubectl hco-preflight`.
#[test]
fn as_a_plugin_of_kubectl_it_names_what_was_typed() {
    let plugin = scratch().join("kubectl-hco_preflight");
    std::os::unix::fs::symlink(command().get_program(), &plugin).unwrap();
    run_of(std::process::Command::new(&plugin), ["--help"]).shows(&[
        "Usage: kubectl hco-preflight [OPTIONS] <COMMAND>",
        "kubectl hco-preflight check -f hyperconverged.yaml --nodes nodes.yaml",
        "helm template . | kubectl hco-preflight check -f - --arch amd64=3,arm64=2 -o markdown",
    ]);
}

#[test]
fn a_shell_completes_commands_and_options() {
    let bash = run("completions bash").exits(0);
    bash.prints(&["complete -F _hco__preflight", "what-if"]);
}

/// The message repeats the words, which can be the names of files.
#[test]
fn mistakes_have_no_commands_for_a_runner() {
    let option = run("images -o ##vso[x]").notes("# #vso[x]");
    for mistake in [run("check --no-such=##vso[x] ##[error]x"), option] {
        assert!(!mistake.exits(2).stderr.contains("##"));
    }
}

/// The update does not change the existing problem, so the policy accepts it.
#[test]
fn an_update_that_hco_denies_is_denied() {
    let status = "status: {nodeInfo: {workloadsArchitectures: [amd64, riscv64], controlPlaneArchitectures: [amd64]}}\n";
    let accepted = file("accepted.yaml");
    let [old, new] = ["", "    commonBootImageNamespace: images\n"]
        .map(|field| written("hco.yaml", format!("{accepted}{field}{status}")));
    let words = format!("check -f {new} --old {old} --arch amd64=1,riscv64=1");
    let run = run(&words).exits(1);
    run.lacks(&["accepted"])
        .prints(&["✘ deny  cluster-architecture-unknown"]);
}
