//! `fix`: its output, and the files that it writes.

use std::fs;
use std::path::PathBuf;

use rstest::{Context, rstest};
use serde_json::{Value, json};

use super::cluster::with_live;
use super::{check, command, command_on, files, run, run_with, scratch};
use e2e_tests::{ApiServer, recorded};

#[rstest]
#[case::diff("fix -f fixable.yaml --arch amd64=3,arm64=2", 1)]
#[case::diff_in_colours("fix -f denied.yaml --arch amd64=3,arm64=2 --color always", 1)]
#[case::to_confirm("fix -f fixable.yaml --arch amd64=3,arm64=2 --unsafe", 1)]
#[case::enable("fix -f denied.yaml --arch amd64=3,arm64=2", 1)]
#[case::place(
    "fix -f denied.yaml --arch amd64=3,arm64=2 --prefer multi-arch-import-disabled=place-on:arm64",
    1
)]
// The label of the nodes counts. The manifest does not name it.
#[case::place_on_nodes(
    "fix -f denied.yaml --nodes ../../../../deploy/examples/mixed-nodes.yaml --prefer multi-arch-import-disabled=place-on:arm64",
    1
)]
#[case::place_nowhere(
    "fix -f denied.yaml --arch amd64=3,arm64=2 --prefer multi-arch-import-disabled=place-on:s390x",
    2
)]
#[case::prefer_what("fix -f denied.yaml --arch amd64=3 --prefer a=b", 2)]
#[case::prefer_how(
    "fix -f denied.yaml --arch amd64=3 --prefer multi-arch-import-disabled=b",
    2
)]
#[case::patch(
    "fix -f fixable.yaml -f accepted.yaml --arch amd64=3,arm64=2 -o json-patch",
    1
)]
#[case::commands(
    "fix -f fixable.yaml -f accepted.yaml --arch amd64=3,arm64=2 -o commands",
    2
)]
#[case::nothing("fix -f accepted.yaml --nodes nodes.yaml", 0)]
#[case::several_documents("fix -f several.yaml --nodes nodes.yaml -q", 1)]
#[case::prefer_another_rule(
    "fix -f denied.yaml --arch amd64=3 --prefer architectures-malformed=enable-import",
    2
)]
// Two rules suggest two ways to resolve the same problem. One of them is sufficient.
#[case::competing("fix -f preferred.yaml --arch amd64=3,arm64=2 --unsafe", 1)]
#[case::place_and_confirm(
    "fix -f preferred.yaml --arch amd64=3,arm64=2 --unsafe --prefer multi-arch-import-disabled=place-on:amd64",
    1
)]
#[case::gate("fix -f gate.yaml --arch amd64=3,arm64=2 --unsafe", 1)]
#[case::shared("fix -f shared.yaml --arch amd64=3,arm64=2 --unsafe", 1)]
#[case::repairs_of_the_settings(
    "fix -f fixable.yaml --arch amd64=3,arm64=2 --settings repair.yaml",
    1
)]
#[case::empty_allowed("fix -f nodes.yaml --nodes nodes.yaml --allow-empty", 0)]
#[case::no_file("fix --cluster", 2)]
#[case::unreadable("fix -f broken.yaml -f fixable.yaml --arch amd64=3,arm64=2", 2)]
#[case::two_ways("fix -f fixable.yaml --arch amd64=3 --write -o commands", 2)]
#[case::warnings_to_confirm("fix -f preferred.yaml --arch amd64=3,arm64=2", 1)]
#[case::undecodable("fix -f undecodable.yaml --arch amd64=1", 2)]
#[case::undecodable_patch("fix -f undecodable.yaml --arch amd64=1 -o json-patch", 2)]
#[case::live_patch_of_a_file("fix -f fixable.yaml --from status-ready.yaml -o json-patch", 2)]
// The live object is not the old object either.
#[case::old("fix -f denied.yaml --arch amd64=3 --old old.yaml", 2)]
#[case::as_if_without_cluster("fix -f denied.yaml --arch amd64=3 --as-if replace", 2)]
#[case::help("fix -h", 0)]
fn the_output_is_as_reviewed(#[case] words: &str, #[case] code: i32, #[context] context: Context) {
    let name = context.description.unwrap_or_default().replace('_', "-");
    check(&format!("fix-{name}"), words, code);
}

/// A copy of a file that can be written.
fn copy(file: &str, name: &str) -> PathBuf {
    let path = scratch(name).join(file);
    fs::copy(files().join(file), &path).unwrap();
    path
}

#[test]
fn a_file_is_written_once() {
    let path = copy("fixable.yaml", "fix-write");
    let before = fs::read_to_string(&path).unwrap();
    let words = format!(
        "fix -f {0} -f {0} --arch amd64=3,arm64=2 --write",
        path.display()
    );
    let output = run(&words);
    assert_eq!(
        output.status.code(),
        Some(1),
        "a person has to add an annotation"
    );
    assert!(output.stdout.is_empty());
    let after = before.replace("'amd64, arm64'", "'amd64,arm64'");
    assert_eq!(fs::read_to_string(&path).unwrap(), after);

    let output = run(&format!("{words} --unsafe"));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let after = fs::read_to_string(&path).unwrap();
    let added = "        name: missing\n        annotations:\n          ssp.kubevirt.io/dict.architectures: \"amd64,arm64\"\n";
    assert!(after.contains(added), "{after}");

    let output = run(&format!("{words} --unsafe"));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), after);
    let files = fs::read_dir(path.parent().unwrap()).unwrap();
    assert_eq!(files.count(), 1, "nothing is left beside it");
}

#[test]
fn the_standard_input_becomes_the_standard_output() {
    let words = "fix -f - --arch amd64=3,arm64=2 --unsafe --write -q";
    for file in ["fixable.yaml", "accepted.yaml"] {
        let before = fs::read_to_string(files().join(file)).unwrap();
        let output = run_with(words, &before);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let after = String::from_utf8(output.stdout).unwrap();
        assert_eq!(after == before, file == "accepted.yaml");
        let again = run_with(words, &after);
        assert_eq!(again.stdout, after.as_bytes());
    }
}

#[cfg(unix)]
#[test]
fn permissions_and_symbolic_links_stay() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let path = copy("fixable.yaml", "fix-permissions");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let link = path.with_file_name("link.yaml");
    symlink("fixable.yaml", &link).unwrap();
    let output = run(&format!(
        "fix -f {} --arch amd64=3,arm64=2 --write",
        link.display()
    ));
    assert_eq!(output.status.code(), Some(1));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&path).unwrap().contains("'amd64,arm64'"));
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

/// A file that cannot be written is not counted as fixed.
#[cfg(unix)]
#[test]
fn a_read_only_file_stays() {
    use std::os::unix::fs::PermissionsExt as _;

    let path = copy("fixable.yaml", "fix-read-only");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let before = fs::read(&path).unwrap();
    let output = run(&format!(
        "fix -f {} --arch amd64=3,arm64=2 --write",
        path.display()
    ));
    assert_eq!(output.status.code(), Some(2));
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains("not written: "), "{printed}");
    assert!(!printed.contains(" fixed"), "{printed}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// Existing problems are fixed too: unlike in `check`, the live object is not the old object.
#[test]
fn what_the_cluster_has_already_is_fixed() {
    let server = ApiServer::start(recorded());
    let mut fix = command_on(&server);
    let output = fix
        .args(["fix", "-f", "live.yaml", "--cluster", "--unsafe"])
        .output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.starts_with(b"--- live.yaml"), "{output:?}");

    let mut fix = command_on(&server);
    let output = fix.args(["fix", "--cluster", "-o", "commands"]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        output.stdout.starts_with(b"kubectl patch hyperconvergeds."),
        "{output:?}"
    );
}

/// Runs `fix` in a copy of a file against a cluster with another live object: the exit code, the file, the standard error.
fn fix_with_live(
    name: &str,
    text: &str,
    words: &str,
    change: impl FnOnce(&mut Value),
) -> (Option<i32>, String, String) {
    let server = ApiServer::start(with_live(change));
    let path = scratch(name).join("hco.yaml");
    fs::write(&path, text).unwrap();
    let mut fix = command_on(&server);
    fix.current_dir(path.parent().unwrap());
    fix.args(["fix", "-f", "hco.yaml", "--cluster"]);
    let output = fix.args(words.split_whitespace()).output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    let file = fs::read_to_string(path).unwrap();
    (
        output.status.code(),
        file,
        String::from_utf8(printed).unwrap(),
    )
}

const HEAD: &str = "apiVersion: hco.kubevirt.io/v1beta1\nkind: HyperConverged\nmetadata: {name: kubevirt-hyperconverged, namespace: kubevirt-hyperconverged}\n";

/// The import was enabled by `kubectl patch`, and is not in the file.
#[test]
fn what_the_live_object_has_is_not_fixed_in_the_file() {
    let text = fs::read_to_string(files().join("accepted-live.yaml")).unwrap();
    let enable = |live: &mut Value| {
        live["spec"]["featureGates"]["enableMultiArchBootImageImport"] = json!(true);
    };
    let (code, file, printed) = fix_with_live("fix-merged", &text, "--write", enable);
    assert_eq!((code, &file), (Some(0), &text), "{printed}");
    assert!(printed.contains("nothing to fix"), "{printed}");
}

/// `kubectl replace` removes fields that the file does not have. The file gets the feature gate, but no other field of
/// the live object.
#[test]
fn a_file_that_replaces_the_live_object_is_fixed_as_it_is_sent() {
    let text = fs::read_to_string(files().join("accepted-live.yaml")).unwrap();
    let words = "--as-if replace --write";
    let (code, file, printed) = fix_with_live("fix-replaced", &text, words, with_import);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("2 findings fixed"), "{printed}");
    let added = "  featureGates:\n    enableMultiArchBootImageImport: true\n";
    assert_eq!(file.replace(added, ""), text);
    assert_ne!(file, text);
    let words = "--as-if replace";
    let (code, _, printed) = fix_with_live("fix-replaced-again", &file, words, with_import);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("nothing to fix"), "{printed}");
}

/// Sets the import, and another field that the file does not have. No file applied them.
fn with_import(live: &mut Value) {
    live["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] =
        json!("{}");
    live["metadata"]["finalizers"] = json!(["kubevirt.io/hyperconverged"]);
    live["spec"]["featureGates"]["enableMultiArchBootImageImport"] = json!(true);
    live["spec"]["defaultCPUModel"] = json!("Haswell");
}

/// The file has no templates: the templates of the live object are fixed in the cluster, not in the file.
#[test]
fn what_is_only_in_the_live_object_is_reported_and_not_written() {
    let text = format!("{HEAD}spec:\n  featureGates: {{enableMultiArchBootImageImport: true}}\n");
    let only_live = |live: &mut Value| {
        live["spec"]["featureGates"]["enableMultiArchBootImageImport"] = json!(true);
        live["spec"]["dataImportCronTemplates"] = json!([{
            "metadata": {"name": "one", "annotations": {"ssp.kubevirt.io/dict.architectures": "amd64, arm64"}},
            "spec": {"schedule": "0 */12 * * *", "managedDataSource": "one", "template": {"spec": {"storage": {"resources": {"requests": {"storage": "10Gi"}}}, "source": {"registry": {"url": "docker://example.com/one"}}}}},
        }]);
    };
    let (code, file, printed) = fix_with_live("fix-only-live", &text, "--write", only_live);
    assert_eq!((code, &file), (Some(1), &text), "{printed}");
    let error = "error: hco.yaml:1: [architectures-malformed] not changed: the value is in the live object, but not in the file; add it to the file, or fix the live object with the command that `-o commands` prints without -f\n";
    assert_eq!(printed.matches(error).count(), 1, "{printed}");
}

/// The behavior is the same as with a cluster. Otherwise, the file would be compared with another object.
#[test]
fn a_file_without_a_namespace_is_for_that_of_the_flag() {
    let file = fs::read_to_string(files().join("fixable.yaml")).unwrap();
    let alone = file.replace("  namespace: kubevirt-hyperconverged\n", "");
    assert_ne!(alone, file);
    let directory = scratch("fix-namespace");
    fs::copy(files().join("nodes.yaml"), directory.join("nodes.yaml")).unwrap();
    for namespace in ["aaa", "bbb"] {
        let mut object: Value = yaml_serde::from_str(&file).unwrap();
        object["metadata"]["namespace"] = json!(namespace);
        let path = directory.join(format!("{namespace}.json"));
        fs::write(path, object.to_string()).unwrap();
    }
    let several = "--from has several HyperConvergeds: specify -n";
    let new = "checked as a new object: --from has no HyperConverged other/";
    for (flag, wanted) in [("", several), ("-n bbb", "can be fixed"), ("-n other", new)] {
        let words = format!("fix -f - --from {} --unsafe {flag}", directory.display());
        let printed = String::from_utf8(run_with(&words, &alone).stderr).unwrap();
        assert!(printed.contains(wanted), "{flag}: {printed}");
    }
}

/// These findings have fixes that also change feature gates.
#[test]
fn a_wrong_feature_gate_is_corrected_if_that_is_wanted() {
    for (rule, spec) in [
        (
            "import-contradiction",
            "featureGates: [{name: enableMultiArchBootImageImport, state: Enabled}]\n  workloadSources: {enableMultiArchBootImageImport: false}",
        ),
        (
            "import-gate-misspelled",
            "featureGates: [{name: enableMultiArchBootImagesImport, state: Enabled}]",
        ),
    ] {
        let head = HEAD.replace("v1beta1", "v1");
        let text = format!("{head}spec:\n  {spec}\n");
        let fixed = |flag: &str| {
            let output = run_with(&format!("fix -f - --arch amd64=3 {flag}"), &text);
            let printed = String::from_utf8(output.stderr).unwrap();
            (String::from_utf8(output.stdout).unwrap(), printed)
        };
        let (diff, printed) = fixed("");
        assert!(printed.contains(rule), "{diff}{printed}");
        let (diff, printed) = fixed("--unsafe");
        assert!(
            !diff.is_empty() && !printed.contains(rule),
            "{diff}{printed}"
        );
        // A fix that disables the import does not contradict the placement.
        let (diff, printed) = fixed("--unsafe --place-on amd64");
        let is_disabled = diff.contains("Disabled") && !printed.contains(rule);
        assert_eq!(
            is_disabled,
            rule == "import-contradiction",
            "{diff}{printed}"
        );
    }
}

/// On nodes of one architecture, an annotation without effect is not a reason to import every image again.
#[test]
fn the_import_is_not_enabled_for_an_annotation_that_has_no_effect() {
    let text = format!(
        "{HEAD}spec:\n  featureGates: {{enableMultiArchBootImageImport: false}}\n  dataImportCronTemplates:\n  - metadata: {{name: one, annotations: {{ssp.kubevirt.io/dict.architectures: amd64}}}}\n    spec: {{schedule: 0 */12 * * *, managedDataSource: one, template: {{spec: {{storage: {{resources: {{requests: {{storage: 10Gi}}}}}}, source: {{registry: {{url: \"docker://example.com/one\"}}}}}}}}}}\n"
    );
    let fix = |words: &str| {
        let output = run_with(&format!("fix -f - --unsafe {words}"), &text);
        let fixed = String::from_utf8(output.stdout).unwrap();
        (fixed, String::from_utf8(output.stderr).unwrap())
    };
    let (fixed, printed) = fix("--arch amd64=3");
    assert_eq!(fixed, "", "{printed}");
    assert!(
        printed.contains("[architectures-ignored]")
            && printed.contains("or: remove the annotation"),
        "{printed}"
    );
    let (fixed, printed) = fix("--arch amd64=3,arm64=2");
    assert!(
        fixed.contains("enableMultiArchBootImageImport: true"),
        "{printed}"
    );
    let (_, printed) = fix("--arch amd64=3,arm64=2 --place-on amd64");
    assert!(!printed.contains("architectures-ignored"), "{printed}");
}

/// A terminal must not execute any part of a manifest, and a runner must not read it as a command.
#[test]
fn a_diff_is_not_printed_raw() {
    let text = fs::read_to_string(files().join("fixable.yaml")).unwrap();
    let text = text.replace("# what the image has", "# \u{1b}[2J\u{202e}");
    let output = run_with("fix -f - --arch amd64=3,arm64=2", &text);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("# \\u{1b}[2J\\u{202e}"), "{printed}");
    let beside = String::from_utf8(output.stderr).unwrap();
    assert!(
        beside.contains("the diff has escaped characters"),
        "{beside}"
    );
}

/// Without the tab, `patch` reads the name of the file only up to the blank.
#[test]
fn a_blank_in_the_name_of_a_file_does_not_end_it() {
    let path = scratch("fix-blank").join("my file.yaml");
    fs::copy(files().join("fixable.yaml"), &path).unwrap();
    let mut fix = command();
    let output = fix
        .current_dir(path.parent().unwrap())
        .args(["fix", "-f", "my file.yaml", "--arch", "amd64=3,arm64=2"])
        .output();
    let printed = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(
        printed.starts_with("--- my file.yaml\t\n+++ my file.yaml\t\n"),
        "{printed}"
    );
}

/// If two fixes need the same parent object, the patch adds it once.
#[test]
fn a_patch_adds_a_parent_once() {
    let output = run("fix -f preferred.yaml --arch amd64=3,arm64=2 --unsafe -o json-patch");
    let printed = String::from_utf8(output.stdout).unwrap();
    let line: Value = serde_json::from_str(printed.lines().next().unwrap()).unwrap();
    let paths: Vec<&str> = line["patch"]
        .as_array()
        .unwrap()
        .iter()
        .map(|operation| operation["path"].as_str().unwrap())
        .collect();
    let mut distinct = paths.clone();
    distinct.dedup();
    assert!(paths.len() > 1 && paths == distinct, "{paths:?}");
}

/// The module lists 128 findings of a rule. `check` says that there are more, and `fix` fixes all of them.
#[test]
fn more_findings_than_are_listed_are_fixed() {
    let template = |number: usize| {
        format!(
            "  - metadata:\n      name: t{number}\n      annotations:\n        ssp.kubevirt.io/dict.architectures: amd64, arm64\n    spec: {{schedule: 0 */12 * * *, managedDataSource: t{number}, template: {{spec: {{storage: {{resources: {{requests: {{storage: 10Gi}}}}}}, source: {{registry: {{url: \"docker://example.com/t{number}\"}}}}}}}}}}\n"
        )
    };
    let templates: String = (0..200).map(template).collect();
    let text = format!(
        "apiVersion: hco.kubevirt.io/v1beta1\nkind: HyperConverged\nmetadata:\n  name: many\nspec:\n  featureGates:\n    enableMultiArchBootImageImport: true\n  dataImportCronTemplates:\n{templates}"
    );
    let checked = run_with("check -f - --arch amd64=3,arm64=2", &text);
    let printed = String::from_utf8(checked.stderr).unwrap();
    assert!(
        printed.contains(" more findings are not listed"),
        "{printed}"
    );
    let fixed = run_with("fix -f - --arch amd64=3,arm64=2 --write", &text);
    assert_eq!(fixed.status.code(), Some(0));
    let fixed = String::from_utf8(fixed.stdout).unwrap();
    assert_eq!(fixed, text.replace("amd64, arm64", "amd64,arm64"));
}

/// The patch of a line of `-o json-patch`, applied to an object.
fn patched(line: &str, object: &Value) -> Result<Value, json_patch::PatchError> {
    let line: Value = serde_json::from_str(line).unwrap();
    let patch: json_patch::Patch = serde_json::from_value(line["patch"].clone()).unwrap();
    let mut patched = object.clone();
    json_patch::patch(&mut patched, &patch).map(|()| patched)
}

/// A cluster can change until the user pastes the command, and a snapshot is even older.
#[rstest]
fn a_patch_is_refused_by_a_changed_object(#[values(true, false)] is_snapshot: bool) {
    let answers = recorded();
    let list = "GET /apis/hco.kubevirt.io/v1/hyperconvergeds";
    let list = answers.iter().find(|answer| answer["request"] == list);
    let live = list.unwrap()["body"]["items"][0].clone();
    let server = ApiServer::start(answers);
    let snapshot = scratch(&format!("fix-changed-{is_snapshot}")).join("snapshot.json");
    let mut take = command_on(&server);
    take.args(["snapshot", "--cluster", "-o"]).arg(&snapshot);
    assert!(take.output().unwrap().status.success());
    let mut fix = command_on(&server);
    fix.args(["fix", "--unsafe", "-o", "json-patch"]);
    if is_snapshot {
        fix.arg("--from").arg(&snapshot);
    } else {
        fix.arg("--cluster");
    }
    let output = fix.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let note = "note: if an object has changed since it was read, the API server rejects its patch";
    assert!(String::from_utf8(output.stderr).unwrap().contains(note));
    let printed = String::from_utf8(output.stdout).unwrap();
    let line: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(line["name"], "kubevirt-hyperconverged");
    assert_eq!(line.get("context").is_none(), is_snapshot);
    assert!(patched(&printed, &live).is_ok(), "{printed}");
    for field in ["uid", "generation"] {
        let mut changed = live.clone();
        changed["metadata"][field] = json!("another");
        assert!(patched(&printed, &changed).is_err(), "{field}");
    }
}

/// kubectl would read such a name as a flag, even in quotes.
#[test]
fn a_command_holds_no_name_that_is_a_flag() {
    let fixable = fs::read_to_string(files().join("fixable.yaml")).unwrap();
    let nodes = fs::read_to_string(files().join("nodes.yaml")).unwrap();
    for (field, sentence) in [("name", "the name is"), ("namespace", "the namespace is")] {
        for wrong in ["--server=http://127.0.0.1:18777", "--all", "-"] {
            let file = scratch("a_command_holds_no_name_that_is_a_flag").join("cluster.yaml");
            let text = fixable.replacen(
                &format!("  {field}: kubevirt-hyperconverged"),
                &format!("  {field}: \"{wrong}\""),
                1,
            );
            assert_ne!(text, fixable);
            fs::write(&file, format!("{text}---\n{nodes}")).unwrap();
            let words = format!("fix --unsafe -o commands --from {}", file.display());
            let output = run(&words);
            assert_eq!(output.stdout, b"", "{output:?}");
            let printed = String::from_utf8(output.stderr).unwrap();
            let expected =
                format!("{sentence} not a valid object name, so there is no command for it");
            assert!(printed.contains(&expected), "{printed}");
        }
    }
}

/// Another context may be current when the user pastes the command.
#[test]
fn a_command_names_the_cluster_that_it_is_for() {
    let server = ApiServer::start(recorded());
    let printed = |words: &str| {
        let mut fix = command_on(&server);
        fix.args("fix --cluster --unsafe -o commands".split(' '));
        fix.args(words.split_whitespace());
        String::from_utf8(fix.output().unwrap().stdout).unwrap()
    };
    let command = printed("");
    let expected = "kubectl patch hyperconvergeds.v1.hco.kubevirt.io kubevirt-hyperconverged -n kubevirt-hyperconverged --context admin --type json -p ";
    assert!(command.starts_with(expected), "{command}");
    let kubeconfig = server.kubeconfig().display();
    let command = printed(&format!(
        "--kubeconfig {kubeconfig} --context limited --as admin"
    ));
    let expected = format!(" --context limited --kubeconfig {kubeconfig} --as admin --type json");
    assert!(command.contains(&expected), "{command}");
}

/// A program that reads the patches gets a line for each object.
#[test]
fn each_object_has_a_line_of_json() {
    let output = run(
        "fix -f undecodable.yaml -f broken.yaml -f fixable.yaml --arch amd64=3,arm64=2 -o json-patch",
    );
    assert_eq!(output.status.code(), Some(2));
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines = printed.lines();
    let lines: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 4, "{printed}");
    assert_eq!(lines[0]["file"], "broken.yaml");
    assert!(lines[0]["error"].is_string() && lines[0].get("patch").is_none());
    assert!(lines[1]["error"].is_string(), "{printed}");
    assert!(lines[3]["patch"].is_array());
}

/// The next `kubectl apply` or sync reverts the patch.
#[rstest]
#[case::applied("kubectl.kubernetes.io/last-applied-configuration", "`kubectl apply`")]
#[case::argo_cd("argocd.argoproj.io/tracking-id", "Argo CD")]
#[case::nothing("other", "")]
fn what_keeps_an_object_is_named(#[case] annotation: &str, #[case] by: &str) {
    let mut answers = recorded();
    for answer in &mut answers {
        let items = answer["body"]
            .get_mut("items")
            .and_then(Value::as_array_mut);
        for item in items.into_iter().flatten() {
            item["metadata"]["annotations"] = json!({annotation: "{}"});
        }
    }
    let server = ApiServer::start(answers);
    let mut fix = command_on(&server);
    let fix = fix.args(["fix", "--cluster", "--unsafe", "-o", "commands"]);
    let printed = String::from_utf8(fix.output().unwrap().stderr).unwrap();
    let note = "make the change in its file as well, because what the file has comes back";
    assert_eq!(printed.contains(note), !by.is_empty(), "{printed}");
    assert!(
        printed.contains(&format!("from {by}")) || by.is_empty(),
        "{printed}"
    );
}
