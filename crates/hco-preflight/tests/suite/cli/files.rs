//! Selects the files to read, and the files to skip.

use std::fs;
use std::path::{Path, PathBuf};

use rstest::{Context, rstest};

use super::{command, files, run, scratch};

/// Writes files below a directory.
fn written(name: &str, contents: &[(&str, &str)]) -> PathBuf {
    let directory = scratch(name);
    for (file, text) in contents {
        let path = directory.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

/// Runs a command line in a directory: the output, the notes and errors, and the exit code.
fn run_in(directory: &Path, words: &str) -> (String, String, i32) {
    let mut command = command();
    command
        .current_dir(directory)
        .args(words.split_whitespace());
    // As if the directory did not belong to a repository.
    command.env("GIT_CEILING_DIRECTORIES", env!("CARGO_TARGET_TMPDIR"));
    let output = command.output().unwrap();
    (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
        output.status.code().unwrap(),
    )
}

fn accepted() -> String {
    fs::read_to_string(files().join("accepted.yaml")).unwrap()
}

const PATCH: &str = "apiVersion: hco.kubevirt.io/v1\nkind: HyperConverged\nmetadata: {name: kubevirt-hyperconverged}\nspec: {}\n";

/// A patch has only some of the fields, so a verdict on it would be meaningless.
#[rstest]
#[case::patches("patches: [{path: patch.yaml}]")]
#[case::strategic("patchesStrategicMerge: [patch.yaml]")]
#[case::of_a_base(
    "resources: [base.yaml]\npatches:\n- path: ./patch.yaml\n  target: {kind: HyperConverged}"
)]
#[case::json("patchesJson6902: [{path: patch.yaml}]")]
fn a_patch_of_a_kustomization_is_not_judged(#[case] kustomization: &str) {
    let accepted = accepted();
    let contents = [
        ("overlay/kustomization.yaml", kustomization),
        ("overlay/patch.yaml", PATCH),
        ("overlay/base.yaml", accepted.as_str()),
    ];
    let name = format!("kustomization-{}", kustomization.len());
    let directory = written(&name, &contents);
    let note = "note: skipped the kustomization overlay and its patches; to include what it builds, pipe `kubectl kustomize overlay` to -f -\n";
    let (printed, notes, code) = run_in(&directory, "check -f overlay --arch amd64=1");
    assert!(notes.contains(note), "{notes}");
    assert!(printed.contains("1 object: accepted"), "{printed}");
    assert_eq!(code, 0);
    // If the user names only the patch, there is nothing else to check.
    let (_, notes, code) = run_in(&directory, "check -f overlay/patch.yaml --arch amd64=1");
    assert!(
        notes.contains("pipe `kubectl kustomize overlay`"),
        "{notes}"
    );
    assert_eq!(code, 2);
}

/// The command does not have the option -R.
#[test]
fn a_plan_says_how_to_read_a_directory() {
    let directory = written("plan-directory", &[("d/my dir/hco.yaml", &accepted())]);
    let words = format!(
        "plan --from {} -f d",
        files().join("plan-cluster.yaml").display()
    );
    let (_, notes, code) = run_in(&directory, &words);
    let note = "note: d/my dir: skipped a directory; to include it, add -f 'd/my dir'\n";
    assert!(notes.contains(note), "{notes}");
    assert_eq!(code, 2);
}

/// If the user names a file, it has to be checked, whatever it contains.
#[test]
fn a_file_that_is_named_has_to_be_a_manifest() {
    let contents = [
        ("d/values.yaml", "a: 1\nb: [\n"),
        ("d/hco.yaml", &accepted()),
    ];
    let directory = written("named-files", &contents);
    let (_, errors, code) = run_in(&directory, "check -f d/values.yaml --arch amd64=1");
    assert!(
        errors.contains("error: d/values.yaml:3: cannot be read as YAML or JSON"),
        "{errors}"
    );
    assert_eq!(code, 2);
    let (_, notes, code) = run_in(&directory, "check -f d --arch amd64=1");
    assert!(
        notes.contains("error: d/values.yaml:3: cannot be read as YAML or JSON"),
        "{notes}"
    );
    assert_eq!(code, 2);
}

/// The command looks for a kustomization next to each file.
#[cfg(unix)]
#[test]
fn a_kustomization_that_is_no_file_is_none() {
    let directory = written("kustomization-device", &[("hco.yaml", &accepted())]);
    let link = directory.join("kustomization.yaml");
    std::os::unix::fs::symlink("/dev/zero", link).unwrap();
    let (_, notes, code) = run_in(&directory, "check -f hco.yaml --arch amd64=1");
    assert_eq!((code, &*notes), (0, ""));
}

/// The command would read it until the memory is full.
#[cfg(unix)]
#[rstest]
#[case::nodes("check -f accepted.yaml --nodes /dev/zero")]
#[case::policy("check -f accepted.yaml --arch amd64=1 --policy /dev/zero")]
#[case::sources("images -f accepted.yaml --sources-path /dev/zero")]
fn a_file_without_end_is_an_error(#[case] words: &str) {
    let output = run(words);
    let errors = String::from_utf8(output.stderr).unwrap();
    let last = errors.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("error: ") && last.contains("/dev/zero"),
        "{errors}"
    );
    assert!(last.contains("it has more than 256 MiB"), "{errors}");
    assert_eq!(output.status.code(), Some(2));
}

#[cfg(unix)]
#[test]
fn what_directories_have_besides_is_counted_once() {
    let accepted = accepted();
    let contents = [
        (".gitignore", "build/\n*.tmp.yaml\n!kept.tmp.yaml\n"),
        ("build/a.yaml", accepted.as_str()),
        ("b.tmp.yaml", &accepted),
        ("kept.tmp.yaml", &accepted),
        ("c.yaml", "{{ x }}: ["),
        ("f.yaml", &accepted),
        (".git/config.yaml", &accepted),
    ];
    let directory = written("skipped", &contents);
    std::os::unix::fs::symlink(".", directory.join("up")).unwrap();
    let (printed, notes, code) = run_in(&directory, "check -f . -R --arch amd64=1");
    assert_eq!(code, 0, "{notes}");
    assert!(printed.contains("2 objects: accepted"), "{printed}");
    let skipped: Vec<&str> = notes.lines().filter(|it| it.contains("skipped")).collect();
    let expected = "note: skipped 1 file (a link to a directory), 2 files (in .gitignore; --include-ignored includes it)";
    let templates = "note: skipped templates (`{{ }}`) that do not name a HyperConverged: ./c.yaml";
    assert_eq!(skipped, [expected, templates]);
    let (printed, _, _) = run_in(&directory, "check -f . -R --include-ignored --arch amd64=1");
    assert!(printed.contains("4 objects: accepted"), "{printed}");
}

/// The command may only change files in the given directory.
#[cfg(unix)]
#[test]
fn a_link_out_of_the_directory_is_not_written() {
    let fixable = fs::read_to_string(files().join("fixable.yaml")).unwrap();
    let directory = written("write-outside", &[("outside.yaml", fixable.as_str())]);
    fs::create_dir(directory.join("tree")).unwrap();
    let link = directory.join("tree/link.yaml");
    std::os::unix::fs::symlink("../outside.yaml", link).unwrap();
    let words = "fix -f tree --arch amd64=3,arm64=2 --write --unsafe";
    let (_, errors, code) = run_in(&directory, words);
    assert_eq!(code, 2);
    assert!(
        errors.contains("which is not in tree; to change that file, name it with -f"),
        "{errors}"
    );
    assert_eq!(
        fs::read_to_string(directory.join("outside.yaml")).unwrap(),
        fixable
    );
    let (_, errors, code) = run_in(&directory, &words.replace("tree ", "tree/link.yaml "));
    assert_eq!(code, 0, "{errors}");
    assert_ne!(
        fs::read_to_string(directory.join("outside.yaml")).unwrap(),
        fixable
    );
}

/// Code scanning identifies files by their path in the repository.
#[rstest]
#[case::github("github")]
#[case::gitlab("gitlab")]
#[case::sarif("sarif")]
fn places_are_relative_to_the_repository(#[case] format: &str) {
    let denied = fs::read_to_string(files().join("denied.yaml")).unwrap();
    let contents = [(".git/HEAD", ""), ("deploy/hco.yaml", denied.as_str())];
    let directory = written(&format!("repository-{format}"), &contents);
    let absolute = directory.join("deploy/hco.yaml").display().to_string();
    for (place, file) in [
        (".", "./deploy/hco.yaml"),
        ("deploy", "./hco.yaml"),
        ("deploy", absolute.as_str()),
    ] {
        let words = format!("check -f {file} --arch amd64=3,arm64=2 -o {format}");
        let (printed, errors, _) = run_in(&directory.join(place), &words);
        let place = match format {
            "github" => "file=deploy/hco.yaml,",
            "gitlab" => "\"path\": \"deploy/hco.yaml\"",
            _ => "\"uri\": \"deploy/hco.yaml\"",
        };
        assert!(printed.contains(place), "{file}: {printed}{errors}");
    }
}

/// The command compares patterns with the printed paths, both for named files and for files in a directory.
#[rstest]
#[case::a_directory("-R -f deploy", "deploy/charts", 1)]
#[case::with_a_slash("-R -f deploy", "deploy/charts/", 1)]
#[case::everything_below("-R -f deploy/", "deploy/charts/*", 1)]
#[case::of_any_directory("-R -f .", "**/charts/**", 1)]
#[case::an_ending("-R -f .", "*.tmpl.yaml", 1)]
#[case::without_the_dot("-R -f .", "deploy/charts", 1)]
#[case::with_the_dot("-R -f deploy", "./deploy/charts", 1)]
#[case::a_file_that_is_named("-f deploy/a.yaml -f deploy/charts/b.tmpl.yaml", "deploy/charts/*", 1)]
#[case::not_from_the_middle("-R -f deploy", "charts/*", 2)]
fn what_a_pattern_excludes_is_not_read(
    #[case] words: &str,
    #[case] pattern: &str,
    #[case] judged: usize,
) {
    let broken = "kind: HyperConverged\n  spec: {{ .Values.spec }}\n";
    let name = format!(
        "exclude-{}-{}",
        words.len(),
        pattern.replace(['/', '*'], "_")
    );
    let accepted = accepted();
    let contents = [
        ("deploy/a.yaml", accepted.as_str()),
        ("deploy/charts/b.tmpl.yaml", broken),
    ];
    let directory = written(&name, &contents);
    let words = format!("check {words} --exclude {pattern} --arch amd64=3");
    let (_, notes, code) = run_in(&directory, &words);
    let is_excluded = judged == 1;
    assert_eq!(code, if is_excluded { 0 } else { 2 }, "{notes}");
    let note = "skipped 1 file (--exclude)";
    assert_eq!(notes.contains(note), is_excluded, "{notes}");
}

/// A `HyperConverged` without the import, on one line.
const DENIED: &str = "{apiVersion: hco.kubevirt.io/v1beta1, kind: HyperConverged, metadata: {name: kubevirt-hyperconverged, namespace: kubevirt-hyperconverged}, spec: {}}";

fn wrapped(text: &str) -> String {
    text.replace("DENIED", DENIED)
}

const POLICY: &str = "\
apiVersion: policy.open-cluster-management.io/v1
kind: Policy
metadata: {name: hco, namespace: policies}
spec:
  remediationAction: enforce
  policy-templates:
    - objectDefinition:
        apiVersion: policy.open-cluster-management.io/v1
        kind: ConfigurationPolicy
        metadata: {name: hco}
        spec:
          object-templates:
            - complianceType: mustnothave
              objectDefinition: {apiVersion: v1, kind: Namespace, metadata: {name: old}}
            - complianceType: mustonlyhave
              objectDefinition:
                DENIED
";

const CONFIGURATION: &str = "\
apiVersion: policy.open-cluster-management.io/v1
kind: ConfigurationPolicy
metadata: {name: hco}
spec:
  object-templates:
    - complianceType: musthave
      objectDefinition: DENIED
";

const WORK: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: east}
---
apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: hco, namespace: east}
spec:
  workload:
    manifests:
      - {apiVersion: v1, kind: Namespace, metadata: {name: kubevirt-hyperconverged}}
      # The object.
      - DENIED
";

const REPLICAS: &str = "\
apiVersion: work.open-cluster-management.io/v1alpha1
kind: ManifestWorkReplicaSet
metadata: {name: hco}
spec:
  manifestWorkTemplate:
    workload:
      manifests:
        - DENIED
";

const LIST: &str = "\
apiVersion: v1
kind: List
items:
  - apiVersion: work.open-cluster-management.io/v1
    kind: ManifestWork
    spec:
      workload:
        manifests: [DENIED]
";

#[rstest]
#[case::policy(POLICY, "16", false)]
#[case::configuration_policy(CONFIGURATION, "7", true)]
#[case::manifest_work(WORK, "13", false)]
#[case::replicas(REPLICAS, "8", false)]
#[case::list(LIST, "8", false)]
fn an_object_inside_another_one_is_judged_at_its_place(
    #[case] text: &str,
    #[case] line: &str,
    #[case] is_merged: bool,
    #[context] context: Context,
) {
    let name = format!("wrapped-{}", context.description.unwrap());
    let text = wrapped(text);
    let directory = written(&name, &[("file.yaml", &text)]);
    let words = "check -f file.yaml --arch amd64=3,arm64=2";
    let (verdicts, notes, code) = run_in(&directory, words);
    assert_eq!(code, 1, "{verdicts}{notes}");
    let place = format!("\n  file.yaml:{line} · hco.kubevirt.io/v1beta1 ");
    assert!(verdicts.contains(&place), "{verdicts}");
    let note = format!("file.yaml:{line}: the policy around this object has `musthave`");
    assert_eq!(notes.contains(&note), is_merged, "{notes}");

    let (_, notes, _) = run_in(&directory, &words.replace("check", "fix --write"));
    let fixed = fs::read_to_string(directory.join("file.yaml")).unwrap();
    assert!(
        fixed.contains("enableMultiArchBootImageImport: true"),
        "{notes}\n{fixed}"
    );
    let (verdicts, _, code) = run_in(&directory, words);
    assert_eq!(code, 0, "{fixed}\n{verdicts}");
    // Nothing else in the file has changed.
    let before = text.split_once(DENIED).unwrap();
    assert!(
        fixed.starts_with(before.0) && fixed.ends_with(before.1),
        "{fixed}"
    );
}

/// Such texts become objects only when a cluster evaluates them, and such objects must not exist.
#[rstest]
#[case::raw(
    "  object-templates-raw: |\n    {{ range }}\n    - objectDefinition: {kind: HyperConverged}\n",
    "file.yaml:1: skipped `object-templates-raw` with a HyperConverged"
)]
#[case::must_not_have(
    "  object-templates:\n    - complianceType: MustNotHave\n      objectDefinition: DENIED\n",
    "skipped 1 document of other kinds: ConfigurationPolicy (1)"
)]
fn raw_templates_and_forbidden_objects_are_skipped(#[case] spec: &str, #[case] note: &str) {
    let text = "apiVersion: policy.open-cluster-management.io/v1\nkind: ConfigurationPolicy\nmetadata: {name: hco}\nspec:\n";
    let text = wrapped(&format!("{text}{spec}"));
    let directory = written(
        &format!("unwrapped-{}", note.len()),
        &[("file.yaml", &text)],
    );
    let words = "check -f file.yaml --arch amd64=3,arm64=2 --allow-empty";
    let (_, notes, code) = run_in(&directory, words);
    assert!(notes.contains(note), "{notes}");
    assert_eq!(code, 0);
}

/// A value that only the cluster knows is neither valid nor invalid.
#[test]
fn an_object_with_a_template_of_a_policy_is_not_checked() {
    let text = "apiVersion: policy.open-cluster-management.io/v1\nkind: ConfigurationPolicy\nmetadata: {name: hco}\nspec:\n  object-templates:\n    - complianceType: musthave\n      objectDefinition:\n        apiVersion: hco.kubevirt.io/v1beta1\n        kind: HyperConverged\n        metadata: {name: hco}\n        spec: {workloads: {nodePlacement: {nodeSelector: {kubernetes.io/arch: '{{hub index .ManagedClusterLabels \"arch\" hub}}'}}}}\n";
    let directory = written("files-evaluated", &[("file.yaml", text)]);
    let (verdicts, notes, code) = run_in(&directory, "check -f file.yaml --arch amd64=3,arm64=2");
    assert_eq!(code, 2, "{verdicts}{notes}");
    let error = "file.yaml:7: not checked: a value is a template (`{{ }}`), which is evaluated in the cluster; check the object that it becomes";
    assert!(notes.contains(error), "{verdicts}{notes}");
    let known = text.replace("{{hub index .ManagedClusterLabels \"arch\" hub}}", "amd64");
    // The cluster does not evaluate templates there.
    let work = "apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata: {name: hco}\nspec:\n  workload:\n    manifests:\n      - apiVersion: hco.kubevirt.io/v1beta1\n        kind: HyperConverged\n        metadata: {name: hco, annotations: {mine: '{{ x }}'}}\n        spec: {workloads: {nodePlacement: {nodeSelector: {kubernetes.io/arch: amd64}}}}\n";
    for (name, text) in [("known", &*known), ("work", work)] {
        let directory = written(&format!("files-{name}"), &[("file.yaml", text)]);
        let (_, notes, code) = run_in(&directory, "check -f file.yaml --arch amd64=3,arm64=2");
        assert_eq!(code, 0, "{notes}");
    }
}

/// The command does not know how another kind changes the objects inside it.
#[test]
fn an_object_inside_another_one_is_an_error() {
    let text = "\
apiVersion: example.com/v1
kind: Bundle
spec:
  manifests:
    - {apiVersion: hco.kubevirt.io/v1beta1, kind: HyperConverged, metadata: {name: hco}}
";
    let directory = written("inside", &[("file.yaml", text), ("hco.yaml", &accepted())]);
    let (verdicts, notes, code) = run_in(&directory, "check -f . --arch amd64=3");
    let note = "error: ./file.yaml:1: not checked: the HyperConverged inside this Bundle; check it in a file of its own\n";
    assert!(notes.contains(note), "{notes}");
    assert!(verdicts.contains("1 object: accepted"), "{verdicts}");
    assert_eq!(code, 2);
}

/// Reading a pipe would never end.
#[cfg(unix)]
#[test]
fn what_is_not_a_file_is_skipped_in_a_directory() {
    let directory = scratch("files-socket");
    let socket = directory.join("socket.yaml");
    let _ = fs::remove_file(&socket);
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    fs::copy(
        files().join("accepted.yaml"),
        directory.join("accepted.yaml"),
    )
    .unwrap();
    let output = run(&format!("check --arch amd64=1 -f {}", directory.display()));
    let notes = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(
        notes.contains("skipped 1 file (not a regular file)"),
        "{notes}"
    );
}

/// A workflow would interpret the second line as a command.
#[cfg(unix)]
#[rstest]
#[case("settings --settings FILE")]
#[case("check -f accepted.yaml --nodes FILE")]
#[case("check -f accepted.yaml --arch amd64=1 --settings FILE")]
fn the_name_of_a_file_is_printed_on_one_line(#[case] words: &str, #[context] context: Context) {
    const NAME: &str = "a\n::error::x.yaml";
    let directory = written(
        &format!("files-name-{}", context.case.unwrap()),
        &[(NAME, "[]")],
    );
    let file = directory.join(NAME);
    let words = words.split(' ').map(|word| match word {
        "FILE" => file.as_os_str(),
        word => word.as_ref(),
    });
    let output = command().args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(
        printed.contains("::error::x.yaml") && !printed.contains("\n::error"),
        "{printed}"
    );
}

/// A shell expands `*.yaml` to this name.
#[test]
fn the_name_of_a_file_is_not_an_option() {
    let accepted = accepted();
    let contents = [
        ("--settings=ok.yaml", accepted.as_str()),
        ("a.yaml", &accepted),
        ("ok.yaml", "levels: {}"),
    ];
    let directory = written("options", &contents);
    let (_, errors, code) = run_in(
        &directory,
        "check --arch amd64=1 -f --settings=ok.yaml a.yaml ok.yaml",
    );
    let error = "`--settings=ok.yaml` is an option and also the name of a file; to name files, use ./*.yaml";
    assert!(errors.contains(error), "{errors}");
    assert_eq!(code, 2);
}

/// A document of four bytes takes a kilobyte of memory.
#[test]
fn what_a_file_may_have_is_limited() {
    let many = "a: 1\n---\n".repeat(10_001);
    let large = format!("# {}\na: 1\n", "x".repeat(17 << 20));
    let directory = written("limits", &[("many.yaml", &many), ("large.yaml", &large)]);
    for (file, error) in [
        ("many.yaml", "the file has more than 10000 documents"),
        ("large.yaml", "cannot be read: it has more than 16 MiB"),
    ] {
        let (_, errors, code) = run_in(&directory, &format!("check -f {file} --arch amd64=1"));
        assert!(errors.contains(error), "{errors}");
        assert_eq!(code, 2);
    }
}
