//! The terms of a required node affinity. Each term is parsed separately: valid terms stay in effect.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};

use super::requirement::{FieldRequirement, LabelRequirement};
use super::{ARCHITECTURE_LABELS, SelectorError};
use crate::node_list::Node;
use crate::path::FieldPath;

/// A valid term. At least one of the lists has an entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Term {
    pub(super) labels: Vec<LabelRequirement>,
    pub(super) fields: Vec<FieldRequirement>,
}

impl Term {
    /// MIRRORS: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
    /// `nodeSelectorTerm.match`: it checks `len(nodeFields) > 0` first, so a node without a name matches
    /// every `matchFields`.
    pub(super) fn matches(&self, node: &Node<'_>) -> bool {
        let mut labels = self.labels.iter();
        let mut fields = self.fields.iter();
        labels.all(|it| it.test.is_met_by(node.label(&it.key)))
            && (node.name.is_empty() || fields.all(|field| field.is_met_by(&node.name)))
    }
}

/// The terms that can match a node, and the errors of the terms that cannot. An empty term is valid and
/// selects nothing. Paths have the index of the original list.
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
        let labels = parse_all(
            expressions,
            &path.key("matchExpressions"),
            &mut errors,
            LabelRequirement::parse,
        );
        let fields = parse_all(
            fields,
            &path.key("matchFields"),
            &mut errors,
            FieldRequirement::parse,
        );
        if errors.len() == before {
            terms.insert(Term { labels, fields });
        }
    }
    (terms, errors)
}

/// Whether an expression of the term names the label with the architecture.
pub(super) fn names_architecture(term: &NodeSelectorTerm) -> bool {
    let mut expressions = term.match_expressions.iter().flatten();
    expressions.any(|requirement| ARCHITECTURE_LABELS.contains(&requirement.key.as_str()))
}

fn parse_all<R>(
    requirements: &[NodeSelectorRequirement],
    list: &FieldPath,
    errors: &mut Vec<SelectorError>,
    parse: fn(&NodeSelectorRequirement, &FieldPath) -> Result<R, Vec<SelectorError>>,
) -> Vec<R> {
    let mut parsed = Vec::new();
    let mut previous = None;
    for (index, requirement) in requirements.iter().enumerate() {
        // A repeated requirement adds nothing: `{}` a hundred thousand times is one problem.
        if previous.replace(requirement) == Some(requirement) {
            continue;
        }
        match parse(requirement, &list.index(index)) {
            Ok(requirement) => parsed.push(requirement),
            Err(found) => errors.extend(found),
        }
    }
    parsed
}
