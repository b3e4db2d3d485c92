//! The policy checks its permission before it lists the nodes. Only a clear denial prevents the list.

use e2e_tests::{Call, FakeCluster};
use serde_json::json;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A request for which the nodes are needed.
fn payload() -> String {
    let payload = json!({"settings": {"serviceAccount": "kw/ps"}, "request": {
        "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
        "operation": "CREATE", "object": {"metadata": {"name": "x"}},
    }});
    payload.to_string()
}

/// The calls to a cluster that gives this answer to every `can_i`, and whether the policy denies the request because of
/// the answer.
fn asked(status: Option<&str>) -> (Vec<String>, bool) {
    let cluster = FakeCluster::with_workers(&[]);
    let cluster = match status {
        Some(status) => cluster.answering(status),
        None => cluster,
    };
    let report = engine::evaluate(payload().as_bytes(), &cluster);
    let calls = cluster.calls().into_iter().map(|call| match call {
        Call::Nodes => "nodes".to_owned(),
        Call::CanI(account, verb, _) => format!("{}/{} {verb}", account.namespace, account.name),
        Call::List(resource) => resource.plural().to_owned(),
        Call::DataSource(namespace, name) => format!("{namespace}/{name}"),
        Call::Manifest(image) | Call::ManifestAndConfig(image) => image,
    });
    let mut findings = report.findings.iter();
    let is_denied = findings.any(|finding| finding.rule == "nodes-unreadable");
    (calls.collect(), is_denied)
}

#[test]
fn after_a_clear_no_the_nodes_are_not_asked_for() {
    let (calls, is_denied) = asked(Some(r#"{"allowed":false,"reason":"RBAC"}"#));
    assert_eq!(calls, ["kw/ps list"]);
    assert!(is_denied);
}

#[test]
fn any_other_answer_is_ignored() {
    for status in [
        None,
        Some(""),
        Some("null"),
        Some("{}"),
        Some("[false]"),
        Some(r#"{"allowed":null}"#),
        Some(r#"{"allowed":"false"}"#),
        Some(r#"{"allowed":true}"#),
    ] {
        let (calls, is_denied) = asked(status);
        assert_eq!(calls, ["kw/ps list", "kw/ps watch", "nodes"], "{status:?}");
        assert!(!is_denied, "{status:?}");
    }
}

#[test]
fn a_host_that_knows_no_permissions_is_asked_for_the_nodes() {
    struct Host;
    impl engine::Registry for Host {
        fn manifest(&self, _: &str) -> Result<Vec<u8>, String> {
            Err("images are not read".to_owned())
        }

        fn manifest_and_config(&self, image: &str) -> Result<Vec<u8>, String> {
            self.manifest(image)
        }
    }
    impl engine::Cluster for Host {
        fn nodes(&self) -> Result<Vec<u8>, String> {
            Err("no route to host".to_owned())
        }
    }
    let report = engine::evaluate(payload().as_bytes(), &Host);
    let message = report.message.unwrap_or_default();
    assert!(message.contains("no route to host"), "{message}");
}

/// The calls to a cluster for a VM whose boot disk uses two DataSources, one pointing to the other.
fn asked_for_a_vm(denied: &str) -> Vec<String> {
    let yaml = format!("{{nodes: mixed, denied: [{denied}]}}");
    let cluster = FakeCluster::of(&yaml_serde::from_str(&yaml).unwrap());
    let payload = json!({"settings": {"serviceAccount": "kw/ps"}, "request": {
        "kind": {"group": "kubevirt.io", "version": "v1", "kind": "VirtualMachine"},
        "operation": "CREATE",
        "object": {"metadata": {"name": "x", "namespace": "shop"}, "spec": {
            "dataVolumeTemplates": [{"metadata": {"name": "root"}, "spec": {"sourceRef": {
                "kind": "DataSource", "namespace": "kubevirt-os-images", "name": "fedora",
            }}}],
            "template": {"spec": {
                "architecture": "amd64",
                "volumes": [{"name": "root", "dataVolume": {"name": "root"}}],
            }},
        }},
    }});
    engine::evaluate(payload.to_string().as_bytes(), &cluster);
    let calls = cluster.calls().into_iter().map(|call| match call {
        Call::CanI(_, permission, namespace) => {
            let namespace = namespace.map(|it| format!(" in {it}"));
            format!("{permission}{}?", namespace.unwrap_or_default())
        }
        Call::List(resource) => resource.plural().to_owned(),
        Call::DataSource(namespace, name) => format!("{namespace}/{name}"),
        other => format!("{other:?}"),
    });
    calls.collect()
}

#[test]
fn the_permissions_for_a_vm_are_checked_first() {
    let lists = [
        "list hyperconvergeds?",
        "watch hyperconvergeds?",
        "hyperconvergeds",
        "list kubevirts?",
        "watch kubevirts?",
        "kubevirts",
        "get datasources in kubevirt-os-images?",
    ];
    let sources = [
        "kubevirt-os-images/fedora",
        "get datasources in kubevirt-os-images?",
        "kubevirt-os-images/fedora-amd64",
    ];
    assert_eq!(asked_for_a_vm(""), [&lists[..], &sources[..]].concat());
    assert_eq!(asked_for_a_vm("get datasources"), lists);
    assert_eq!(
        asked_for_a_vm("watch hyperconvergeds")[..3],
        [
            "list hyperconvergeds?",
            "watch hyperconvergeds?",
            "list kubevirts?"
        ]
    );
}

#[test]
fn a_vm_with_many_data_sources_asks_for_few() {
    let cluster = FakeCluster::with_workers(&[]);
    let template = |index: usize| {
        json!({"metadata": {"name": "root"}, "spec": {"sourceRef": {
            "kind": "DataSource", "namespace": "a", "name": format!("disk-{index}"),
        }}})
    };
    let templates: Vec<_> = (0..1000).map(template).collect();
    let payload = json!({"settings": {}, "request": {
        "kind": {"group": "kubevirt.io", "version": "v1", "kind": "VirtualMachine"},
        "operation": "CREATE",
        "object": {"metadata": {"name": "x"}, "spec": {"dataVolumeTemplates": templates}},
    }});
    assert!(engine::evaluate(payload.to_string().as_bytes(), &cluster).allowed);
    // Two lists, and 16 DataSources.
    assert_eq!(cluster.calls().len(), 18);
}
