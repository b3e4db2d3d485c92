//! A node placement: which nodes it selects, and what Kubernetes rejects in it.

mod affinity;
mod requirement;
mod term;

use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;

use k8s_openapi::api::core::v1::{NodeAffinity, NodeSelector};

pub use self::affinity::{PREFERRED, REQUIRED, node_affinity, node_selector};

use self::term::{Term, names_any_of, parse_terms};
use crate::node_list::{Needed, Node};
use crate::path::FieldPath;

/// The node label with the architecture.
pub const ARCHITECTURE_LABEL: &str = "kubernetes.io/arch";
/// The labels that a placement can use to select an architecture.
const ARCHITECTURE_LABELS: [&str; 2] = [ARCHITECTURE_LABEL, "beta.kubernetes.io/arch"];

/// A nodeSelector and a node affinity, parsed. The default restricts nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Placement {
    /// In the order of the keys. It can have a hundred thousand, and no key is looked up.
    node_selector: Vec<(String, String)>,
    required: Option<BTreeSet<Term>>,
    errors: Vec<SelectorError>,
    architecture_preference: Option<usize>,
    names_architecture: bool,
}

impl Placement {
    /// Parses a placement; the nodeSelector has each key once, in their order. This cannot fail: a term that Kubernetes
    /// rejects is reported by [`Placement::errors`] and matches no node.
    pub fn parse(
        node_selector: impl IntoIterator<Item = (String, String)>,
        node_affinity: Option<NodeAffinity>,
    ) -> Self {
        let affinity = node_affinity.unwrap_or_default();
        let required = affinity.required_during_scheduling_ignored_during_execution;
        let preferred = affinity
            .preferred_during_scheduling_ignored_during_execution
            .unwrap_or_default();

        let node_selector: Vec<(String, String)> = node_selector.into_iter().collect();
        let names_architecture = node_selector
            .iter()
            .any(|(key, _)| ARCHITECTURE_LABELS.contains(&key.as_str()))
            || required
                .iter()
                .flat_map(|selector| &selector.node_selector_terms)
                .any(|term| names_any_of(term, &ARCHITECTURE_LABELS));
        let architecture_preference = preferred
            .iter()
            .position(|term| names_any_of(&term.preference, &ARCHITECTURE_LABELS));

        let (required, errors) = match required.as_ref().map(parse_terms) {
            Some((terms, errors)) => (Some(terms), errors),
            None => (None, Vec::new()),
        };
        Self {
            // Keys and values are not validated.
            // MIRRORS: k8s.io/apimachinery/pkg/labels/selector.go, `SelectorFromValidatedSet`.
            node_selector,
            required,
            errors,
            architecture_preference,
            names_architecture,
        }
    }

    /// The same placement, with a nodeSelector that also requires an architecture.
    #[must_use]
    pub fn on(&self, architecture: &str) -> Self {
        let mut placement = self.clone();
        let node_selector = &mut placement.node_selector;
        let index = node_selector.partition_point(|(key, _)| key.as_str() < ARCHITECTURE_LABEL);
        match node_selector.get_mut(index) {
            Some((key, value)) if key == ARCHITECTURE_LABEL => architecture.clone_into(value),
            _ => {
                let label = (ARCHITECTURE_LABEL.to_owned(), architecture.to_owned());
                node_selector.insert(index, label);
            }
        }
        placement.names_architecture = true;
        placement
    }

    /// Whether the placement has requirements. A required affinity is one, even without terms; a preferred affinity is not.
    pub fn has_requirements(&self) -> bool {
        !self.node_selector.is_empty() || self.required.is_some()
    }

    /// Whether a pod with this placement can run on a node with this name and these labels.
    pub fn matches<'n>(
        &self,
        name: &'n str,
        labels: impl IntoIterator<Item = (&'n str, &'n str)>,
    ) -> bool {
        let labels = labels.into_iter();
        self.selects(&Node {
            name: name.into(),
            labels: labels.map(|(key, value)| (key, value.into())).collect(),
            ..Node::default()
        })
    }

    /// The fields of nodes that decide whether the placement selects them.
    pub fn add_needed<'p>(&'p self, needed: &mut Needed<'p>) {
        for (key, _) in &self.node_selector {
            needed.add_label(key);
        }
        for term in self.required.iter().flatten() {
            needed.names |= !term.fields.is_empty();
            for requirement in &term.labels {
                needed.add_label(&requirement.key);
            }
        }
    }

    /// Whether a pod with this placement can run on a node. Terms that cannot be parsed match nothing; the others can
    /// still match.
    ///
    /// MIRRORS: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
    /// `RequiredNodeAffinity.Match`, and hyperconverged-cluster-operator,
    /// pkg/internal/nodeinfo/nodeinfo.go, `isWorkloadNodeFunc`, which treats an error as no match.
    pub fn selects(&self, node: &Node<'_>) -> bool {
        let mut node_selector = self.node_selector.iter();
        node_selector.all(|(key, value)| node.label(key) == Some(value.as_str()))
            && self
                .required
                .as_ref()
                .is_none_or(|terms| terms.iter().any(|term| term.matches(node)))
    }

    /// Everything in the required affinity that Kubernetes rejects, in the order in which it reports it, with
    /// the first few errors of each requirement.
    pub fn errors(&self) -> &[SelectorError] {
        &self.errors
    }

    /// Whether the required affinity excludes all nodes whose label has this value, whatever their other labels are. An
    /// affinity that Kubernetes rejects excludes nothing.
    pub fn affinity_excludes(&self, label: &str, value: &str) -> bool {
        let excludes = |term: &Term| {
            let mut requirements = term.labels.iter();
            requirements.any(|it| it.key == label && !it.test.is_met_by(Some(value)))
        };
        let mut terms = self.required.iter().flatten();
        let is_valid = self.errors.is_empty() && terms.clone().next().is_some();
        is_valid && terms.all(excludes)
    }

    /// The index of the first preferred term, of any weight, that names an architecture label.
    pub fn architecture_preference(&self) -> Option<usize> {
        self.architecture_preference
    }

    /// Whether the nodeSelector or the required affinity names an architecture label. Terms that cannot be
    /// parsed count too.
    pub fn names_architecture(&self) -> bool {
        self.names_architecture
    }
}

/// Everything in a required affinity that Kubernetes rejects, for an affinity that is only validated.
///
/// MIRRORS: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
/// `NewNodeSelector`.
pub fn check_required(selector: &NodeSelector) -> Vec<SelectorError> {
    parse_terms(selector).1
}

/// A requirement of a node affinity that Kubernetes rejects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectorError {
    /// The field, relative to the required affinity: `nodeSelectorTerms[0].matchExpressions[1].values[0]`.
    pub path: FieldPath,
    /// Whether the requirement is in `matchFields`.
    pub is_about_fields: bool,
    /// The whole requirement, `kubernetes.io/arch In [amd64 arm64]`. It identifies the error, so it is neither
    /// shortened nor escaped.
    pub requirement: Rc<str>,
    /// The mistake.
    pub reason: &'static str,
}

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

// rstest and wasm-bindgen-test cannot be combined. In wasm, the conformance samples test this.
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::api::core::v1::NodeAffinity;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::{ARCHITECTURE_LABEL, Placement};

    #[test]
    fn an_invalid_affinity_excludes_nothing() {
        let affinity = required(&expression(ARCHITECTURE_LABEL, "Is", &["amd64"]));
        assert!(!affinity.affinity_excludes(ARCHITECTURE_LABEL, "arm64"));
    }

    #[rstest]
    #[case::operator(
        json!([{"matchExpressions": [{"key": "/", "operator": "in", "values": ["_"]}]}]),
        "nodeSelectorTerms[0].matchExpressions[0].operator: the operator must be \
         In, NotIn, Exists, DoesNotExist, Gt, or Lt (/ in [_])"
    )]
    #[case::field_operator(
        field("metadata.name", "Exists", "x"),
        "nodeSelectorTerms[0].matchFields[0].operator: matchFields supports only \
         the operators In and NotIn (metadata.name Exists [x])"
    )]
    fn a_requirement_is_invalid(#[case] terms: Value, #[case] expected: &str) {
        let errors: Vec<_> = required(&terms)
            .errors()
            .iter()
            .map(|error| format!("{error} ({})", error.requirement))
            .collect();
        assert_eq!(errors, [expected]);
    }

    #[test]
    fn a_requirement_has_few_errors_however_many_values() {
        let values = vec!["-"; 100_000];
        assert_eq!(required(&expression("a", "In", &values)).errors().len(), 8);
    }

    #[rstest]
    #[case::old_label(json!({"beta.kubernetes.io/arch": "arm64"}), json!(null), true, None)]
    #[case::field_of_that_name(
        json!(null),
        json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": field("kubernetes.io/arch", "In", "x")}}),
        false,
        None
    )]
    #[case::preferred(
        json!(null),
        json!({"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 9, "preference": exists("a")}, {"weight": 0, "preference": exists("beta.kubernetes.io/arch")}
        ]}),
        false,
        Some(1)
    )]
    fn an_architecture_is_named(
        #[case] selector: Value,
        #[case] affinity: Value,
        #[case] is_named: bool,
        #[case] preference: Option<usize>,
    ) {
        let placement = placement(selector, affinity);
        assert_eq!(placement.names_architecture(), is_named);
        assert_eq!(placement.architecture_preference(), preference);
    }

    #[track_caller]
    fn placement(selector: Value, affinity: Value) -> Placement {
        let selector: Option<BTreeMap<_, _>> = serde_json::from_value(selector).unwrap();
        let affinity: Option<NodeAffinity> = serde_json::from_value(affinity).unwrap();
        Placement::parse(selector.unwrap_or_default(), affinity)
    }

    fn required(terms: &Value) -> Placement {
        placement(
            Value::Null,
            json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}),
        )
    }

    fn exists(key: &str) -> Value {
        json!({"matchExpressions": [{"key": key, "operator": "Exists"}]})
    }

    fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
        json!([{"matchExpressions": [{"key": key, "operator": operator, "values": values}]}])
    }

    fn field(key: &str, operator: &str, value: &str) -> Value {
        json!([{"matchFields": [{"key": key, "operator": operator, "values": [value]}]}])
    }
}
