//! Selects the files to read, and the files to skip.

use std::fs;
use std::path::{Path, PathBuf};

use rstest::rstest;

use super::{command, file, files, run_in, run_of, scratch};

/// Writes files below a directory.
fn tree(contents: &[(&str, &str)]) -> PathBuf {
    let directory = scratch();
    for (file, text) in contents {
        let path = directory.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

fn accepted() -> String {
    file("accepted.yaml")
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
    let directory = tree(&[
        ("overlay/kustomization.yaml", kustomization),
        ("overlay/patch.yaml", PATCH),
        ("overlay/base.yaml", &accepted()),
    ]);
    let note = "note: skipped the kustomization overlay and its patches; to include what it builds, pipe `kubectl kustomize overlay` to -f -\n";
    let all = run_in(&directory, "check -f overlay --arch amd64=1");
    all.exits(0).notes(note).prints(&["1 object: accepted"]);
    // If the user names only the patch, there is nothing else to check.
    let patch = run_in(&directory, "check -f overlay/patch.yaml --arch amd64=1");
    patch.exits(2).notes("pipe `kubectl kustomize overlay`");
    let here = directory.join("overlay");
    let patch = run_in(here, "check -f patch.yaml --arch amd64=1");
    patch.exits(2).notes("pipe `kubectl kustomize .`");
}

/// A patch that is also a resource is a complete object, and a HyperConverged can have the name of a kustomization.
#[rstest]
#[case::resource("hco.yaml", "resources: [hco.yaml]\npatches: [{path: hco.yaml}]")]
#[case::name("kustomization.yaml", "")]
fn an_object_of_a_kustomization_is_judged(#[case] file: &str, #[case] kustomization: &str) {
    let object = accepted();
    let mut files = vec![(file, object.as_str())];
    if !kustomization.is_empty() {
        files.push(("kustomization.yaml", kustomization));
    }
    let check = run_in(tree(&files), "check -R -f . --arch amd64=1");
    check.exits(0).prints(&["1 object: accepted"]);
}

/// The command does not have the option -R.
#[test]
fn a_plan_says_how_to_read_a_directory() {
    let directory = tree(&[("d/my dir/hco.yaml", &accepted())]);
    let from = files().join("plan-cluster.yaml");
    let plan = run_in(directory, &format!("plan --from {} -f d", from.display()));
    plan.exits(2)
        .notes("note: d/my dir: skipped a directory; to include it, add -f 'd/my dir'\n");
}

/// If the user names a file, it has to be checked, whatever it contains.
#[test]
fn a_file_that_is_named_has_to_be_a_manifest() {
    let directory = tree(&[
        ("d/values.yaml", "a: 1\nb: [\n"),
        ("d/hco.yaml", &accepted()),
    ]);
    let error = "error: d/values.yaml:3: cannot be read as YAML or JSON";
    for path in ["d/values.yaml", "d"] {
        let check = run_in(&directory, &format!("check -f {path} --arch amd64=1"));
        check.exits(2).notes(error);
    }
}

#[test]
fn what_directories_have_besides_is_counted_once() {
    let accepted = accepted();
    let directory = tree(&[
        (".gitignore", "build/\n*.tmp.yaml\n!kept.tmp.yaml\n"),
        ("build/a.yaml", &accepted),
        ("chart/Chart.yaml", "name: chart\n"),
        ("chart/templates/c.yaml", "{{ x }}: ["),
        ("b.tmp.yaml", &accepted),
        ("kept.tmp.yaml", &accepted),
        ("f.yaml", &accepted),
    ]);
    git(&directory, &["init", "-q"]);
    fs::write(directory.join(".git/config.yaml"), &accepted).unwrap();
    std::os::unix::fs::symlink(".", directory.join("up")).unwrap();
    let check = run_in(&directory, "check -f . -R --arch amd64=1").exits(0);
    let notes = check.prints(&["2 objects: accepted"]).stderr;
    let skipped: Vec<&str> = notes.lines().filter(|it| it.contains("skipped")).collect();
    let link = "note: skipped ./up (a link to a directory)";
    let ignored =
        "note: skipped ./b.tmp.yaml, ./build/a.yaml (in .gitignore; --include-ignored includes it)";
    let templates = "note: skipped ./chart/templates/c.yaml (a template of a Helm chart; to check it, pipe `helm template CHART` to -f -)";
    let chart = "note: skipped 1 document of other kinds: without a kind (1)";
    assert_eq!(skipped, [link, templates, ignored, chart]);
    let all = run_in(&directory, "check -f . -R --include-ignored --arch amd64=1");
    all.prints(&["4 objects: accepted"]);
}

fn git(directory: &Path, words: &[&str]) {
    let mut git = std::process::Command::new("git");
    let output = git.arg("-C").arg(directory).args(words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A file that a pull request can add must not hide a manifest that kubectl applies.
#[rstest]
#[case::two_dots("..prod/hco.yaml", "", "2 objects")]
#[case::tracked("build/hco.yaml", "build/\n", "2 objects")]
#[case::not_tracked("ignored/hco.yaml", "ignored/\n", "1 object")]
fn a_recursive_check_reads_what_git_lists(
    #[case] path: &str,
    #[case] ignored: &str,
    #[case] number: &str,
) {
    let directory = tree(&[
        ("accepted.yaml", &accepted()),
        (path, &file("denied.yaml")),
        (".gitignore", ignored),
    ]);
    git(&directory, &["init", "-q"]);
    if path.starts_with("build/") {
        git(&directory, &["add", "-f", path]);
    }
    let check = run_in(&directory, "check -R -f . --arch amd64=3 -q");
    check.prints(&[number]);
}

/// kubectl reads these kinds. It ends a line at U+2028.
#[rstest]
#[case("# {{ \u{2028}kind: \"Hyper\\u0043onverged\"\na: [\n")]
#[case("kind: HyperConverged\n{{ include }}: [")]
#[case("a: [\n---\nkind: \"Hyper\\x43onverged\"\n")]
#[case("kind: \"Hyper\\x43onverged\"\n---\na: [\n")]
#[case(
    "apiVersion: hco.kubevirt.io/v1\nkind: \"Hyper\\\n  Converged\" # {{ x }}\nspec: 1\n---\na: [\n"
)]
#[case(&format!("a: {}{}", "[".repeat(101), "]".repeat(101)))]
fn a_manifest_that_cannot_be_read_is_no_note(#[case] text: &str) {
    let directory = tree(&[("accepted.yaml", &accepted()), ("other.yaml", text)]);
    run_in(&directory, "check -R -f . --arch amd64=3").exits(2);
}

/// The files of a mounted `ConfigMap` exist three times.
#[test]
fn the_files_of_a_config_map_are_read_once() {
    use std::os::unix::fs::symlink;

    let patch = "- {op: remove, path: /spec}";
    let directory = tree(&[("..2026/hco.yaml", &accepted()), ("patch.yaml", patch)]);
    symlink("..2026", directory.join("..data")).unwrap();
    symlink("..data/hco.yaml", directory.join("hco.yaml")).unwrap();
    let check = run_in(&directory, "check -R -f . --arch amd64=3").exits(0);
    check
        .prints(&["\n1 object: "])
        .notes("note: skipped ./patch.yaml:1 (a document that is not an object)\n");
}

/// A kustomization elsewhere must not declare a manifest a patch.
#[test]
fn a_kustomization_claims_only_files_below_it() {
    let kustomization = "patches: [{path: ../hco/hco.yaml}]";
    let directory = tree(&[
        ("hco/hco.yaml", &file("denied.yaml")),
        ("other/kustomization.yaml", kustomization),
        ("other/a.yaml", &accepted()),
    ]);
    run_in(&directory, "check -R -f . --arch amd64=3,arm64=2").prints(&["2 objects"]);
}

/// The command may only change files in the given directory.
#[test]
fn a_link_out_of_the_directory_is_not_written() {
    let fixable = file("fixable.yaml");
    let directory = tree(&[("outside.yaml", &fixable)]);
    fs::create_dir(directory.join("tree")).unwrap();
    let link = directory.join("tree/link.yaml");
    std::os::unix::fs::symlink("../outside.yaml", link).unwrap();
    let outside = || fs::read_to_string(directory.join("outside.yaml")).unwrap();
    let words = "fix -f tree --arch amd64=3,arm64=2 --write --unsafe";
    let note = "which is not in tree; to change that file, name it with -f";
    run_in(&directory, words).exits(2).notes(note);
    assert_eq!(outside(), fixable);
    run_in(&directory, &words.replace("tree ", "tree/link.yaml ")).exits(0);
    assert_ne!(outside(), fixable);
}

/// Code scanning identifies files by their path in the repository.
#[rstest]
#[case::github("github", "file=deploy/hco.yaml,")]
#[case::gitlab("gitlab", "\"path\": \"deploy/hco.yaml\"")]
#[case::sarif("sarif", "\"uri\": \"deploy/hco.yaml\"")]
fn places_are_relative_to_the_repository(#[case] format: &str, #[case] place: &str) {
    let directory = tree(&[(".git/HEAD", ""), ("deploy/hco.yaml", &file("denied.yaml"))]);
    let absolute = directory.join("deploy/hco.yaml").display().to_string();
    for (directory, file) in [
        (directory.clone(), "./deploy/hco.yaml"),
        (directory.join("deploy"), "./hco.yaml"),
        (directory.join("deploy"), &absolute),
    ] {
        let words = format!("check -f {file} --arch amd64=3,arm64=2 -o {format}");
        run_in(directory, &words).prints(&[place]);
    }
}

/// The command compares patterns with the printed paths, both for named files and for files in a directory.
#[rstest]
#[case::a_directory("-R -f deploy", "deploy/charts", true)]
#[case::with_a_slash("-R -f deploy", "deploy/charts/", true)]
#[case::everything_below("-R -f deploy/", "deploy/charts/*", true)]
#[case::of_any_directory("-R -f .", "**/charts/**", true)]
#[case::an_ending("-R -f .", "*.tmpl.yaml", true)]
#[case::without_the_dot("-R -f .", "deploy/charts", true)]
#[case::with_the_dot("-R -f deploy", "./deploy/charts", true)]
#[case::a_file_that_is_named(
    "-f deploy/a.yaml -f deploy/charts/b.tmpl.yaml",
    "deploy/charts/*",
    true
)]
#[case::not_from_the_middle("-R -f deploy", "charts/*", false)]
fn what_a_pattern_excludes_is_not_read(
    #[case] words: &str,
    #[case] pattern: &str,
    #[case] is_excluded: bool,
) {
    let broken = "kind: HyperConverged\n  spec: {{ .Values.spec }}\n";
    let directory = tree(&[
        ("deploy/a.yaml", &accepted()),
        ("deploy/charts/b.tmpl.yaml", broken),
    ]);
    let words = format!("check {words} --exclude {pattern} --arch amd64=3");
    let check = run_in(&directory, &words).exits(if is_excluded { 0 } else { 2 });
    let note = "deploy/charts/b.tmpl.yaml (--exclude)\n";
    assert_eq!(check.stderr.contains(note), is_excluded, "{check:?}");
}

/// The command does not know how another kind changes the objects inside it.
#[test]
fn an_object_inside_another_one_is_an_error() {
    let text = "apiVersion: example.com/v1\nkind: Bundle\nspec:\n  manifests:\n    - {apiVersion: hco.kubevirt.io/v1beta1, kind: HyperConverged, metadata: {name: hco}}\n";
    let directory = tree(&[("file.yaml", text), ("hco.yaml", &accepted())]);
    let note = "error: ./file.yaml:1: not checked: the HyperConverged inside this Bundle; check it in a file of its own\n";
    let check = run_in(&directory, "check -f . --arch amd64=3").exits(2);
    check.notes(note).prints(&["1 object: accepted"]);
}

/// Reading a pipe would never end. The command looks for a kustomization next to each file.
#[test]
fn what_is_not_a_file_is_skipped_in_a_directory() {
    let directory = tree(&[("accepted.yaml", &accepted())]);
    let link = directory.join("kustomization.yaml");
    std::os::unix::fs::symlink("/dev/zero", link).unwrap();
    let check = run_in(&directory, "check -f accepted.yaml --arch amd64=1").exits(0);
    assert_eq!(check.stderr, "");
    let socket = directory.join("socket.yaml");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let check = run_in(&directory, "check --arch amd64=1 -f .").exits(0);
    check.notes("skipped ./kustomization.yaml, ./socket.yaml (not a regular file)");
}

/// A workflow would interpret the second line as a command.
#[rstest]
#[case("settings FILE")]
#[case("check -f accepted.yaml --nodes FILE")]
#[case("check -f accepted.yaml --arch amd64=1 --settings FILE")]
fn the_name_of_a_file_is_printed_on_one_line(#[case] words: &str) {
    const NAME: &str = "a\n::error::x.yaml";
    let file = tree(&[(NAME, "[]")]).join(NAME);
    let words = words.split(' ').map(|word| match word {
        "FILE" => file.as_os_str(),
        word => word.as_ref(),
    });
    let run = run_of(command(), words).exits(2).notes("::error::x.yaml");
    assert!(!run.stderr.contains("\n::error"), "{run:?}");
}

/// A shell expands `*.yaml` to this name.
#[test]
fn the_name_of_a_file_is_not_an_option() {
    let directory = tree(&[
        ("--settings=ok.yaml", &accepted()),
        ("a.yaml", &accepted()),
        ("ok.yaml", "levels: {}"),
    ]);
    let error = "`--settings=ok.yaml` is an option and also the name of a file; to name files, use ./*.yaml";
    let words = "check --arch amd64=1 -f --settings=ok.yaml a.yaml ok.yaml";
    run_in(directory, words).exits(2).notes(error);
}

/// A document of four bytes takes a kilobyte of memory.
#[test]
fn what_a_file_may_have_is_limited() {
    let many = "a: 1\n---\n".repeat(10_001);
    let large = format!("# {}\na: 1\n", "x".repeat(17 << 20));
    for (text, error) in [
        (many, "the file has more than 10000 documents"),
        (large, "cannot be read: it has more than 16 MiB"),
    ] {
        let directory = tree(&[("file.yaml", &text)]);
        let check = run_in(directory, "check -f file.yaml --arch amd64=1");
        check.exits(2).notes(error);
    }
}
