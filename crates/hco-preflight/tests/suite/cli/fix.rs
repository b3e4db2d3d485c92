//! `fix`: its output, and the files that it writes.

use std::fs;
use std::path::Path;

use rstest::rstest;
use serde_json::{Value, json};

use super::cluster::with_live;
use super::objects::{self, edited, hyperconverged, list};
use super::{
    Run, command_on, file, run, run_in, run_of, run_on, run_with, scratch, snapshot, written,
};
use e2e_tests::{ApiServer, recorded};

/// A copy of `fixable.yaml` that can be written.
fn fixable() -> String {
    written("fixable.yaml", file("fixable.yaml"))
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_file_is_written_once() {
    let path = fixable();
    let before = read(&path);
    let words = format!("fix -f {path} -f {path} --arch amd64=3,arm64=2 --write");
    // A person has to add an annotation.
    assert_eq!(run(&words).exits(1).stdout, "");
    let corrected = before.replace("'amd64, arm64'", "'amd64,arm64'");
    assert_eq!(read(&path), corrected);

    run(&format!("{words} --unsafe")).exits(0);
    let after = read(&path);
    let added = "        name: missing\n        annotations:\n          ssp.kubevirt.io/dict.architectures: \"amd64,arm64\"\n";
    assert!(after.contains(added), "{after}");

    run(&format!("{words} --unsafe")).exits(0);
    assert_eq!(read(&path), after);
    let files = fs::read_dir(Path::new(&path).parent().unwrap()).unwrap();
    assert_eq!(files.count(), 1, "nothing is left beside it");
}

/// Only the user's choice enables a preview feature.
#[test]
fn a_preview_feature_is_not_enabled_without_a_choice() {
    let fix = |version: &str, more: &str| {
        let settings = written("settings.yaml", format!("hcoVersion: \"{version}\""));
        let words = format!("fix --arch amd64=3,arm64=2 --settings {settings} {more}");
        run(&words).exits(1)
    };
    for more in ["-f denied.yaml", "-f denied.yaml --unsafe"] {
        let fix = fix("1.18", more).notes("so `fix` enables it only with --enable-import");
        let fix = fix.notes("1 finding for you to decide: run again with --enable-import");
        assert_eq!(fix.stdout, "");
    }
    // Another fix of the same problem is also a choice.
    fix("1.18", "-f preferred.yaml --unsafe").lacks(&["nodeSelector"]);
    let enabled = "+    enableMultiArchBootImageImport: true";
    fix("1.18", "-f denied.yaml --enable-import").prints(&[enabled]);
    let fix = fix("1.19", "-f denied.yaml").prints(&[enabled]);
    fix.notes("each golden image is imported again, once for each of its architectures");
}

#[test]
fn the_standard_input_becomes_the_standard_output() {
    let words = "fix -f - --arch amd64=3,arm64=2 --unsafe --write -q";
    for name in ["fixable.yaml", "accepted.yaml"] {
        let before = file(name);
        let after = run_with(words, &before).exits(0).stdout;
        assert_eq!(after == before, name == "accepted.yaml");
        assert_eq!(run_with(words, &after).stdout, after);
    }
}

#[test]
fn permissions_and_symbolic_links_stay() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let path = fixable();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let link = path.replace("fixable.yaml", "link.yaml");
    symlink("fixable.yaml", &link).unwrap();
    run(&format!("fix -f {link} --arch amd64=3,arm64=2 --write")).exits(1);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(read(&path).contains("'amd64,arm64'"));
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

/// A file that cannot be written is not counted as fixed.
#[test]
fn a_read_only_file_stays() {
    use std::os::unix::fs::PermissionsExt as _;

    let path = fixable();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let fix = run(&format!("fix -f {path} --arch amd64=3,arm64=2 --write"));
    let fix = fix.exits(2).notes("not written: ");
    assert!(!fix.stderr.contains(" fixed"), "{fix:?}");
    assert_eq!(read(&path), file("fixable.yaml"));
}

/// Runs `fix` in a copy of a file against a cluster with another live object: the run, and the file.
fn fix_with_live(text: &str, words: &str, change: impl FnOnce(&mut Value)) -> (Run, String) {
    let server = ApiServer::start(with_live(change));
    let path = written("hco.yaml", text);
    let mut fix = command_on(&server);
    fix.current_dir(Path::new(&path).parent().unwrap());
    let words = format!("fix -f hco.yaml --cluster {words}");
    (run_of(fix, words.split_whitespace()), read(&path))
}

const HEAD: &str = "apiVersion: hco.kubevirt.io/v1beta1\nkind: HyperConverged\nmetadata: {name: kubevirt-hyperconverged, namespace: kubevirt-hyperconverged}\n";

/// A template in a flow mapping.
fn template(name: &str, architectures: &str) -> String {
    format!(
        "  - metadata: {{name: {name}, annotations: {{ssp.kubevirt.io/dict.architectures: \"{architectures}\"}}}}\n    spec: {{schedule: 0 */12 * * *, managedDataSource: {name}, template: {{spec: {{storage: {{resources: {{requests: {{storage: 10Gi}}}}}}, source: {{registry: {{url: \"docker://example.com/{name}\"}}}}}}}}}}\n"
    )
}

/// The import was enabled by `kubectl patch`, and is not in the file.
#[test]
fn what_the_live_object_has_is_not_fixed_in_the_file() {
    let text = file("accepted-live.yaml");
    let (run, file) = fix_with_live(&text, "--write", |live| {
        live["spec"]["featureGates"]["enableMultiArchBootImageImport"] = json!(true);
    });
    run.exits(0).notes("nothing to fix");
    assert_eq!(file, text);
}

/// `kubectl replace` removes fields that the file does not have. The file gets the feature gate, but no other field of
/// the live object.
#[test]
fn a_file_that_replaces_the_live_object_is_fixed_as_it_is_sent() {
    let text = file("accepted-live.yaml");
    let words = "--as-if replace --enable-import --write";
    let (run, file) = fix_with_live(&text, words, with_import);
    run.exits(0).notes("1 finding fixed");
    let added = "  featureGates:\n    enableMultiArchBootImageImport: true\n";
    assert_eq!(file.replace(added, ""), text);
    assert_ne!(file, text);
    let (run, _) = fix_with_live(&file, "--as-if replace", with_import);
    run.exits(0).notes("nothing to fix");
    // The live status has HCO 1.19, in which the import is not a preview any more.
    let (run, _) = fix_with_live(&text, "--as-if replace", |live| {
        with_import(live);
        live["metadata"]["resourceVersion"] = json!("1");
        live["status"]["versions"] = json!([{"name": "operator", "version": "1.19.0"}]);
    });
    run.notes(" can be fixed: run again with --write");
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
    let (run, file) = fix_with_live(&text, "--write", |live| {
        live["spec"]["featureGates"]["enableMultiArchBootImageImport"] = json!(true);
        let templates = yaml_serde::from_str(&template("one", "amd64, arm64"));
        live["spec"]["dataImportCronTemplates"] = templates.unwrap();
    });
    assert_eq!(file, text);
    let error = "error: hco.yaml:1: [architectures-malformed] not changed: applying the corrected file would not change this in the live object; fix the live object with the command that `-o commands` prints without -f\n";
    assert_eq!(run.exits(1).stderr.matches(error).count(), 1);
}

/// The behavior is the same as with a cluster. Otherwise, the file would be compared with another object.
#[test]
fn a_file_without_a_namespace_is_for_that_of_the_flag() {
    let alone = file("fixable.yaml").replace("  namespace: kubevirt-hyperconverged\n", "");
    let object: Value = yaml_serde::from_str(&alone).unwrap();
    let directory = scratch();
    fs::write(directory.join("nodes.yaml"), file("nodes.yaml")).unwrap();
    let objects = ["aaa", "bbb"];
    let objects = objects.map(|it| edited(&object, &json!({"/metadata/namespace": it})));
    fs::write(directory.join("objects.json"), list(objects).to_string()).unwrap();
    let several = "--from has several HyperConverged objects: specify -n";
    let new = "checked as a new object: --from has no HyperConverged other/";
    for (flag, note) in [("", several), ("-n bbb", "can be fixed"), ("-n other", new)] {
        let words = format!("fix -f - --from {} --unsafe {flag}", directory.display());
        run_with(&words, &alone).notes(note);
    }
}

/// These findings have fixes that also change feature gates.
#[test]
fn a_wrong_feature_gate_is_corrected_if_that_is_wanted() {
    let field = "\n  workloadSources: {enableMultiArchBootImageImport: false}";
    for (rule, gate, field) in [
        (
            "import-contradiction",
            "enableMultiArchBootImageImport",
            field,
        ),
        (
            "import-gate-misspelled",
            "enableMultiArchBootImagesImport",
            "",
        ),
    ] {
        let spec = format!("spec:\n  featureGates: [{{name: {gate}, state: Enabled}}]{field}\n");
        let text = HEAD.replace("v1beta1", "v1") + &spec;
        let fix = |flag: &str| run_with(&format!("fix -f - --arch amd64=3 {flag}"), &text);
        fix("").notes(rule);
        let fixed = fix("--unsafe");
        let is_fixed = !fixed.stdout.is_empty() && !fixed.stderr.contains(rule);
        assert!(is_fixed, "{fixed:?}");
        // A fix that disables the import does not contradict the placement.
        let placed = fix("--unsafe --place-on amd64");
        let is_disabled = placed.stdout.contains("Disabled") && !placed.stderr.contains(rule);
        assert_eq!(is_disabled, rule == "import-contradiction", "{placed:?}");
    }
}

/// The version of HCO is not known, so the import may be a preview.
#[test]
fn a_choice_that_is_open_does_not_block_other_fixes() {
    let fix =
        |text: &str, flag: &str| run_with(&format!("fix -f - --arch amd64=3,arm64=2 {flag}"), text);
    let enable = "dataimportcrontemplate.kubevirt.io/enable: \"yes\", ssp.kubevirt.io";
    let template = template("one", "amd64,arm64").replace("ssp.kubevirt.io", enable);
    let text = format!("{HEAD}spec:\n  dataImportCronTemplates:\n{template}");
    let enabled = "dataimportcrontemplate.kubevirt.io/enable: \"true\"";
    fix(&text, "--unsafe").prints(&[enabled]);
    let gate = "featureGates: [{name: enableMultiArchBootImageImport, state: Disabled}]";
    let field = "workloadSources: {enableMultiArchBootImageImport: true}";
    let text = HEAD.replace("v1beta1", "v1") + &format!("spec:\n  {gate}\n  {field}\n");
    fix(&text, "--unsafe").notes("1 finding for you to decide");
    fix(&text, "--enable-import").lacks(&["import-contradiction"]);
}

/// On nodes of one architecture, an annotation without effect is not a reason to import every image again.
#[test]
fn the_import_is_not_enabled_for_an_annotation_that_has_no_effect() {
    let text = format!(
        "{HEAD}spec:\n  featureGates: {{enableMultiArchBootImageImport: false}}\n  dataImportCronTemplates:\n{}",
        template("one", "amd64")
    );
    let fix = |words: &str| run_with(&format!("fix -f - --unsafe --arch {words}"), &text);
    let alone = fix("amd64=3").notes("[architectures-ignored]");
    assert_eq!(alone.notes("or: remove the annotation").stdout, "");
    // If the version of HCO is not known, the import may be a preview.
    assert_eq!(fix("amd64=3,arm64=2").stdout, "");
    fix("amd64=3,arm64=2 --enable-import").prints(&["enableMultiArchBootImageImport: true"]);
    let placed = fix("amd64=3,arm64=2 --place-on amd64").stderr;
    assert!(!placed.contains("architectures-ignored"), "{placed}");
}

/// A terminal must not execute any part of a manifest, and a runner must not read it as a command.
#[test]
fn a_diff_is_not_printed_raw() {
    let text = file("fixable.yaml").replace("# what the image has", "# \u{1b}[2J\u{202e}");
    let fix = run_with("fix -f - --arch amd64=3,arm64=2", &text);
    fix.prints(&["# \\u{1b}[2J\\u{202e}"]);
}

/// Without the tab, `patch` reads the name of the file only up to the blank.
#[test]
fn a_blank_in_the_name_of_a_file_does_not_end_it() {
    let file = written("my file.yaml", file("fixable.yaml"));
    let directory = Path::new(&file).parent().unwrap();
    let fix = run_in(directory, "fix -f . --arch amd64=3,arm64=2");
    fix.prints(&["--- ./my file.yaml\t\n+++ ./my file.yaml\t\n"]);
}

/// The module lists 128 findings of a rule. `check` says that there are more, and `fix` fixes all of them.
#[test]
fn more_findings_than_are_listed_are_fixed() {
    let templates = (0..200).map(|number| template(&format!("t{number}"), "amd64, arm64"));
    let text = format!(
        "{HEAD}spec:\n  featureGates: {{enableMultiArchBootImageImport: true}}\n  dataImportCronTemplates:\n{}",
        templates.collect::<String>()
    );
    let checked = run_with("check -f - --arch amd64=3,arm64=2", &text);
    checked.notes(" more findings are not listed");
    let fixed = run_with("fix -f - --arch amd64=3,arm64=2 --write", &text).exits(0);
    assert_eq!(fixed.stdout, text.replace("amd64, arm64", "amd64,arm64"));
}

/// A cluster can change until the user pastes the command, and a snapshot is even older.
#[rstest]
fn a_patch_is_refused_by_a_changed_object(#[values(true, false)] is_snapshot: bool) {
    let answers = recorded();
    let list = "GET /apis/hco.kubevirt.io/v1/hyperconvergeds";
    let list = answers.iter().find(|answer| answer["request"] == list);
    let live = list.unwrap()["body"]["items"][0].clone();
    let server = ApiServer::start(answers);
    let mut from = "--cluster".to_owned();
    if is_snapshot {
        from = format!("--from {}", snapshot(&server));
    }
    let words = format!("fix --enable-import -o commands {from}");
    let fix = run_on(&server, &words).exits(1);
    let note = "note: if an object has changed since it was read, the API server rejects its patch";
    let line = fix.notes(note).stdout;
    assert!(line.contains(" kubevirt-hyperconverged "), "{line}");
    assert_eq!(!line.contains("--context"), is_snapshot);
    let (_, patch) = line.split_once(" -p '").unwrap();
    let patch = patch.trim_end().trim_end_matches('\'');
    let patch: json_patch::Patch = serde_json::from_str(patch).unwrap();
    let patched = |mut object: Value| json_patch::patch(&mut object, &patch);
    assert!(patched(live.clone()).is_ok(), "{line}");
    for field in ["/metadata/uid", "/metadata/generation"] {
        let changed = edited(&live, &json!({field: "another"}));
        assert!(patched(changed).is_err(), "{field}");
    }
}

/// kubectl would read such a name as a flag, even in quotes.
#[test]
fn a_command_holds_no_name_that_is_a_flag() {
    let object: Value = yaml_serde::from_str(&file("fixable.yaml")).unwrap();
    for field in ["name", "namespace"] {
        for wrong in ["--server=http://127.0.0.1:18777", "--all", "-"] {
            let object = edited(&object, &json!({format!("/metadata/{field}"): wrong}));
            let text = format!("{object}\n---\n{}", file("nodes.yaml"));
            let from = written("cluster.yaml", text);
            let fix = run(&format!("fix --unsafe -o commands --from {from}"));
            let note =
                format!("the {field} is not a valid object name, so there is no command for it");
            assert_eq!(fix.notes(&note).stdout, "");
        }
    }
}

/// Another context may be current when the user pastes the command.
#[test]
fn a_command_names_the_cluster_that_it_is_for() {
    let server = ApiServer::start(recorded());
    let words = "fix --cluster --enable-import -o commands";
    let command = run_on(&server, words).stdout;
    let expected = "kubectl patch hyperconvergeds.v1.hco.kubevirt.io kubevirt-hyperconverged -n kubevirt-hyperconverged --context admin --type json -p ";
    assert!(command.starts_with(expected), "{command}");
    let kubeconfig = server.kubeconfig().display();
    let flags = format!("--context limited --kubeconfig {kubeconfig} --as admin");
    let expected = format!(" {flags} --type json");
    run_on(&server, &format!("{words} {flags}")).prints(&[&expected]);
}

/// Enabling the import alone would be denied, because the annotations are missing.
#[test]
fn a_command_that_would_be_denied_is_not_printed() {
    let [linux, mut windows] =
        ["linux", "windows"].map(|name| objects::template(name, None, "docker://x.io/a"));
    windows["metadata"]["labels"] =
        json!({"instancetype.kubevirt.io/default-preference": "windows.2k22"});
    let object = hyperconverged(json!({
        "spec": {"dataImportCronTemplates": [linux, windows]},
        "status": {"versions": [{"name": "operator", "version": "1.19.0"}]},
    }));
    let nodes: Value = yaml_serde::from_str(&file("nodes.yaml")).unwrap();
    let cluster = written("cluster.json", list([object, nodes]).to_string());
    let words = &format!("fix --from {cluster} --enable-import -o commands");
    let fix = run(words).exits(1);
    let fix = fix.notes("not printed, because this change alone would be denied: [architectures-missing] linux, [architectures-missing] windows; add --images");
    assert_eq!(fix.stdout, "");
    let annotation = |value| format!(r#"dict.architectures","value":"{value}"}}"#);
    run(&format!("{words} --unsafe")).prints(&[&annotation("amd64,arm64"), &annotation("amd64")]);
}

/// A file as `kubectl get -o yaml` writes it, with fields that are not sent.
#[rstest]
#[case::a_file("--nodes nodes.yaml")]
#[case::replaced("--from LIVE --as-if replace")]
fn fields_that_are_not_sent_stay_in_the_file(#[case] words: &str) {
    let object = list([hyperconverged(json!({
        "metadata": {"uid": "a", "resourceVersion": "1", "generation": 1},
        "spec": {
            "enableCommonBootImageImport": false,
            "featureGates": {"enableMultiArchBootImageImport": true},
            "dataImportCronTemplates": [objects::template("mine", Some("amd64, arm64"), "docker://x.io/a")],
        },
        "status": {"observedGeneration": 1, "versions": [{"name": "operator", "version": "1.19.0"}]},
    }))]);
    let path = written("hco.json", object.to_string());
    let live = format!("{object}\n---\n{}", file("nodes.yaml"));
    let words = words.replace("LIVE", &written("live.json", live));
    run(&format!("fix -f {path} {words} --write"))
        .exits(0)
        .notes("fixed");
    let fixed: Value = yaml_serde::from_str(&read(&path)).unwrap();
    let (before, after) = (&object["items"][0], &fixed["items"][0]);
    assert_eq!(after["status"], before["status"]);
    assert_eq!(after["metadata"], before["metadata"]);
    assert_ne!(after["spec"], before["spec"]);
}

/// A file with an object and the nodes of a cluster.
fn with_nodes(object: Value) -> String {
    let node = |name: &str, architecture: &str| objects::node(name, architecture, "worker");
    let all = list(vec![object, node("a", "amd64"), node("b", "arm64")]);
    written("from.json", all.to_string())
}

/// `fix` evaluates what `check` evaluates: an update of the live object.
#[test]
fn an_update_is_fixed_as_it_is_checked() {
    let object = |field: Value, more: Value| {
        let gates = json!([{"name": "enableMultiArchBootImageImport", "state": "Enabled"}]);
        let own = objects::template("mine", Some("amd64,arm64"), "docker://a.test/b:1");
        let sources =
            json!({"enableMultiArchBootImageImport": field, "dataImportCronTemplates": [own]});
        let object =
            hyperconverged(json!({"spec": {"featureGates": gates, "workloadSources": sources}}));
        edited(
            &edited(&object, &json!({"/apiVersion": "hco.kubevirt.io/v1"})),
            &more,
        )
    };
    let versions = json!([{"name": "operator", "version": "1.19.0"}]);
    let is_live = json!({"/metadata/resourceVersion": "5", "/status": {"versions": versions}});
    let live = object(json!(true), is_live);
    let from = with_nodes(live);
    // The field is removed, so HCO drops the gate, and the import is off.
    let file = written("hco.yaml", object(Value::Null, json!({})).to_string());
    let words = format!("-f {file} --from {from} --as-if replace");
    let check = run(&format!("check {words}")).exits(1);
    check.prints(&["✘ deny  multi-arch-import-disabled", "2 fixable"]);
    run(&format!("fix {words}"))
        .exits(1)
        .notes("2 findings can be fixed");
    run(&format!("fix {words} --write")).exits(0);
    run(&format!("check {words}")).exits(0);
}

/// A warning that needs a review does not fail, even if only the live object has the value.
#[test]
fn a_review_of_the_live_object_is_no_error() {
    let own = objects::template("mine", Some("amd64"), "docker://a.test/b:1");
    let gate = json!({"enableMultiArchBootImageImport": true});
    let spec = json!({"featureGates": gate, "dataImportCronTemplates": [own]});
    let live = edited(
        &hyperconverged(json!({"spec": spec})),
        &json!({"/metadata/resourceVersion": "5"}),
    );
    let from = with_nodes(live);
    let file = written(
        "hco.yaml",
        hyperconverged(json!({"spec": {"featureGates": gate}})).to_string(),
    );
    let run = run(&format!("fix -f {file} --from {from}")).exits(0);
    run.notes("1 finding to review").lacks(&["error:"]);
}

/// The editor does not change a value that others share, but everything else.
#[test]
fn a_shared_value_does_not_prevent_other_fixes() {
    let aliased = |name: &str, value: &str| template(name, "X").replace("\"X\"", value);
    let templates = [
        aliased("a", "&value \"amd64,amd64,arm64\""),
        aliased("b", "*value"),
        template("c", "amd64, arm64"),
    ];
    let text = format!(
        "apiVersion: hco.kubevirt.io/v1beta1\nkind: HyperConverged\nmetadata: {{name: kubevirt-hyperconverged, namespace: kubevirt-hyperconverged}}\nspec:\n  featureGates: {{enableMultiArchBootImageImport: true}}\n  dataImportCronTemplates:\n{}",
        templates.concat()
    );
    let path = written("hco.yaml", &text);
    let run = run(&format!("fix -f {path} --arch amd64=3,arm64=2 --write")).exits(1);
    run.notes("not completely changed: ");
    let after = read(&path);
    assert!(after.contains("&value"), "{after}");
    assert!(!after.contains("amd64, arm64"), "{after}");
}

/// A change that HCO's webhook denies is not printed.
#[test]
fn a_fix_that_hco_denies_is_not_printed() {
    let template = objects::template("mine", Some("amd64, arm64"), "docker://quay.io/a/b:1");
    let lists = json!({"workloadsArchitectures": ["amd64", "ppc64le"], "controlPlaneArchitectures": ["amd64"]});
    let live = hyperconverged(json!({
        "metadata": {"uid": "0c4e", "resourceVersion": "1", "generation": 1},
        "spec": {"featureGates": {"enableMultiArchBootImageImport": true}, "dataImportCronTemplates": [template]},
        "status": {"nodeInfo": lists, "observedGeneration": 1},
    }));
    let nodes = ["amd64", "arm64", "ppc64le"].map(|name| objects::node(name, name, "worker"));
    let from = written(
        "from.json",
        list([&[live][..], &nodes].concat()).to_string(),
    );
    let what =
        "not printed, because this change alone would be denied: [cluster-architecture-unknown]";
    let commands = run(&format!("fix --from {from} -o commands")).exits(1);
    assert_eq!(commands.notes(&format!("{what}\n")).stdout, "");
}

/// The choice holds for every rule with a placement.
#[test]
fn the_chosen_architecture_is_the_one_that_is_set() {
    let arch = "--arch amd64=1,arm64=1,ppc64le=1";
    let fix = run(&format!(
        "fix -f accepted.yaml {arch} --place-on arm64 --unsafe"
    ));
    fix.prints(&["kubernetes.io/arch: arm64"])
        .lacks(&["kubernetes.io/arch: amd64"]);
}
