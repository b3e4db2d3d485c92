//! The policy checks its permission before it lists or gets objects. Only a clear denial prevents the call.

use e2e_tests::{Call, FakeCluster};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{hyperconverged, payload, request};

/// The calls to a cluster for a new object.
fn calls(object: &Value, cluster: &FakeCluster) -> Vec<String> {
    let settings = json!({"serviceAccount": "kw/ps"});
    engine::validate(&payload(&request(object, None), &settings), cluster);
    let calls = cluster.calls().into_iter().map(|call| match call {
        Call::Nodes => "nodes".to_owned(),
        Call::CanI(account, permission, namespace) => {
            assert_eq!((&*account.namespace, &*account.name), ("kw", "ps"));
            let namespace = namespace.map(|namespace| format!(" in {namespace}"));
            format!("{permission}{}?", namespace.unwrap_or_default())
        }
        Call::List(resource) => resource.plural(),
        Call::DataSource(namespace, name) => format!("{namespace}/{name}"),
        Call::Manifest(image) | Call::ManifestAndConfig(image) => image,
    });
    calls.collect()
}

#[test]
fn only_a_clear_denial_prevents_the_list_of_nodes() {
    let denied = ["list?"];
    let listed = ["list?", "watch?", "nodes"];
    for (status, wanted) in [
        (r#"{"allowed":false,"reason":"RBAC"}"#, &denied[..]),
        ("", &listed),
        ("null", &listed),
        ("{}", &listed),
        ("[false]", &listed),
        (r#"{"allowed":null}"#, &listed),
        (r#"{"allowed":"false"}"#, &listed),
        (r#"{"allowed":true}"#, &listed),
    ] {
        let cluster = FakeCluster::with_workers(&[]).answering(status);
        let calls = calls(&hyperconverged("v1beta1", &json!({})), &cluster);
        assert_eq!(calls, wanted, "{status}");
    }
    // The host does not answer.
    let cluster = FakeCluster::with_workers(&[]);
    assert_eq!(
        calls(&hyperconverged("v1beta1", &json!({})), &cluster),
        listed
    );
}

/// A VM whose dataVolumeTemplates use these DataSources, and which boots from the first one.
fn virtual_machine(sources: impl IntoIterator<Item = String>) -> Value {
    let templates = sources.into_iter().map(|name| {
        json!({"metadata": {"name": "root"}, "spec": {"sourceRef": {
            "kind": "DataSource", "namespace": "kubevirt-os-images", "name": name,
        }}})
    });
    json!({
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "x", "namespace": "shop"},
        "spec": {
            "dataVolumeTemplates": templates.collect::<Value>(),
            "template": {"spec": {
                "architecture": "amd64",
                "volumes": [{"name": "root", "dataVolume": {"name": "root"}}],
            }},
        },
    })
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
    // The DataSource points to another one.
    let sources = [
        "kubevirt-os-images/fedora",
        "get datasources in kubevirt-os-images?",
        "kubevirt-os-images/fedora-amd64",
    ];
    let calls = |denied: &str| {
        let yaml = format!("{{nodes: mixed, denied: [{denied}]}}");
        let cluster = FakeCluster::of(&yaml_serde::from_str(&yaml).unwrap());
        calls(&virtual_machine(["fedora".to_owned()]), &cluster)
    };
    assert_eq!(calls(""), [&lists[..], &sources[..]].concat());
    assert_eq!(calls("get datasources"), lists);
    let denied = calls("watch hyperconvergeds");
    assert_eq!(denied[..3], [lists[0], lists[1], lists[3]]);
}

#[test]
fn a_vm_with_many_data_sources_reads_few() {
    let cluster = FakeCluster::with_workers(&[]);
    let sources = (0..1000).map(|index| format!("disk-{index}"));
    let mut object = virtual_machine(sources);
    object["spec"]["template"] = Value::Null;
    let calls = calls(&object, &cluster);
    let sources = calls
        .iter()
        .filter(|call| call.starts_with("kubevirt-os-images/"));
    assert_eq!(sources.count(), 16);
}
