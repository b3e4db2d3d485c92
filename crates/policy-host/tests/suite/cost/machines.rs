//! The law of cost for VirtualMachines.

use rstest::rstest;
use serde_json::{Value, json};

use super::law::Cost;
use super::request::Change;
use super::{FEW, LARGE};
use crate::metered::validate;

/// A kind of content: where its items are in the object, and an item.
struct Kind {
    name: &'static str,
    pointer: &'static str,
    item: fn(usize) -> Value,
}

const fn kind(name: &'static str, pointer: &'static str, item: fn(usize) -> Value) -> Kind {
    Kind {
        name,
        pointer,
        item,
    }
}

const TERMS: &str = "/spec/template/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";

/// An item of an object is a member with a name of its own.
const KINDS: &[Kind] = &[
    kind("annotations", "/metadata/annotations", |_| json!("")),
    kind(
        "disks",
        "/spec/template/spec/domain/devices/disks",
        |n| json!({"name": format!("d{n}"), "bootOrder": n + 1}),
    ),
    kind(
        "volumes",
        "/spec/template/spec/volumes",
        |n| json!({"name": format!("d{n}"), "dataVolume": {"name": format!("v{n}")}}),
    ),
    kind(
        "disk images",
        "/spec/dataVolumeTemplates",
        |n| json!({"metadata": {"name": format!("v{n}")}, "spec": {"sourceRef": {"kind": "DataSource", "namespace": "a", "name": format!("s{n}")}}}),
    ),
    kind(
        "labels of nodes",
        "/spec/template/spec/nodeSelector",
        |_| json!("x"),
    ),
    kind(
        "terms",
        TERMS,
        |n| json!({"matchExpressions": [{"key": format!("l{n}"), "operator": "Exists"}]}),
    ),
    kind(
        "terms of architectures",
        TERMS,
        |n| json!({"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64", format!("x{n}")]}]}),
    ),
    kind(
        "preferred terms",
        "/spec/template/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution",
        |n| json!({"weight": 1, "preference": {"matchExpressions": [{"key": format!("l{n}"), "operator": "Exists"}]}}),
    ),
    kind("unknown fields", "/spec/unknown", |n| json!({"a": n})),
];

fn object(parts: &[&Kind], bytes: usize, first: usize) -> Value {
    let mut object = json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {"namespace": "a", "name": "b", "annotations": {}},
        "spec": {"dataVolumeTemplates": [], "unknown": {}, "template": {"spec": {
            "nodeSelector": {}, "volumes": [], "domain": {"devices": {"disks": []}},
            "affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []},
                "preferredDuringSchedulingIgnoredDuringExecution": [],
            }},
        }}},
    });
    for kind in parts {
        let count = bytes / parts.len() / ((kind.item)(1_000).to_string().len() + 8);
        let place = object.pointer_mut(kind.pointer).expect("a place");
        for number in first..first + count {
            let item = (kind.item)(number);
            match place.as_array_mut() {
                Some(items) => items.push(item),
                None => place[format!("k{number}")] = item,
            }
        }
    }
    object
}

fn payload(parts: &[&Kind], bytes: usize, change: Change) -> Vec<u8> {
    let mut request = json!({
        "uid": "0", "kind": {"group": "kubevirt.io", "version": "v1", "kind": "VirtualMachine"},
        "operation": "CREATE", "object": object(parts, bytes, 0),
    });
    if change != Change::Created {
        request["operation"] = json!("UPDATE");
        request["oldObject"] = object(parts, bytes, 1);
    }
    json!({"request": request, "settings": {}})
        .to_string()
        .into_bytes()
}

/// What the cluster answers: a list for HyperConverged and for `KubeVirt`, and each `DataSource`.
fn answer() -> Vec<u8> {
    json!({
        "kind": "List",
        "metadata": {"labels": {"template.kubevirt.io/architecture": "s390x"}},
        "spec": {"source": {}},
        "items": [{"metadata": {}, "status": {
            "nodeInfo": {"workloadsArchitectures": ["amd64", "arm64"]},
            "defaultArchitecture": "amd64", "observedKubeVirtVersion": "v1.8.0",
        }}],
    })
    .to_string()
    .into_bytes()
}

fn measure<'r>(request: &'r [u8], answer: &[u8]) -> Cost<'r> {
    Cost {
        request,
        nodes: &FEW,
        metered: validate(request, answer),
    }
}

#[rstest]
fn the_law_of_cost_holds_for_virtual_machines(
    #[values(Change::Created, Change::Each)] change: Change,
) {
    let answer = answer();
    let mut breaches = Vec::new();
    for (place, one) in KINDS.iter().enumerate() {
        for other in &KINDS[place..] {
            let parts: &[&Kind] = if std::ptr::eq(one, other) {
                &[one]
            } else {
                &[one, other]
            };
            let [half, whole] = [LARGE, 2 * LARGE].map(|bytes| payload(parts, bytes, change));
            let empty = payload(&[], 0, change);
            let [half, whole, empty] =
                [&half, &whole, &empty].map(|request| measure(request, &answer));
            let breach = whole
                .breach()
                .or_else(|| whole.breach_of_growth(&half, &empty));
            breaches.extend(breach.map(|why| format!("{} and {}: {why}", one.name, other.name)));
        }
    }
    assert_eq!(breaches, [""; 0]);
}

/// The content reaches the rules: what is measured is judged.
#[test]
fn a_machine_of_the_law_is_judged() {
    let disks: Vec<&Kind> = KINDS
        .iter()
        .filter(|kind| kind.name == "disk images")
        .collect();
    let measured = validate(&payload(&disks, 1_000, Change::Created), &answer());
    let answer: Value = serde_json::from_slice(&measured.answer).expect("an answer");
    let findings = &answer["audit_annotations"]["findings"];
    assert!(
        findings.as_str().is_some_and(|it| it.contains("vm-")),
        "{answer}"
    );
}
