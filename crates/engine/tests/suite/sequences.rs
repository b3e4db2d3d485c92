//! Several updates in a row accept nothing that a single request would not: an accepted intermediate state does not
//! bypass a rule.

use std::borrow::Cow;
use std::collections::BTreeSet;

use e2e_tests::FakeCluster;
use engine::{Foreign, Outcome, RULES, Report, Subject};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::template_spec;

/// The part of the object that an update can change.
#[derive(Debug, Clone, Copy)]
struct State {
    import: bool,
    annotation: Option<&'static str>,
    node_selector: Option<&'static str>,
}

impl State {
    fn object(self) -> Value {
        let source = json!({"registry": {"url": "docker://registry.example.com/my-image:1"}});
        let annotations = match self.annotation {
            Some(value) => json!({"ssp.kubevirt.io/dict.architectures": value}),
            None => json!({}),
        };
        let mut spec = json!({
            "featureGates": {"enableMultiArchBootImageImport": self.import},
            "enableCommonBootImageImport": false,
            "dataImportCronTemplates": [{
                "metadata": {"name": "my-image", "annotations": annotations},
                "spec": template_spec("my-image", &source),
            }],
        });
        if let Some(architecture) = self.node_selector {
            let selector = json!({"kubernetes.io/arch": architecture});
            spec["workloads"] = json!({"nodePlacement": {"nodeSelector": selector}});
        }
        json!({"metadata": {"name": "x", "resourceVersion": "1"}, "spec": spec})
    }

    fn evaluate(self, old: Option<Self>) -> Report {
        let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
        let payload = json!({
            // As in the examples that protect a cluster.
            "settings": {"levels": {"no-workload-nodes": "deny"}},
            "request": {
                "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
                "operation": operation, "object": self.object(), "oldObject": old.map(Self::object),
            },
        });
        let nodes = FakeCluster::with_workers(&["amd64", "arm64"]);
        engine::evaluate(payload.to_string().as_bytes(), &nodes)
    }

    /// The rules that deny the object alone, with the templates that they deny.
    fn denied(self) -> BTreeSet<(Cow<'static, str>, Option<Foreign>)> {
        let findings = self.evaluate(None).findings.into_iter();
        findings
            .filter(|finding| finding.level == Outcome::Deny)
            .map(|finding| (finding.rule, finding.template))
            .collect()
    }
}

/// A state in which the workloads run on nodes with one of these labels.
fn state(selectors: Vec<Option<&'static str>>) -> impl Strategy<Value = State> {
    let annotations = vec![
        None,
        Some("amd64"),
        Some("amd64,arm64"),
        Some("amd64 arm64"),
        Some("s390x"),
    ];
    (any::<bool>(), select(annotations), select(selectors)).prop_map(
        |(import, annotation, node_selector)| State {
            import,
            annotation,
            node_selector,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// After a sequence of accepted updates, the last object alone is accepted too, or the first object had its
    /// problems. Rules about templates are compared on the nodes of the last object.
    ///
    /// The first object has workload nodes. If it has none, `no-workload-nodes` is an existing problem, and an update
    /// can add a template that no rule can compare with nodes.
    #[test]
    fn a_problem_is_in_the_first_object_or_denied(
        first in state(vec![None, Some("amd64"), Some("arm64")]),
        updates in vec(state(vec![None, Some("amd64"), Some("arm64"), Some("s390x")]), 1..=3),
    ) {
        let mut old = first;
        for new in updates {
            if new.evaluate(Some(old)).allowed {
                old = new;
            }
        }
        let last = old;
        let on_nodes_of_last = State { node_selector: last.node_selector, ..first };
        let (of_object, of_templates) = (first.denied(), on_nodes_of_last.denied());
        for denial in last.denied() {
            let subject = RULES.iter().find(|known| known.id == denial.0).unwrap().subject;
            let known = match subject {
                Subject::Object => &of_object,
                Subject::Template => &of_templates,
            };
            prop_assert!(known.contains(&denial), "{:?}", denial);
        }
    }
}
