//! Mistakes of users, and the advice in the errors.

use rstest::{Context, rstest};

use super::{check, command, compare, run, run_with, scratch, shown};

#[rstest]
#[case::nothing("", 0)]
#[case::help("--help", 0)]
#[case::help_of_check("check -h", 0)]
#[case::unknown_command("chek", 2)]
#[case::no_nodes("check -f accepted.yaml", 2)]
#[case::no_file("check --arch amd64=1", 2)]
#[case::nodes_twice("check -f accepted.yaml --nodes nodes.yaml --arch amd64=1", 2)]
#[case::nodes_and_cluster("check -f accepted.yaml --nodes nodes.yaml --cluster", 2)]
#[case::context_without_cluster("check -f accepted.yaml --arch amd64=1 --context foo", 2)]
#[case::helm_template("check -f helm.yaml --arch amd64=1", 2)]
#[case::files_without_f("check accepted.yaml denied.yaml -q --arch amd64=1", 0)]
#[case::joining_nodes_elsewhere("check -f placed.yaml --arch amd64=1 --what-if arm64=2", 0)]
#[case::policy_among_others("settings --settings policies.yaml", 0)]
#[case::no_policy_of_ours("settings --settings foreign-policies.yaml", 2)]
#[case::counts("check -f accepted.yaml --arch amd64", 2)]
#[case::joining_more_elsewhere("check -f placed.yaml --arch amd64=1,arm64=5 --what-if arm64=2", 0)]
#[case::joining_more("check -f placed.yaml --arch amd64=1 --what-if amd64=2", 0)]
#[case::joining_undecodable("check -f undecodable.yaml --arch amd64=1 --what-if arm64=2", 2)]
#[case::joining_counts("check -f accepted.yaml --arch amd64=1 --what-if arm64=two", 2)]
#[case::invisible_counts("check -f accepted.yaml --arch amd64\u{202e}=1", 2)]
#[case::format("check -f accepted.yaml --arch amd64=1 -o yaml", 2)]
#[case::standard_input_twice("check -f - --nodes -", 2)]
#[case::old_without_new("check --cluster --old old.yaml", 2)]
#[case::no_such_file("check -f nowhere.yaml --arch amd64=1", 2)]
#[case::one_file_of_two("check -f nowhere.yaml -f accepted.yaml --arch amd64=1", 2)]
#[case::broken("check -f broken.yaml -f accepted.yaml --arch amd64=1", 2)]
#[case::nothing_to_judge("check -f policy.yaml -f comment.yaml --arch amd64=1", 2)]
#[case::no_such_nodes("check -f accepted.yaml --nodes nowhere.yaml", 2)]
#[case::no_nodes_in_file("check -f accepted.yaml --nodes several.yaml", 2)]
#[case::empty_nodes("check -f accepted.yaml --nodes comment.yaml", 2)]
#[case::wrong_settings(
    "check -f accepted.yaml --arch amd64=1 --settings settings-wrong.yaml",
    2
)]
#[case::no_such_settings("check -f accepted.yaml --arch amd64=1 --settings nowhere.yaml", 2)]
#[case::broken_settings("check -f accepted.yaml --arch amd64=1 --settings broken.yaml", 2)]
#[case::several_settings("check -f accepted.yaml --arch amd64=1 --settings several.yaml", 2)]
#[case::no_such_old("check -f accepted.yaml --arch amd64=1 --old nowhere.yaml", 2)]
#[case::no_old_in_file("check -f accepted.yaml --arch amd64=1 --old comment.yaml", 2)]
#[case::no_such_module("check -f accepted.yaml --arch amd64=1 --policy nowhere.wasm", 2)]
#[case::address_of_a_module(
    "check -f accepted.yaml --arch amd64=1 --policy registry://a.test/b:v1",
    2
)]
#[case::no_module("check -f accepted.yaml --arch amd64=1 --policy nodes.yaml", 2)]
#[case::subdirectories_without_directory("check --from status-ready.yaml -R", 2)]
#[case::exclude_without_directory("images --from status-ready.yaml --exclude a*", 2)]
#[case::exclude_without_match(
    "check -f accepted.yaml --arch amd64=1 --exclude a/* --exclude ./b",
    0
)]
#[case::as_if_without_cluster("check -f accepted.yaml --arch amd64=1 --as-if apply", 2)]
#[case::as_if_of_two_files("check -f accepted.yaml --old old.yaml --cluster --as-if apply", 2)]
#[case::settings("settings --settings settings.yaml", 0)]
#[case::settings_of_the_policy("settings --settings policy.yaml", 0)]
#[case::settings_default("settings", 0)]
#[case::settings_all("settings --settings settings-all.yaml", 0)]
#[case::settings_wrong("settings --settings settings-wrong.yaml", 2)]
fn the_output_is_as_reviewed(#[case] words: &str, #[case] code: i32, #[context] context: Context) {
    let name = context.description.unwrap();
    check(&format!("usage-{name}"), words, code);
}

#[test]
fn settings_can_come_from_the_standard_input() {
    let output = run_with("settings --settings -", "updates: strict\n");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\nupdates: strict\n"), "{text}");
}

/// Kubewarden ignores `repair` in these policies.
#[rstest]
#[case::not_mutating("false", "protect", "not `mutating: true`")]
#[case::monitor("true", "monitor", "the mode `monitor`")]
fn repairs_without_effect_are_noted(
    #[case] mutating: &str,
    #[case] mode: &str,
    #[case] wanted: &str,
) {
    let policy = format!(
        "apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy\nspec:\n  mutating: {mutating}\n  mode: {mode}\n  settings:\n    repair: {{architectures-malformed: normalise}}\n"
    );
    for words in [
        "settings --settings -",
        "check -f accepted.yaml --nodes nodes.yaml --settings -",
    ] {
        let output = run_with(words, &policy);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let printed = String::from_utf8(output.stderr).unwrap();
        assert!(printed.contains(wanted), "{words}: {printed}");
    }
    let right = policy
        .replace("mutating: false", "mutating: true")
        .replace("monitor", "protect");
    let output = run_with("settings --settings -", &right);
    assert!(output.stderr.is_empty(), "{output:?}");
}

/// A note says that other users can write to the cache, and `--no-cache` disables it.
#[cfg(unix)]
#[test]
fn a_shared_cache_is_not_used() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = scratch("shared-cache");
    let cache = home.join("hco-preflight");
    std::fs::create_dir(&cache).unwrap();
    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o777)).unwrap();
    let notes = |more: &str| {
        let mut command = command();
        command.env("XDG_CACHE_HOME", &home);
        command.args(["check", "-f", "accepted.yaml", "--arch", "amd64=1"]);
        command.args(more.split_whitespace());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let printed = notes("");
    assert!(
        printed.contains("the module is compiled on every run, because the cache cannot be used: "),
        "{printed}"
    );
    assert!(!notes("--no-cache").contains("compiled"));
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0);
}

#[test]
fn the_version_is_printed() {
    let text = run("--version").stdout;
    let (version, rules) = (env!("CARGO_PKG_VERSION"), engine::RULES.len());
    let expected = format!("hco-preflight {version}\nrules {rules}\n");
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}

/// kubectl runs `kubectl-hco_preflight` for `kubectl hco-preflight`.
#[cfg(unix)]
#[test]
fn as_a_plugin_of_kubectl_it_names_what_was_typed() {
    let plugin = scratch("plugin").join("kubectl-hco_preflight");
    let program = command().get_program().to_owned();
    std::os::unix::fs::symlink(program, &plugin).unwrap();
    let output = std::process::Command::new(&plugin)
        .arg("--help")
        .output()
        .unwrap();
    compare(
        "usage-plugin",
        &shown("(as kubectl-hco_preflight) --help", &output),
    );
}

#[rstest]
#[case::bash("bash", "complete -F _hco__preflight")]
#[case::zsh("zsh", "#compdef hco-preflight")]
#[case::fish("fish", "complete -c hco-preflight")]
#[case::powershell(
    "powershell",
    "Register-ArgumentCompleter -Native -CommandName 'hco-preflight'"
)]
#[case::elvish("elvish", "set edit:completion:arg-completer[hco-preflight]")]
fn every_shell_is_completed(#[case] shell: &str, #[case] word: &str) {
    let output = run(&format!("completions {shell}"));
    let script = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(script.contains(word), "{script}");
    assert!(script.contains("what-if"), "options are completed");
}

#[test]
fn a_level_can_be_set_for_one_run() {
    let words = "check -f denied.yaml --arch amd64=3,arm64=2";
    assert_eq!(run(words).status.code(), Some(1));
    let lenient = run(&format!("{words} --level multi-arch-import-disabled=warn"));
    assert_eq!(lenient.status.code(), Some(0), "{lenient:?}");
    for wrong in ["no-such-rule=warn", "multi-arch-import-disabled=never", "a"] {
        let output = run(&format!("{words} --level {wrong}"));
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains("--level"), "{error}");
    }
}

#[test]
fn rules_are_explained_to_programs() {
    let json =
        |words: &str| -> serde_json::Value { serde_json::from_slice(&run(words).stdout).unwrap() };
    let all = json("explain -o json");
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), engine::RULES.len());
    let rule = json("explain architectures-missing -o json");
    assert!(all.contains(&rule));
    assert!(
        rule["page"]
            .as_str()
            .unwrap()
            .starts_with("# architectures-missing")
    );
}
