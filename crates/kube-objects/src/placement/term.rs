//! The terms of a required node affinity. Each term is parsed separately: valid terms stay in effect.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};

use super::node_set::NodeSet;
use super::requirement::{NAME_FIELD, NodeValues, Requirement, Test};
use super::{ARCHITECTURE_LABELS, SelectorError};
use crate::node_list::Node;
use crate::path::FieldPath;

/// A valid term. At least one of the lists has an entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Term {
    pub(super) labels: Vec<Requirement>,
    pub(super) fields: Vec<Requirement>,
}

/// The nodes of a list by the values of their labels, so that a requirement is compared with few values.
pub(super) struct NodeIndex<'n> {
    nodes: usize,
    labels: BTreeMap<&'n str, NodeValues<'n>>,
    names: NodeValues<'n>,
    nameless: NodeSet,
}

impl<'n> NodeIndex<'n> {
    pub(super) fn new(nodes: &[&'n Node<'_>]) -> Self {
        let mut labels: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        let mut names = Vec::new();
        let mut nameless = NodeSet::none(nodes.len());
        for (position, node) in nodes.iter().enumerate() {
            for (key, value) in &node.labels {
                labels.entry(key).or_default().push((&**value, position));
            }
            match &*node.name {
                "" => nameless.insert(position),
                name => names.push((name, position)),
            }
        }
        Self {
            nodes: nodes.len(),
            labels: labels
                .into_iter()
                .map(|(key, values)| (key, NodeValues::new(nodes.len(), values)))
                .collect(),
            names: NodeValues::new(nodes.len(), names),
            nameless,
        }
    }

    pub(super) fn met(&self, key: &str, test: &Test) -> NodeSet {
        match self.labels.get(key) {
            Some(values) => test.met_by(values),
            None => test.met_by(&NodeValues::new(self.nodes, [])),
        }
    }
}

impl Term {
    /// The nodes that meet all requirements.
    ///
    /// MIRRORS: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
    /// `nodeSelectorTerm.match`: it checks `len(nodeFields) > 0` first, so a node without a name matches
    /// every `matchFields`.
    pub(super) fn met(&self, index: &NodeIndex<'_>) -> NodeSet {
        let mut met = NodeSet::all(index.nodes);
        for label in &self.labels {
            met.retain(&index.met(&label.key, &label.test));
        }
        for field in &self.fields {
            let mut by_field = match field {
                field if field.key == NAME_FIELD => field.test.met_by(&index.names),
                field if field.test.is_met_by("") => NodeSet::all(index.nodes),
                _ => NodeSet::none(index.nodes),
            };
            by_field.extend(&index.nameless);
            met.retain(&by_field);
        }
        met
    }
}

/// The terms that can match a node, and the errors of the others. An empty term is valid and selects nothing.
///
/// MIRRORS: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
/// `NewLazyErrorNodeSelector` and `newNodeSelectorTerm`.
pub(super) fn parse_terms(selector: &NodeSelector) -> (BTreeSet<Term>, Vec<SelectorError>) {
    let mut terms = BTreeSet::new();
    let mut errors = Vec::new();
    for (index, term) in selector.node_selector_terms.iter().enumerate() {
        let expressions = term.match_expressions.as_deref().unwrap_or_default();
        let fields = term.match_fields.as_deref().unwrap_or_default();
        if expressions.is_empty() && fields.is_empty() {
            continue;
        }
        let before = errors.len();
        let path = FieldPath::new(&["nodeSelectorTerms"]).index(index);
        let mut parse = |requirements, is_about_fields, list| {
            parse_all(requirements, is_about_fields, &path.key(list), &mut errors)
        };
        let labels = parse(expressions, false, "matchExpressions");
        let fields = parse(fields, true, "matchFields");
        if errors.len() == before {
            terms.insert(Term { labels, fields });
        }
    }
    (terms, errors)
}

pub(super) fn names_architecture(term: &NodeSelectorTerm) -> bool {
    term.match_expressions
        .iter()
        .flatten()
        .any(|requirement| ARCHITECTURE_LABELS.contains(&requirement.key.as_str()))
}

fn parse_all(
    requirements: &[NodeSelectorRequirement],
    is_about_fields: bool,
    list: &FieldPath,
    errors: &mut Vec<SelectorError>,
) -> Vec<Requirement> {
    let mut parsed = Vec::new();
    let mut previous = None;
    for (index, requirement) in requirements.iter().enumerate() {
        // A repeated requirement adds nothing: `{}` a hundred thousand times is one problem.
        if previous.replace(requirement) == Some(requirement) {
            continue;
        }
        match Requirement::parse(requirement, is_about_fields, &list.index(index)) {
            Ok(requirement) => parsed.push(requirement),
            Err(found) => errors.extend(found),
        }
    }
    parsed
}
