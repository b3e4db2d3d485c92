//! `deploy/`, as kubectl renders it: valid for the CRDs, and consistent with the metadata, the README, and itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use e2e_tests::not_run;
use packaging::Metadata;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::{is_there, root, text};

/// The output of kubectl for each overlay, for the base, and for the file that users edit; empty if kubectl is missing.
fn rendered() -> BTreeMap<String, Vec<Value>> {
    static RENDERED: LazyLock<BTreeMap<String, Vec<Value>>> = LazyLock::new(render);
    if RENDERED.is_empty() {
        not_run("kubectl", "kubectl is not on PATH");
    }
    RENDERED.clone()
}

fn render() -> BTreeMap<String, Vec<Value>> {
    if is_there("kubectl") {
        render_in(&root().join("deploy"))
    } else {
        BTreeMap::new()
    }
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

/// What kubectl renders of a directory.
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

pub(crate) fn documents(text: &str) -> Vec<Value> {
    yaml_serde::Deserializer::from_str(text)
        .map(|document| Value::deserialize(document).unwrap())
        .collect()
}

pub(crate) fn one<'m>(manifests: &'m [Value], kind: &str) -> &'m Value {
    let mut found = manifests.iter().filter(|it| it["kind"] == kind);
    let one = found.next().unwrap_or_else(|| panic!("no {kind}"));
    assert!(found.next().is_none(), "two of {kind}");
    one
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

/// A CRD of Kubewarden or HCO.
pub(crate) fn crd(name: &str) -> Value {
    one(
        &documents(&e2e_tests::crd(name)),
        "CustomResourceDefinition",
    )
    .clone()
}

/// The schema of a version, changed so that it rejects what the API server would prune.
pub(crate) fn schema(crd: &Value, version: &str) -> Value {
    let versions = crd["spec"]["versions"].as_array().unwrap();
    let version = versions.iter().find(|it| it["name"] == version).unwrap();
    let mut schema = version["schema"]["openAPIV3Schema"].clone();
    close(&mut schema);
    schema
}

fn close(schema: &mut Value) {
    if let Some(map) = schema.as_object_mut() {
        let open = map.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(true));
        let has_fields = map.get("properties").is_some_and(Value::is_object);
        // In a schema without a type, the fields belong to the surrounding schema.
        if has_fields && map.contains_key("type") && !open {
            map.entry("additionalProperties").or_insert(json!(false));
        }
        map.values_mut().for_each(close);
    } else if let Some(list) = schema.as_array_mut() {
        list.iter_mut().for_each(close);
    }
}

/// The parts of a manifest that the schema rejects.
pub(crate) fn mistakes(schema: &Value, manifest: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(schema).unwrap();
    let errors = validator.iter_errors(manifest);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
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
    let metadata = Metadata::parse(&text("policy-metadata.yml")).unwrap();
    for (overlay, manifests) in rendered() {
        let policy = policy(&manifests);
        let spec = &policy["spec"];
        let rules = serde_json::to_value(&metadata.rules).unwrap();
        assert_eq!(spec["rules"], rules, "{overlay}");
        assert_eq!(spec["mutating"], metadata.mutating, "{overlay}");
        assert_eq!(
            spec["backgroundAudit"], metadata.background_audit,
            "{overlay}"
        );
        // The metadata has what all policies together need.
        let all = serde_json::to_value(&metadata.context_aware_resources).unwrap();
        let nodes = json!([{"apiVersion": "v1", "kind": "Node"}]);
        assert_eq!(spec["contextAwareResources"], nodes, "{overlay}");
        assert!(all.as_array().unwrap().contains(&nodes[0]));
        assert_eq!(
            spec["module"],
            format!("registry://{}", metadata.reference().unwrap()),
            "{overlay}"
        );
        for key in [
            "io.kubewarden.policy.severity",
            "io.kubewarden.policy.category",
        ] {
            let said = &policy["metadata"]["annotations"][key];
            assert_eq!(said, metadata.annotation(key).unwrap(), "{overlay}");
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
    if !is_there("kubectl") {
        return;
    }
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

/// `make bench-policy-server` compares the limit with its measurements.
#[test]
fn the_policy_server_has_its_resources_and_is_spread() {
    for (overlay, manifests) in rendered() {
        if overlay == "base" {
            continue;
        }
        let spec = &one(&manifests, "PolicyServer")["spec"];
        assert_eq!(spec["limits"], json!({"memory": "1Gi"}), "{overlay}");
        assert_eq!(
            spec["requests"],
            json!({"cpu": "100m", "memory": "256Mi"}),
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
