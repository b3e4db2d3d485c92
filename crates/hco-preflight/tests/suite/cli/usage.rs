//! Settings, and what the command says about itself.

use super::{command, run, run_of, run_with, scratch};

/// Kubewarden ignores `repair` in these policies.
#[test]
fn repairs_without_effect_are_noted() {
    for (mutating, mode, wanted) in [
        ("false", "protect", "not `mutating: true`"),
        ("true", "monitor", "the mode `monitor`"),
        ("true", "protect", ""),
    ] {
        let repair = "settings: {repair: {architectures-malformed: normalise}}";
        let spec = format!("{{mutating: {mutating}, mode: {mode}, {repair}}}");
        let policy = format!("kind: ClusterAdmissionPolicy\nspec: {spec}\n");
        let settings = run_with("settings -", &policy).exits(0);
        let check = "check -f accepted.yaml --nodes nodes.yaml --settings -";
        run_with(check, &policy).exits(0).notes(wanted);
        assert_eq!(settings.stderr.is_empty(), wanted.is_empty(), "{policy}");
        settings.notes(wanted);
    }
}

/// A note says that other users can write to the cache, and `--no-cache` disables it.
#[cfg(unix)]
#[test]
fn a_shared_cache_is_not_used() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = scratch();
    let cache = home.join("hco-preflight");
    std::fs::create_dir(&cache).unwrap();
    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o777)).unwrap();
    let check = |more: &str| {
        let mut command = command();
        command.env("XDG_CACHE_HOME", &home);
        let words = format!("check -f accepted.yaml --arch amd64=1 {more}");
        run_of(command, words.split_whitespace()).exits(0)
    };
    check("").notes("the module is compiled on every run, because the cache cannot be used: ");
    assert!(!check("--no-cache").stderr.contains("compiled"));
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0);
}

#[test]
fn the_version_is_printed() {
    let (version, rules) = (env!("CARGO_PKG_VERSION"), engine::RULES.len());
    let expected = format!("hco-preflight {version}\nrules {rules}\n");
    assert_eq!(run("--version").stdout, expected);
}

/// kubectl runs `kubectl-hco_preflight` for `kubectl hco-preflight`.
#[cfg(unix)]
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
fn every_shell_is_completed() {
    for (shell, word) in [
        ("bash", "complete -F _hco__preflight"),
        ("zsh", "#compdef hco-preflight"),
        ("fish", "complete -c hco-preflight"),
        ("powershell", "-CommandName 'hco-preflight'"),
        ("elvish", "arg-completer[hco-preflight]"),
    ] {
        let run = run(&format!("completions {shell}")).exits(0);
        // Options are completed too.
        run.prints(&[word, "what-if"]);
    }
}

/// The message repeats the words, which can be the names of files.
#[test]
fn mistakes_have_no_commands_for_a_runner() {
    let mistake = run("check --no-such=##vso[task.setvariable] ##[error]x").exits(2);
    assert!(!mistake.stderr.contains("##"), "{mistake:?}");
    let mistake = run("images -o ##vso[x]").exits(2).notes("# #vso[x]");
    assert!(!mistake.stderr.contains("##"), "{mistake:?}");
}

#[test]
fn a_level_can_be_set_for_one_run() {
    let words = "check -f denied.yaml --arch amd64=3,arm64=2 --level";
    run(&format!("{words} multi-arch-import-disabled=warn")).exits(0);
    for wrong in ["no-such-rule=warn", "multi-arch-import-disabled=never", "a"] {
        run(&format!("{words} {wrong}")).exits(2).notes("--level");
    }
}
