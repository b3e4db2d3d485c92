//! `--from`: files from a cluster give the same results as the cluster.

use std::path::{Path, PathBuf};

use rstest::{Context, rstest};
use serde_json::{Value, json};

use super::deployed::{policy, with_policies};
use super::{check, command, command_on, files, objects, run, run_with, scratch};
use e2e_tests::{ApiServer, recorded};

fn output(server: &ApiServer, words: &str) -> (String, Option<i32>) {
    let output = command_on(server)
        .args(words.split_whitespace())
        .output()
        .unwrap();
    (
        String::from_utf8(output.stdout).unwrap(),
        output.status.code(),
    )
}

/// The cluster's snapshot, in a file.
fn snapshot(server: &ApiServer, name: &str) -> PathBuf {
    let file = scratch(&format!("from-{name}")).join("snapshot.json");
    let (_, code) = output(server, &format!("snapshot --cluster -o {}", file.display()));
    assert_eq!(code, Some(0));
    file
}

/// The recorded cluster, with policies that select requests in various ways.
fn cluster(name: &str) -> Vec<Value> {
    let selector = |name: &str| json!({"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": [name]}]});
    let warn = json!({"levels": {"multi-arch-import-disabled": "warn"}});
    let mut selected = policy("a", "protect", warn);
    let mut other = policy("b", "protect", json!({}));
    match name {
        "no-kubewarden" => return recorded(),
        "no-policy" => return with_policies(&[]),
        "of-another-project" => {
            other["spec"]["module"] = json!("registry://mirror.test/other:v1");
            other["spec"]["settings"] = json!({"password": "hunter2"});
        }
        "monitor" => other["spec"]["mode"] = json!("monitor"),
        "namespaces" => {
            selected["spec"]["namespaceSelector"] = selector("kubevirt-hyperconverged");
            other["spec"]["namespaceSelector"] = selector("elsewhere");
        }
        // A policy of a namespace.
        _ => {
            selected["metadata"]["namespace"] = json!("kubevirt-hyperconverged");
            let mut all = with_policies(&[]);
            let list = json!({"items": [selected]});
            for path in ["", "/namespaces/kubevirt-hyperconverged"] {
                let path = format!("GET /apis/policies.kubewarden.io/v1{path}/admissionpolicies");
                all.insert(
                    0,
                    json!({"as": "admin", "request": path, "status": 200, "body": list}),
                );
            }
            return all;
        }
    }
    with_policies(&[selected, other])
}

#[rstest]
fn the_verdict_is_that_of_the_cluster(
    #[values(
        "no-kubewarden",
        "no-policy",
        "of-another-project",
        "monitor",
        "namespaces",
        "namespaced"
    )]
    name: &str,
) {
    let server = ApiServer::start(cluster(name));
    let file = snapshot(&server, name);
    assert!(!std::fs::read_to_string(&file).unwrap().contains("hunter2"));
    for words in [
        "check --cluster",
        "check --cluster -o junit",
        "check --cluster --what-if riscv64=2",
        "check -f live.yaml --cluster",
        "check -f live.yaml --cluster --as-if replace",
        "check -f other.yaml --cluster",
        "fix -f live.yaml --cluster",
        "plan --cluster -o json",
        "plan -f live.yaml --cluster",
        "status --cluster",
    ] {
        let from = words.replace("--cluster", &format!("--from {}", file.display()));
        let live = output(&server, words);
        assert_eq!(output(&server, &from), live, "{words}");
        assert_ne!(live, (String::new(), Some(2)), "{words}");
    }
    // The name of the cluster is not part of a verdict.
    let in_json = |words: &str| {
        let (text, code) = output(&server, words);
        let mut json: Value = serde_json::from_str(&text).unwrap();
        json["cluster"] = Value::Null;
        json["notes"] = Value::Null;
        (json, code)
    };
    assert_eq!(
        in_json(&format!("check --from {} -o json", file.display())),
        in_json("check --cluster -o json")
    );
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Files in the format of `oc adm must-gather`: a file for each object of the cluster and of CRDs, a list for each kind
/// of the core group, logs, and archives. The image of kubevirt/must-gather adds a directory with the same objects.
fn must_gather(name: &str) -> PathBuf {
    let root = scratch(name).join("must-gather.local.1");
    let platform = root.join("quay-io-openshift-release-dev-ocp-v4-0-art-dev-sha256-01");
    let kubevirt = root.join("quay-io-kubevirt-must-gather-sha256-02");
    let (mut claims, mut nodes) = (Vec::new(), 0);
    for object in objects("status-ready.yaml") {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let kind = text("/kind").unwrap();
        let plural = format!("{}s", kind.to_lowercase());
        let (group, _) = text("/apiVersion")
            .unwrap()
            .rsplit_once('/')
            .unwrap_or(("core", ""));
        let file = format!("{}.yaml", text("/metadata/name").unwrap_or("none"));
        match (kind, text("/metadata/namespace")) {
            ("Node", _) => {
                nodes += 1;
                let path = Path::new("cluster-scoped-resources/core/nodes").join(file);
                write(&platform.join(&path), &format!("---\n{object}\n"));
                write(&kubevirt.join(&path), &format!("---\n{object}\n"));
            }
            (_, Some(namespace)) => {
                let path = Path::new("namespaces").join(namespace).join(group);
                write(
                    &kubevirt.join(path).join(plural).join(file),
                    &object.to_string(),
                );
            }
            ("PersistentVolumeClaimList", None) => claims.push(object),
            (_, None) => {
                let path = Path::new("namespaces/default").join(group);
                let path = path.join(format!("{}.yaml", plural.trim_end_matches("lists")));
                write(&kubevirt.join(path), &object.to_string());
            }
        }
    }
    assert_eq!((claims.len(), nodes), (1, 3));
    let core = "namespaces/kubevirt-os-images/core";
    let list = "---\napiVersion: v1\nitems: []\nkind: PersistentVolumeClaimList\nmetadata:\n  resourceVersion: \"1\"\n";
    write(
        &platform.join(core).join("persistentvolumeclaims.yaml"),
        list,
    );
    let logs = "namespaces/kubevirt-os-images/pods/importer-x/importer/importer/logs";
    write(&platform.join(logs).join("current.log"), "{\n\"not: yaml\n");
    write(&platform.join("broken.yaml"), "a: [\n");
    write(&root.join("event-filter.html"), "<html>");
    write(&root.join("timestamp"), "2026-11-23\n");
    root
}

#[test]
fn a_must_gather_is_read_like_a_file() {
    let tree = must_gather("must-gather");
    for words in [
        "status -q",
        "status -q -o json",
        "plan -q --what-if arm64=-1 -o json",
    ] {
        let of = |path: &str| {
            let output = run(&format!("{words} --from {path}"));
            assert!(!output.stdout.is_empty(), "{words}: {output:?}");
            let text = String::from_utf8(output.stdout).unwrap();
            (text.replace(path, "PATH"), output.status.code())
        };
        let file = of("status-ready.yaml");
        assert_eq!(of(&tree.display().to_string()), file, "{words}");
    }
    let output = run(&format!("check --from {}", tree.display()));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(
        notes.contains("has Node (3), HyperConverged (1);"),
        "{notes}"
    );
}

/// A verdict on incomplete files, or on files from two days, must be marked.
#[test]
fn what_is_not_used_of_a_directory_is_said() {
    let directory = scratch("from-mixed");
    let with = |name: &str, text: &str| {
        std::fs::write(directory.join(format!("{name}.yaml")), text).unwrap();
        let output = run(&format!("check --from {}", directory.display()));
        String::from_utf8(output.stderr).unwrap()
    };
    let ready = std::fs::read_to_string(files().join("status-ready.yaml")).unwrap();
    let notes = with("a", &ready);
    assert!(
        !notes.contains("skipped") && !notes.contains("different states"),
        "{notes}"
    );
    // A second copy of the same objects changes nothing.
    let notes = with("b", &ready);
    assert!(!notes.contains("different states"), "{notes}");
    let notes = with("c", &ready.replace("amd64", "arm64"));
    let path = directory.display();
    let differ = format!("note: {path} has different states of ");
    assert!(notes.contains(&differ), "{notes}");
    let notes = with("d", "a: [\n");
    let skipped = format!("note: skipped what cannot be read as YAML or JSON: {path}/d.yaml:");
    assert!(notes.contains(&skipped), "{notes}");
}

/// Lists of `kubectl get -o yaml`, one after the other, and of `-o json`.
#[test]
fn lists_of_kubectl_are_read_from_a_stream() {
    let objects = objects("status-ready.yaml");
    let items = |of: &dyn Fn(&str) -> bool| -> Value {
        let items = objects.iter().filter(|it| of(it["kind"].as_str().unwrap()));
        json!({"apiVersion": "v1", "kind": "List", "items": items.collect::<Vec<_>>()})
    };
    let nodes = items(&|kind| kind == "Node");
    let others = items(&|kind| kind != "Node");
    let stream = format!("{nodes}\n---\n{others}\n");
    for words in ["status -q --from", "check -q --from"] {
        let file = run(&format!("{words} status-ready.yaml"));
        let streamed = run_with(&format!("{words} -"), &stream);
        let streamed = (streamed.stdout, streamed.status.code());
        assert_eq!(streamed, (file.stdout, file.status.code()), "{words}");
    }
}

/// A must-gather can contain broken links with any name.
#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read_is_a_note() {
    let directory = scratch("dangling");
    let good = files().join("status-ready.yaml");
    std::fs::copy(good, directory.join("good.yaml")).unwrap();
    let name = directory.join("bad\u{1b}[2J\n::error::.yaml");
    std::os::unix::fs::symlink("nowhere", name).unwrap();
    let words = format!("check --from {}", directory.display());
    let output = run(&words);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(notes.contains("::error::.yaml cannot be read"), "{notes}");
    assert!(
        !notes.contains(['\u{1b}']) && !notes.contains("\n::error::"),
        "{notes}"
    );
}

/// Without access to a registry, the command lists the images without reading them.
#[test]
fn images_are_found_in_all_files() {
    let tree = must_gather("must-gather-images");
    let of = |words: &str| {
        let mut command = command();
        command
            .args(words.split_whitespace())
            .env("HTTPS_PROXY", "http://127.0.0.1:1")
            .env("HTTP_PROXY", "http://127.0.0.1:1");
        command.output().unwrap()
    };
    let from = of(&format!("images --from {}", tree.display()));
    let file = of("images -f status-ready.yaml");
    assert_eq!(from.status.code(), Some(2));
    let image = |output: &[u8]| {
        let text = String::from_utf8(output.to_vec()).unwrap();
        text.contains("registry.example.com/good:1")
    };
    assert!(image(&from.stdout), "{from:?}");
    assert_eq!(from.stdout, file.stdout);
}

/// A snapshot has an object in each version that the cluster serves.
#[test]
fn templates_of_an_object_in_two_versions_are_listed_once() {
    let template = |name: &str| {
        json!({
            "metadata": {"name": name},
            "spec": {"template": {"spec": {"source": {"registry": {"url": "docker://127.0.0.1:1/mine:1"}}}}},
        })
    };
    let object = |version: &str, spec: Value| {
        json!({
            "apiVersion": format!("hco.kubevirt.io/{version}"),
            "kind": "HyperConverged",
            "metadata": {"name": "kubevirt-hyperconverged", "namespace": "kubevirt-hyperconverged"},
            "spec": spec,
        })
    };
    let templates = json!({"dataImportCronTemplates": [template("mine-cron")]});
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [
        object("v1beta1", templates.clone()),
        object("v1", json!({"workloadSources": templates})),
    ]});
    let file = scratch("images-two-versions").join("snapshot.json");
    write(&file, &list.to_string());
    let output = run(&format!("images --from {} -o json", file.display()));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let named = found["images"][0]["templates"].as_array().unwrap();
    assert_eq!(named.len(), 1, "{found:#}");
}

/// The objects of a truncated list do not count.
#[test]
fn a_broken_file_of_a_directory_has_no_objects() {
    let directory = scratch("from-broken");
    let ready = objects("status-ready.yaml");
    let list = |kind: &str| {
        let items = ready
            .iter()
            .filter(|it| (it["kind"] == "Node") == (kind == "Node"));
        json!({"apiVersion": "v1", "items": items.collect::<Vec<_>>(), "kind": "List"}).to_string()
    };
    write(&directory.join("nodes.json"), &list("Node"));
    let others = list("others");
    write(&directory.join("others.json"), &others);
    let code = || {
        run(&format!("status -q --from {}", directory.display()))
            .status
            .code()
    };
    assert_eq!(code(), Some(0));
    write(
        &directory.join("others.json"),
        others.strip_suffix(r#""kind":"List"}"#).unwrap(),
    );
    assert_eq!(code(), Some(2));
}

#[rstest]
#[case::images_standard_input_twice("images -f - --from -", 2)]
#[case::check("check --from status-ready.yaml", 0)]
#[case::fix("fix --from status-ready.yaml -o json-patch", 0)]
#[case::file("check -f plan.yaml --from plan-cluster.yaml", 0)]
#[case::another_version("check -f accepted.yaml --from plan-cluster.yaml", 2)]
#[case::no_hyperconverged("check --from nodes.yaml", 2)]
#[case::no_nodes("check --from plan.yaml", 2)]
#[case::nothing("check --from comment.yaml", 2)]
#[case::no_such_file("check --from nowhere", 2)]
#[case::and_cluster("check --cluster --from nodes.yaml", 2)]
#[case::namespace("check --from status-ready.yaml -n elsewhere", 2)]
#[case::context("check --from status-ready.yaml --context admin", 2)]
#[case::standard_input_twice("check -f - --from -", 2)]
fn the_output_is_as_reviewed(#[case] words: &str, #[case] code: i32, #[context] context: Context) {
    check(
        &format!("from-{}", context.description.unwrap()),
        words,
        code,
    );
}
