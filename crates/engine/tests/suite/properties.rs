//! Properties of every input: no panic, bounded output, and no dependence on order.

use e2e_tests::FakeCluster;
use e2e_tests::properties::law::holds;
use e2e_tests::properties::policy::validate;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::generated::nodes;
use super::{create, hyperconverged, importing, payload, request, template};

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

/// A HyperConverged with the given value at every evaluated field.
fn filled(version: &str, parts: &[Value]) -> Value {
    let part = |index: usize| parts.get(index).cloned().unwrap_or_default();
    let placement = json!({"nodeSelector": part(0), "affinity": {"nodeAffinity": part(1)}});
    let spec = if version == "v1" {
        json!({
            "featureGates": part(4),
            "workloadSources": {"dataImportCronTemplates": part(5), "enableMultiArchBootImageImport": true},
            "deployment": {"nodePlacements": {"workload": placement, "infra": part(1)}},
        })
    } else {
        json!({
            "featureGates": {"enableMultiArchBootImageImport": true}, "dataImportCronTemplates": part(5),
            "workloads": {"nodePlacement": placement}, "infra": {"nodePlacement": part(4)},
        })
    };
    let mut object = hyperconverged(version, &spec);
    object["metadata"] = json!({"name": part(2), "annotations": part(3)});
    object["status"] = json!({"dataImportCronTemplates": part(6)});
    object
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(payload: Vec<u8>, nodes: Vec<u8>) {
        holds(&engine::validate(&payload, &FakeCluster::returning(Ok(nodes))));
        let _ = engine::validate_settings(&payload);
    }

    #[test]
    fn no_json_makes_it_panic(object in value(), old in value(), settings in value(), nodes in value()) {
        for version in ["v1beta1", "v1"] {
            let mut request = request(&hyperconverged(version, &json!({})), Some(&old));
            request["object"] = object.clone();
            for settings in [&json!({}), &settings] {
                let nodes = FakeCluster::returning(Ok(nodes.to_string().into_bytes()));
                holds(&engine::validate(&payload(&request, settings), &nodes));
            }
        }
        let _ = engine::validate_settings(settings.to_string().as_bytes());
    }

    /// An update that changes nothing is accepted without a call.
    #[test]
    fn no_object_makes_it_panic(parts in vec(value(), 7), before in vec(value(), 7), nodes in nodes()) {
        for version in ["v1beta1", "v1"] {
            let (object, old) = (filled(version, &parts), filled(version, &before));
            for old in [None, Some(&old)] {
                let payload = json!({"request": request(&object, old), "settings": {}});
                let input = json!({"payload": payload, "nodes": {"items": nodes}});
                validate(input.to_string().as_bytes());
            }
        }
    }

    #[test]
    fn the_order_of_nodes_and_duplicates_change_no_verdict(
        nodes in nodes(), seed in any::<prop::sample::Index>(), import: bool,
    ) {
        let mut spec = importing(&json!([template("my-image", "arm64,s390x")]));
        spec["featureGates"]["enableMultiArchBootImageImport"] = json!(import);
        let object = hyperconverged("v1beta1", &spec);
        let evaluate = |nodes: &[Value]| {
            create(&object, &json!({}), &FakeCluster::with_nodes(nodes.iter().cloned()))
        };
        let first = evaluate(&nodes);
        let mut shuffled = nodes.clone();
        shuffled.rotate_left(seed.index(nodes.len() + 1));
        prop_assert_eq!(&evaluate(&shuffled), &first);
        shuffled.extend(nodes);
        let doubled = evaluate(&shuffled);
        prop_assert_eq!(doubled.audit_annotations, first.audit_annotations);
        prop_assert_eq!(doubled.message, first.message);
    }
}
