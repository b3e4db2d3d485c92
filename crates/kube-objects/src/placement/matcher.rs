//! A placement, prepared for matching many nodes.

use super::Placement;
use super::label_values::{LabelKeys, LabelValues};
use super::requirement::{FieldRequirement, Test};
use super::term::Term;
use std::collections::BTreeSet;

/// Decides which nodes a placement selects.
#[derive(Debug)]
pub struct Matcher<'p> {
    node_selector: Vec<(usize, &'p str)>,
    /// The terms of the required affinity.
    terms: Option<Vec<Prepared<'p>>>,
}

impl<'p> Matcher<'p> {
    /// Prepares a placement. The labels that it names are added to `keys`.
    pub fn new(placement: &'p Placement, keys: &mut LabelKeys<'p>) -> Self {
        let node_selector = placement.node_selector.iter();
        let node_selector = node_selector.map(|(key, value)| (keys.add(key), value.as_str()));
        Self {
            node_selector: node_selector.collect(),
            terms: placement.required.as_deref().map(|terms| {
                // A repeated term does not match any more nodes.
                let mut seen = BTreeSet::new();
                let terms = terms.iter().filter(|term| seen.insert(*term));
                terms.map(|term| Prepared::new(term, keys)).collect()
            }),
        }
    }

    /// Whether a pod with this placement can run on a node with these labels and this name, which is empty if the
    /// node has none. Terms that cannot be parsed match nothing; the others can still match.
    ///
    /// MIRRORS: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
    /// `RequiredNodeAffinity.Match`, and hyperconverged-cluster-operator,
    /// pkg/internal/nodeinfo/nodeinfo.go, `isWorkloadNodeFunc`, which treats an error as no match.
    // In its caller, it would be compiled for size as the caller is.
    #[inline(never)]
    pub fn matches(&self, name: &str, labels: &LabelValues<'_>) -> bool {
        let mut node_selector = self.node_selector.iter();
        node_selector.all(|(slot, value)| labels.get(*slot) == Some(*value))
            && self
                .terms
                .as_ref()
                .is_none_or(|terms| terms.iter().any(|term| term.matches(name, labels)))
    }
}

/// A term with the slots of its labels.
#[derive(Debug)]
struct Prepared<'p> {
    labels: Vec<(usize, &'p Test)>,
    fields: &'p [FieldRequirement],
}

impl<'p> Prepared<'p> {
    fn new(term: &'p Term, keys: &mut LabelKeys<'p>) -> Self {
        let labels = term.labels.iter();
        Self {
            labels: labels.map(|it| (keys.add(&it.key), &it.test)).collect(),
            fields: &term.fields,
        }
    }

    /// MIRRORS: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
    /// `nodeSelectorTerm.match`: it checks `len(nodeFields) > 0` first, so a node without a name matches
    /// every `matchFields`.
    fn matches(&self, name: &str, labels: &LabelValues<'_>) -> bool {
        let mut labels_met = self
            .labels
            .iter()
            .map(|(slot, test)| test.is_met_by(labels.get(*slot)));
        let mut fields_met = self.fields.iter().map(|field| field.is_met_by(name));
        labels_met.all(|is_met| is_met) && (name.is_empty() || fields_met.all(|is_met| is_met))
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::api::core::v1::{
        NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm,
    };
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::super::label_values::{LabelKeys, LabelValues};
    use super::{Matcher, Placement};

    type Labels = BTreeMap<String, String>;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

        #[test]
        fn nodes_match_as_if_every_term_were_tried(
            node_selector in btree_map(key(), value(), 0..2),
            terms in prop::option::weighted(0.9, prop_oneof![
                vec(term(), 0..6),
                vec(valid_term(), 6..40),
            ]),
            nodes in vec((select(vec!["n1", "n2", ""]), btree_map(key(), value(), 0..5)), 1..6),
        ) {
            let affinity = terms.clone().map(|terms| NodeAffinity {
                required_during_scheduling_ignored_during_execution: Some(NodeSelector {
                    node_selector_terms: terms,
                }),
                ..NodeAffinity::default()
            });
            let placement = Placement::parse(node_selector.clone(), affinity);
            let mut keys = LabelKeys::default();
            keys.add("another placement's label");
            let matcher = Matcher::new(&placement, &mut keys);
            let mut values = LabelValues::new(&keys);
            for (name, labels) in &nodes {
                values.clear();
                for (key, value) in labels {
                    if let Some(slot) = keys.find(key.as_bytes()) {
                        values.set(slot, value.into());
                    }
                }
                let expected = node_selector.iter().all(|(key, value)| labels.get(key) == Some(value))
                    && terms.as_ref().is_none_or(|terms| {
                        terms.iter().any(|term| term_matches(term, name, labels))
                    });
                prop_assert_eq!(matcher.matches(name, &values), expected, "{} {:?}", name, labels);
            }
        }
    }

    fn key() -> impl Strategy<Value = String> {
        select(vec!["a", "b", "c", "d"]).prop_map(str::to_owned)
    }

    /// `-5` is an integer, and not a label value.
    fn value() -> impl Strategy<Value = String> {
        select(vec!["", "x", "y", "7", "12", "-5"]).prop_map(str::to_owned)
    }

    fn term() -> impl Strategy<Value = NodeSelectorTerm> {
        let operators = select(vec![
            "In",
            "In",
            "NotIn",
            "Exists",
            "DoesNotExist",
            "Gt",
            "Lt",
            "Is",
        ]);
        let values = prop_oneof![3 => vec(value(), 1), 1 => vec(value(), 0..4)];
        let expression = (key(), operators, values).prop_map(|(key, operator, values)| {
            // Mostly valid, because these operators do not have values.
            let values = match operator {
                "Exists" | "DoesNotExist" if values.len() < 3 => None,
                _ => Some(values),
            };
            requirement(key, operator, values)
        });
        let field = (
            select(vec!["metadata.name", "metadata.name", "metadata.uid"]),
            select(vec!["In", "In", "NotIn", "Exists"]),
            prop_oneof![5 => vec(select(vec!["n1", "n2", ""]), 1), 1 => vec(Just("n1"), 0..3)],
        )
            .prop_map(|(key, operator, values)| {
                let values = values.into_iter().map(str::to_owned).collect();
                requirement(key.to_owned(), operator, Some(values))
            });
        (vec(expression, 0..4), vec(field, 0..2)).prop_map(|(expressions, fields)| {
            NodeSelectorTerm {
                match_expressions: Some(expressions),
                match_fields: Some(fields),
            }
        })
    }

    /// A valid term that rarely matches, so that every one of many terms is evaluated.
    fn valid_term() -> impl Strategy<Value = NodeSelectorTerm> {
        let one_of = |values: &'static [&'static str]| {
            select(values).prop_map(|value| Some(vec![value.to_owned()]))
        };
        let words = one_of(&["x", "y", "z", "7", "12"]);
        let numbers = one_of(&["6", "7", "11", "12"]);
        let expression = prop_oneof![
            6 => (key(), Just("In"), words.clone()),
            1 => (key(), Just("NotIn"), words),
            2 => (key(), select(vec!["Gt", "Lt"]), numbers),
            1 => (key(), select(vec!["Exists", "DoesNotExist"]), Just(None)),
        ];
        let names = one_of(&["n1", "n2", "n3"]);
        let field = (
            Just("metadata.name".to_owned()),
            select(vec!["In", "In", "NotIn"]),
            names,
        );
        let all = |parts: Vec<(String, &str, Option<Vec<String>>)>| {
            let parts = parts.into_iter();
            Some(
                parts
                    .map(|(key, operator, values)| requirement(key, operator, values))
                    .collect(),
            )
        };
        prop_oneof![
            (vec(expression.clone(), 3..5), Just(Vec::new())),
            (vec(expression, 1..4), vec(field, 1)),
        ]
        .prop_map(move |(expressions, fields)| NodeSelectorTerm {
            match_expressions: all(expressions),
            match_fields: all(fields),
        })
    }

    fn requirement(
        key: String,
        operator: &str,
        values: Option<Vec<String>>,
    ) -> NodeSelectorRequirement {
        NodeSelectorRequirement {
            key,
            operator: operator.to_owned(),
            values,
        }
    }

    /// The rules of Kubernetes, written a second time in the simplest possible way.
    fn term_matches(term: &NodeSelectorTerm, name: &str, labels: &Labels) -> bool {
        let expressions = term.match_expressions.as_deref().unwrap_or_default();
        let fields = term.match_fields.as_deref().unwrap_or_default();
        let expressions_match = expressions.iter().map(|it| expression_matches(it, labels));
        let fields_match = fields.iter().map(|it| field_matches(it, name));
        // A term with an invalid requirement matches nothing, regardless of the other requirements.
        let requirements: Option<Vec<bool>> = expressions_match.chain(fields_match).collect();
        requirements.is_some_and(|met| !met.is_empty() && !met.contains(&false))
    }

    /// `None` if the requirement is invalid.
    fn expression_matches(requirement: &NodeSelectorRequirement, labels: &Labels) -> Option<bool> {
        let values = requirement.values.as_deref().unwrap_or_default();
        if values.iter().any(|value| value == "-5") {
            return None;
        }
        let actual = labels.get(&requirement.key);
        let is_listed = actual.is_some_and(|actual| values.contains(actual));
        let compare = |is_met: fn(i64, i64) -> bool| {
            let [bound] = values else { return None };
            let bound = bound.parse().ok()?;
            let actual = actual.and_then(|actual| actual.parse().ok());
            Some(actual.is_some_and(|actual| is_met(actual, bound)))
        };
        match (requirement.operator.as_str(), values) {
            ("In", [_, ..]) => Some(is_listed),
            ("NotIn", [_, ..]) => Some(!is_listed),
            ("Exists", []) => Some(actual.is_some()),
            ("DoesNotExist", []) => Some(actual.is_none()),
            ("Gt", _) => compare(|actual, bound| actual > bound),
            ("Lt", _) => compare(|actual, bound| actual < bound),
            _ => None,
        }
    }

    fn field_matches(requirement: &NodeSelectorRequirement, name: &str) -> Option<bool> {
        let [value] = requirement.values.as_deref().unwrap_or_default() else {
            return None;
        };
        let is_name = requirement.key == "metadata.name";
        let actual = if is_name { name } else { "" };
        let is_met = match requirement.operator.as_str() {
            "In" => actual == value,
            "NotIn" => actual != value,
            _ => return None,
        };
        Some(is_met || name.is_empty())
    }
}
