//! `deploy/`, as kubectl renders it: valid for the CRDs, and consistent with the metadata, the README, and itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use e2e_tests::repository::{documents, root, text};
use serde_json::{Value, json};

use crate::schema::{crd, mistakes, schema};

/// The output of kubectl for each overlay, for the base, and for the file that users edit.
fn rendered() -> BTreeMap<String, Vec<Value>> {
    static RENDERED: LazyLock<BTreeMap<String, Vec<Value>>> =
        LazyLock::new(|| render_in(&root().join("deploy")));
    RENDERED.clone()
}

fn render_in(deploy: &Path) -> BTreeMap<String, Vec<Value>> {
    let mut rendered = BTreeMap::new();
    let overlays = std::fs::read_dir(deploy.join("overlays")).unwrap();
    let mut names: Vec<String> = overlays
        .map(|entry| format!("overlays/{}", entry.unwrap().file_name().display()))
        .collect();
    names.extend(["base".to_owned(), "my-cluster".to_owned()]);
    for name in names {
        let manifests = kustomize(&deploy.join(&name));
        rendered.insert(name, manifests);
    }
    rendered
}

/// Renders a directory with kubectl.
pub(crate) fn kustomize(directory: &Path) -> Vec<Value> {
    let output = Command::new("kubectl")
        .arg("kustomize")
        .arg(directory)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    // It warns about deprecated fields.
    assert!(
        output.status.success() && stderr.is_empty(),
        "{}: {stderr}",
        directory.display()
    );
    documents(&String::from_utf8(output.stdout).unwrap())
}

pub(crate) fn one<'m>(manifests: &'m [Value], kind: &str) -> &'m Value {
    let mut found = manifests.iter().filter(|it| it["kind"] == kind);
    let one = found.next().unwrap_or_else(|| panic!("no {kind}"));
    assert!(found.next().is_none(), "two of {kind}");
    one
}

/// The `PolicyServer` of the first policy.
pub(crate) fn server(manifests: &[Value]) -> &Value {
    let name = policy(manifests)["spec"]["policyServer"].clone();
    let mut all = manifests.iter().filter(|it| it["kind"] == "PolicyServer");
    all.find(|it| it["metadata"]["name"] == name).unwrap()
}

/// The policy that only checks.
pub(crate) fn policy(manifests: &[Value]) -> &Value {
    let mut policies = policies(manifests);
    policies
        .find(|it| it["metadata"]["name"] == "hco-architecture-guard")
        .unwrap_or_else(|| panic!("no policy"))
}

pub(crate) fn policies(manifests: &[Value]) -> impl Iterator<Item = &Value> {
    let manifests = manifests.iter();
    manifests.filter(|it| it["kind"] == "ClusterAdmissionPolicy")
}

#[test]
fn every_manifest_is_valid_by_its_crd() {
    let policies = schema(&crd("kubewarden-clusteradmissionpolicies"), "v1");
    let servers = schema(&crd("kubewarden-policyservers"), "v1");
    for (overlay, manifests) in rendered() {
        for manifest in &manifests {
            let schema = match manifest["kind"].as_str().unwrap() {
                "ClusterAdmissionPolicy" => &policies,
                "PolicyServer" => &servers,
                _ => continue,
            };
            assert_eq!(mistakes(schema, manifest), [""; 0], "{overlay}");
        }
        // The check fails for an unknown field, a wrong type, and a missing field.
        let mut wrong = policy(&manifests).clone();
        wrong["spec"]["modus"] = json!("monitor");
        wrong["spec"]["mutating"] = json!("false");
        wrong["spec"].as_object_mut().unwrap().remove("module");
        assert_eq!(mistakes(&policies, &wrong).len(), 3, "{overlay}");
    }
}

#[test]
fn policy_and_metadata_agree() {
    let metadata = documents(&text("policy-metadata.yml")).remove(0);
    let annotations = &metadata["annotations"];
    for (overlay, manifests) in rendered() {
        let policy = policy(&manifests);
        let spec = &policy["spec"];
        for key in ["rules", "backgroundAudit"] {
            assert_eq!(spec[key], metadata[key], "{overlay}: {key}");
        }
        // Only the policy of the component `repair` changes objects.
        assert_eq!(
            (&spec["mutating"], &metadata["mutating"]),
            (&json!(false), &json!(true))
        );
        // The metadata has what all policies together need.
        let nodes = json!([{"apiVersion": "v1", "kind": "Node"}]);
        assert_eq!(spec["contextAwareResources"], nodes, "{overlay}");
        let all = metadata["contextAwareResources"].as_array().unwrap();
        assert!(all.contains(&nodes[0]));
        let text = |key: &str| annotations[key].as_str().unwrap();
        let (url, version) = (
            text("io.kubewarden.policy.ociUrl"),
            text("io.kubewarden.policy.version"),
        );
        assert_eq!(
            spec["module"],
            format!("registry://{url}:v{version}"),
            "{overlay}"
        );
        for key in [
            "io.kubewarden.policy.severity",
            "io.kubewarden.policy.category",
        ] {
            let said = &policy["metadata"]["annotations"][key];
            assert_eq!(*said, annotations[key], "{overlay}");
        }
    }
}

#[test]
fn the_settings_are_accepted_and_name_the_account_that_may_read_nodes() {
    for (overlay, manifests) in rendered() {
        let spec = &policy(&manifests)["spec"];
        let verdict = engine::validate_settings(spec["settings"].to_string().as_bytes());
        assert_eq!(verdict, Ok(()), "{overlay}");
        let binding = manifests.iter().find(|it| {
            it["kind"] == "ClusterRoleBinding"
                && it["metadata"]["name"] == "hco-architecture-guard-nodes"
        });
        let subject = &binding.unwrap()["subjects"][0];
        let account = format!(
            "{}/{}",
            subject["namespace"].as_str().unwrap(),
            subject["name"].as_str().unwrap()
        );
        assert_eq!(spec["settings"]["serviceAccount"], account, "{overlay}");
        if overlay != "base" {
            let server = one(&manifests, "PolicyServer");
            assert_eq!(
                server["metadata"]["name"], spec["policyServer"],
                "{overlay}"
            );
            let runs_as = server["spec"]["serviceAccountName"].as_str().unwrap();
            assert_eq!(account, format!("kubewarden/{runs_as}"), "{overlay}");
            assert_eq!(server["spec"]["replicas"], 2, "{overlay}");
        }
    }
}

/// Rancher and others install Kubewarden in another namespace: that is one edit.
#[test]
fn one_file_says_where_kubewarden_is() {
    let deploy = tempfile::tempdir().unwrap();
    let mut copy = Command::new("cp");
    copy.arg("-r").arg(root().join("deploy/."));
    assert!(copy.arg(deploy.path()).status().unwrap().success());
    let file = deploy.path().join("base/kubewarden.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let edited = text
        .replace("namespace: kubewarden", "namespace: elsewhere")
        .replace("serviceAccount: policy-server", "serviceAccount: somebody")
        .replace(
            "policyServerImage: ",
            "policyServerImage: registry.invalid/",
        );
    std::fs::write(file, edited).unwrap();
    for (overlay, manifests) in render_in(deploy.path()) {
        let account = match overlay.as_str() {
            "base" => "elsewhere/somebody",
            _ => "elsewhere/hco-architecture-guard",
        };
        if overlay != "base" {
            let image = &one(&manifests, "PolicyServer")["spec"]["image"];
            let image = image.as_str().unwrap();
            assert!(image.starts_with("registry.invalid/"), "{overlay}: {image}");
        }
        assert!(policies(&manifests).next().is_some(), "{overlay}");
        for policy in policies(&manifests) {
            let named = &policy["spec"]["settings"]["serviceAccount"];
            assert_eq!(named, account, "{overlay}");
        }
        let namespaces = manifests.iter().flat_map(|it| {
            let subjects = it["subjects"].as_array().into_iter().flatten();
            let namespace = it["metadata"].get("namespace");
            subjects.map(|it| &it["namespace"]).chain(namespace)
        });
        let namespaces: BTreeSet<&str> = namespaces.filter_map(Value::as_str).collect();
        assert_eq!(namespaces, BTreeSet::from(["elsewhere"]), "{overlay}");
        let read_nodes = manifests.iter().find(|it| {
            it["kind"] == "ClusterRoleBinding"
                && it["metadata"]["name"] == "hco-architecture-guard-nodes"
        });
        let name = account.split('/').next_back().unwrap();
        assert_eq!(
            read_nodes.unwrap()["subjects"][0]["name"],
            name,
            "{overlay}"
        );
    }
}

/// `make bench` compares the limit with its measurements.
#[test]
fn the_policy_server_has_its_resources_and_is_spread() {
    for (overlay, manifests) in rendered() {
        if overlay == "base" {
            continue;
        }
        let spec = &one(&manifests, "PolicyServer")["spec"];
        assert_eq!(spec["limits"], json!({"memory": "1536Mi"}), "{overlay}");
        assert_eq!(
            spec["requests"],
            json!({"cpu": "100m", "memory": "384Mi"}),
            "{overlay}"
        );
        // The memory was measured with this number of workers.
        let workers = json!([{"name": "KUBEWARDEN_WORKERS", "value": "2"}]);
        assert_eq!(spec["env"], workers, "{overlay}");
        assert_eq!(
            spec["priorityClassName"], "system-cluster-critical",
            "{overlay}"
        );
        let terms =
            &spec["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"];
        let name = &one(&manifests, "PolicyServer")["metadata"]["name"];
        let spread: Vec<&Value> = terms
            .as_array()
            .unwrap()
            .iter()
            .map(|term| &term["podAffinityTerm"])
            .filter(|term| {
                term["labelSelector"]["matchLabels"]["kubewarden/policy-server"] == *name
            })
            .map(|term| &term["topologyKey"])
            .collect();
        assert_eq!(
            spread,
            ["kubernetes.io/hostname", "topology.kubernetes.io/zone"],
            "{overlay}"
        );
    }
}
