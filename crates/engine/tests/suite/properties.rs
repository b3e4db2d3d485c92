//! Properties of every input: no panic, bounded output, and no dependence on order.

use e2e_tests::FakeCluster;
use e2e_tests::properties::law::holds;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Field names of a HyperConverged, so that random objects reach the code that reads them.
const WORDS: [&str; 36] = [
    "commonTemplate",
    "originalSupportedArchitectures",
    "amd64",
    "arm64, amd64",
    "AMD64,",
    "true",
    "fedora-image-cron",
    "my-image",
    "metadata",
    "annotations",
    "name",
    "ssp.kubevirt.io/dict.architectures",
    "dataimportcrontemplate.kubevirt.io/enable",
    "hco.kubevirt.io/v1-only-fields",
    "ssp.kubevirt.io/jsonpatch",
    "spec",
    "template",
    "source",
    "registry",
    "url",
    "featureGates",
    "enableMultiArchBootImageImport",
    "workloadSources",
    "dataImportCronTemplates",
    "workloads",
    "nodePlacement",
    "nodeSelector",
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
    "matchExpressions",
    "key",
    "operator",
    "values",
    "status",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(&WORDS[..]).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 64, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((word(), inner), 0..6).prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

fn payload(version: &str, object: &Value, old: &Value, settings: &Value) -> Vec<u8> {
    let operation = if old.is_null() { "CREATE" } else { "UPDATE" };
    json!({"settings": settings, "request": {
        "kind": {"group": "hco.kubevirt.io", "version": version, "kind": "HyperConverged"},
        "operation": operation, "object": object, "oldObject": old,
    }})
    .to_string()
    .into_bytes()
}

/// A HyperConverged with the given value at every evaluated field.
fn filled(version: &str, parts: &[Value]) -> Value {
    let part = |index: usize| parts.get(index).cloned().unwrap_or_default();
    let placement = json!({"nodeSelector": part(0), "affinity": {"nodeAffinity": part(1)}});
    let metadata = json!({"name": part(2), "annotations": part(3)});
    if version == "v1" {
        json!({"metadata": metadata, "status": {"dataImportCronTemplates": part(6)}, "spec": {
            "featureGates": part(4),
            "workloadSources": {"dataImportCronTemplates": part(5), "enableMultiArchBootImageImport": true},
            "deployment": {"nodePlacements": {"workload": placement, "infra": part(1)}},
        }})
    } else {
        json!({"metadata": metadata, "status": {"dataImportCronTemplates": part(6)}, "spec": {
            "featureGates": {"enableMultiArchBootImageImport": true}, "dataImportCronTemplates": part(5),
            "workloads": {"nodePlacement": placement}, "infra": {"nodePlacement": part(4)},
        }})
    }
}

fn node() -> impl Strategy<Value = Value> {
    let label = |key: &'static str| prop::option::of(Just(key));
    (
        prop::sample::select(vec!["amd64", "arm64", "s390x", "ppc64le", ""]),
        label("node-role.kubernetes.io/worker"),
        label("node-role.kubernetes.io/control-plane"),
        0..50_u32,
    )
        .prop_map(|(architecture, worker, control_plane, number)| {
            let labels: serde_json::Map<String, Value> = worker
                .into_iter()
                .chain(control_plane)
                .map(|key| (key.to_owned(), Value::from("")))
                .chain([("kubernetes.io/arch".to_owned(), Value::from(architecture))])
                .collect();
            json!({
                "metadata": {"name": format!("node-{number}"), "labels": labels},
                "status": {"nodeInfo": {"architecture": architecture}}
            })
        })
}

fn list(nodes: &[Value]) -> FakeCluster {
    FakeCluster::with_nodes(nodes.iter().cloned())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(payload: Vec<u8>, nodes: Vec<u8>) {
        holds(&engine::evaluate(&payload, &FakeCluster::returning(Ok(nodes))));
        let _ = engine::validate_settings(&payload);
    }

    #[test]
    fn no_json_makes_it_panic(object in value(), old in value(), settings in value(), nodes in value()) {
        for version in ["v1beta1", "v1"] {
            let nodes = FakeCluster::returning(Ok(nodes.to_string().into_bytes()));
            holds(&engine::evaluate(&payload(version, &object, &old, &json!({})), &nodes));
            holds(&engine::evaluate(&payload(version, &object, &old, &settings), &nodes));
        }
        let _ = engine::validate_settings(settings.to_string().as_bytes());
    }

    #[test]
    fn no_object_makes_it_panic(parts in vec(value(), 7), before in vec(value(), 7), nodes in vec(node(), 0..6)) {
        for version in ["v1beta1", "v1"] {
            let (object, old) = (filled(version, &parts), filled(version, &before));
            for old in [&Value::Null, &old, &object] {
                let report = engine::evaluate(&payload(version, &object, old, &json!({})), &list(&nodes));
                holds(&report);
            }
        }
    }

    #[test]
    fn an_update_that_changes_nothing_passes(parts in vec(value(), 7)) {
        for version in ["v1beta1", "v1"] {
            let object = filled(version, &parts);
            let nodes = FakeCluster::returning(Err("nobody may ask".to_owned()));
            let report = engine::evaluate(&payload(version, &object, &object, &json!({})), &nodes);
            prop_assert!(report.allowed && report.findings.is_empty(), "{:?}", report);
        }
    }

    #[test]
    fn the_order_of_nodes_and_duplicates_change_no_verdict(
        nodes in vec(node(), 1..8), seed in any::<prop::sample::Index>(), import: bool,
    ) {
        let object = json!({"metadata": {"name": "x"}, "spec": {
            "featureGates": {"enableMultiArchBootImageImport": import},
            "dataImportCronTemplates": [{
                "metadata": {"name": "my-image", "annotations": {"ssp.kubevirt.io/dict.architectures": "arm64,s390x"}},
                "spec": {"template": {"spec": {"source": {}}}},
            }],
        }});
        let payload = payload("v1beta1", &object, &Value::Null, &json!({}));
        let judge = |nodes: &[Value]| engine::evaluate(&payload, &list(nodes));
        let first = judge(&nodes);
        let mut shuffled = nodes.clone();
        shuffled.rotate_left(seed.index(nodes.len()));
        prop_assert_eq!(&judge(&shuffled), &first);
        shuffled.extend(nodes.iter().cloned());
        let doubled = judge(&shuffled);
        prop_assert_eq!(doubled.audit_annotations, first.audit_annotations);
        prop_assert_eq!(doubled.message, first.message);
    }

    /// Compares Kubernetes' matching with a simple model: terms are ORed, requirements are ANDed.
    #[test]
    fn the_selector_equals_a_naive_model(
        terms in vec(vec((0..4_usize, 0..4_usize, vec(0..4_usize, 1..3)), 0..3), 0..3),
        labels in vec(prop::option::of(0..4_usize), 4),
    ) {
        const KEYS: [&str; 4] = ["a", "b", "c", "d"];
        const OPERATORS: [&str; 4] = ["In", "NotIn", "Exists", "DoesNotExist"];
        let has = |key: usize| labels[key];
        let matches = |(key, operator, values): &(usize, usize, Vec<usize>)| match operator {
            0 => has(*key).is_some_and(|value| values.contains(&value)),
            1 => has(*key).is_none_or(|value| !values.contains(&value)),
            2 => has(*key).is_some(),
            _ => has(*key).is_none(),
        };
        let expected = terms.iter().any(|term| !term.is_empty() && term.iter().all(matches));
        let requirement = |(key, operator, values): &(usize, usize, Vec<usize>)| {
            let values: Vec<String> = values.iter().map(|value| format!("v{value}")).collect();
            let values = if *operator < 2 { json!(values) } else { Value::Null };
            json!({"key": KEYS[*key], "operator": OPERATORS[*operator], "values": values})
        };
        let terms: Vec<Value> = terms
            .iter()
            .map(|term| json!({"matchExpressions": term.iter().map(requirement).collect::<Vec<_>>()}))
            .collect();
        let labels: serde_json::Map<String, Value> = (0..4)
            .filter_map(|key| Some((KEYS[key].to_owned(), Value::from(format!("v{}", has(key)?)))))
            .collect();
        let object = json!({"metadata": {"name": "x"}, "spec": {"workloads": {"nodePlacement": {"affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        }}}}});
        let node = json!({"metadata": {"labels": labels}, "status": {"nodeInfo": {"architecture": "amd64"}}});
        let report = engine::evaluate(&payload("v1beta1", &object, &Value::Null, &json!({})), &list(&[node]));
        prop_assert_eq!(report.workload_architectures.unwrap() == ["amd64"], expected);
    }
}
