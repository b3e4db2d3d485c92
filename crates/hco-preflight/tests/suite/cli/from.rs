//! `--from`: files from a cluster give the same results as the cluster.

use std::fs;
use std::path::{Path, PathBuf};

use rstest::rstest;
use serde_json::{Value, json};

use super::deployed::{policy, with_policies};
use super::objects::{copy, edited, list, objects};
use super::{file, json_of, run, run_on, run_with, scratch, snapshot, unread, written};
use e2e_tests::{ApiServer, recorded};

/// The recorded cluster, with two policies.
fn cluster(name: &str) -> Vec<Value> {
    let warn = json!({"levels": {"multi-arch-import-disabled": "warn"}});
    let selected = policy("a", "protect", warn);
    let mut other = policy("b", "protect", json!({}));
    match name {
        "no-kubewarden" => return recorded(),
        "no-policy" => return with_policies(&[]),
        "of-another-project" => {
            other["spec"]["module"] = json!("registry://mirror.test/other:v1");
            other["spec"]["settings"] = json!({"password": "hunter2"});
        }
        _ => other["spec"]["mode"] = json!("monitor"),
    }
    with_policies(&[selected, other])
}

#[rstest]
#[case("no-kubewarden")]
#[case("no-policy")]
#[case("of-another-project")]
#[case("monitor")]
fn the_verdict_is_that_of_the_cluster(#[case] name: &str) {
    let server = ApiServer::start(cluster(name));
    let file = snapshot(&server);
    assert!(!fs::read_to_string(&file).unwrap().contains("hunter2"));
    for words in [
        "check --cluster",
        "check --cluster -o json",
        "check -f live.yaml --cluster -o sarif",
        "check -f live.yaml --cluster",
        "check -f live.yaml --cluster --as-if replace",
        "check -f other.yaml --cluster",
        "fix -f live.yaml --cluster",
        "plan --cluster -o json",
        "plan -f live.yaml --cluster",
    ] {
        let result = |words: &str| {
            let run = run_on(&server, words);
            assert_ne!((&*run.stdout, run.code), ("", 2), "{words}");
            let Ok(mut json) = serde_json::from_str::<Value>(&run.stdout) else {
                return (run.stdout, run.code);
            };
            // The name of the cluster is not part of a verdict.
            if words.starts_with("check") {
                json["cluster"] = Value::Null;
                json["notes"] = Value::Null;
            }
            (json.to_string(), run.code)
        };
        let from = words.replace("--cluster", &format!("--from {file}"));
        assert_eq!(result(&from), result(words), "{words}");
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Files in the format of `oc adm must-gather`: a file for each object of the cluster and of CRDs, a list for each kind
/// of the core group, logs, and archives. The image of kubevirt/must-gather adds a directory with the same objects.
fn must_gather() -> PathBuf {
    let root = scratch().join("must-gather.local.1");
    let platform = root.join("quay-io-openshift-release-dev-ocp-v4-0-art-dev-sha256-01");
    let kubevirt = root.join("quay-io-kubevirt-must-gather-sha256-02");
    for (number, object) in objects("status-ready.yaml").iter().enumerate() {
        if object["kind"] == "Node" {
            let path = format!("cluster-scoped-resources/core/nodes/{number}.yaml");
            for image in [&platform, &kubevirt] {
                write(&image.join(&path), &format!("---\n{object}\n"));
            }
        } else {
            let namespace = object["metadata"]["namespace"].as_str();
            let namespace = namespace.unwrap_or("default");
            let path = format!("namespaces/{namespace}/group/plural/{number}.yaml");
            write(&kubevirt.join(path), &object.to_string());
        }
    }
    let golden = platform.join("namespaces/kubevirt-os-images");
    let list = "---\napiVersion: v1\nitems: []\nkind: PersistentVolumeClaimList\nmetadata:\n  resourceVersion: \"1\"\n";
    write(&golden.join("core/persistentvolumeclaims.yaml"), list);
    let log = "pods/importer-x/importer/importer/logs/current.log";
    write(&golden.join(log), "{\n\"not: yaml\n");
    write(&root.join("event-filter.html"), "<html>");
    write(&root.join("timestamp"), "2026-11-23\n");
    root
}

#[test]
fn a_must_gather_is_read_like_a_file() {
    let tree = must_gather().display().to_string();
    for words in [
        "check -q",
        "check -q -o json",
        "plan -q --what-if arm64=-1 -o json",
    ] {
        let of = |path: &str| {
            let run = run(&format!("{words} --from {path}"));
            assert!(!run.stdout.is_empty(), "{words}: {run:?}");
            (run.stdout.replace(path, "PATH"), run.code)
        };
        assert_eq!(of(&tree), of("status-ready.yaml"), "{words}");
    }
    let check = run(&format!("check --from {tree}"));
    check.exits(0).notes("has Node (3), HyperConverged (1), ");
}

/// A verdict on incomplete files, or on files from two days, must be marked.
#[test]
fn what_is_not_used_of_a_directory_is_said() {
    let directory = scratch();
    let path = directory.display();
    let with = |name: &str, text: &str| {
        write(&directory.join(format!("{name}.yaml")), text);
        run(&format!("check --from {path}")).stderr
    };
    let ready = file("status-ready.yaml");
    let differ = format!("note: {path} has different states of ");
    let skipped = format!("note: skipped {path}/d.yaml:");
    for (name, text, is_different, is_skipped) in [
        ("a", &*ready, false, false),
        // A second copy of the same objects changes nothing.
        ("b", &ready, false, false),
        ("c", &ready.replace("amd64", "arm64"), true, false),
        ("d", "a: [\n", true, true),
    ] {
        let notes = with(name, text);
        assert_eq!(notes.contains(&differ), is_different, "{name}: {notes}");
        assert_eq!(notes.contains(&skipped), is_skipped, "{name}: {notes}");
        assert_eq!(notes.contains("skipped"), is_skipped, "{notes}");
    }
}

/// The API server does not accept such an object.
#[test]
fn an_object_with_a_field_of_the_wrong_type_is_named() {
    let edit = (
        "{spec: {architecture: arm64}}}}",
        "{spec: {architecture: 64}}}}",
    );
    let plan = json_of(&format!(
        "plan --from {}",
        copy("plan-objects.yaml", &[edit], &[])
    ));
    let unread = unread(&plan);
    let reason = unread[0]["detail"].as_str().unwrap();
    let expected = "default/arm cannot be read: /spec/template/spec/architecture: ";
    assert!(reason.starts_with(expected), "{reason}");
}

fn nodes_and_others() -> (Vec<Value>, Vec<Value>) {
    let objects = objects("status-ready.yaml").into_iter();
    objects.partition(|object| object["kind"] == "Node")
}

/// Lists of `kubectl get -o yaml`, one after the other, and of `-o json`.
#[test]
fn lists_of_kubectl_are_read_from_a_stream() {
    let (nodes, others) = nodes_and_others();
    let stream = format!("{}\n---\n{}\n", list(nodes), list(others));
    let streamed = run_with("check -q --from -", &stream);
    let read = run("check -q --from status-ready.yaml");
    assert_eq!(streamed.result(), read.result());
}

/// A must-gather can contain broken links with any name.
#[test]
fn a_file_that_cannot_be_read_is_named_on_one_line() {
    let good = written("good.yaml", file("status-ready.yaml"));
    let directory = Path::new(&good).parent().unwrap();
    let name = directory.join("bad\u{1b}[2J\n::error::.yaml");
    std::os::unix::fs::symlink("nowhere", name).unwrap();
    let check = run(&format!("check --from {}", directory.display())).exits(2);
    let check = check.notes("::error::.yaml cannot be read");
    for text in [check.stdout, check.stderr] {
        let is_raw = text.contains(['\u{1b}']) || text.contains("\n::error::");
        assert!(!is_raw, "{text}");
    }
}

/// The objects of a truncated list do not count.
#[test]
fn a_broken_file_of_a_directory_has_no_objects() {
    let directory = scratch();
    let (nodes, others) = nodes_and_others();
    let others = json!({"items": others, "kind": "List"}).to_string();
    write(&directory.join("nodes.json"), &list(nodes).to_string());
    let cut = others.strip_suffix(r#""kind":"List"}"#).unwrap();
    for (text, code) in [(&*others, 0), (cut, 2)] {
        write(&directory.join("others.json"), text);
        run(&format!("check -q --from {}", directory.display())).exits(code);
    }
    // A file that is not read could have had any object.
    write(&directory.join("others.json"), &others);
    write(&directory.join("more.yaml"), "a: [\n");
    let fails = |words: &str| run(&format!("{words} -q --from {}", directory.display())).exits(2);
    fails("fix -o commands").notes("more.yaml");
    for words in ["check", "plan --what-if arm64=1"] {
        let words = format!("{words} -q --from {}", directory.display());
        let unread = run(&words).exits(2);
        unread.prints(&["not read: files"]);
        run(&format!("{words} --allow-unread")).exits(0);
    }
}

/// The policy itself evaluates the architectures in the status.
#[test]
fn the_status_of_the_only_hyperconverged_has_nodes() {
    let objects = objects("status-ready.yaml");
    let object = objects.iter().find(|it| it["kind"] == "HyperConverged");
    let info = json!({"workloadsArchitectures": ["amd64", "arm64"], "controlPlaneArchitectures": ["amd64"]});
    let object = edited(object.unwrap(), &json!({"/status/nodeInfo": info}));
    let from = written("hco.json", object.to_string());
    let note = "there are no nodes: the architectures in the status of the HyperConverged are used";
    let check = run(&format!("check --from {from} --allow-unread")).notes(note);
    check.prints(&["workload nodes                      amd64 (1), arm64 (1)"]);
}
