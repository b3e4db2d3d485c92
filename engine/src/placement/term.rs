//! The terms of a required node affinity: parsed apart, so that one that does
//! not parse leaves the others in force.

use k8s_openapi::api::core::v1::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};

use super::requirement::{FieldRequirement, LabelRequirement};
use super::{List, NodeView, Part, Place, SelectorError, Slots};

/// A term that parsed. At least one of the lists has an entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    labels: Vec<LabelRequirement>,
    fields: Vec<FieldRequirement>,
}

/// The terms that can match a node, and the faults of those that cannot. An
/// empty term selects nothing and is no fault; it keeps its index.
///
/// MIRRORS: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
/// `NewLazyErrorNodeSelector` and `newNodeSelectorTerm`.
pub(super) fn parse_terms(
    selector: &NodeSelector,
    slots: &mut Slots,
) -> (Vec<Term>, Vec<SelectorError>) {
    let mut terms = Vec::new();
    let mut errors = Vec::new();
    for (index, term) in selector.node_selector_terms.iter().enumerate() {
        let expressions = term.match_expressions.as_deref().unwrap_or_default();
        let fields = term.match_fields.as_deref().unwrap_or_default();
        if expressions.is_empty() && fields.is_empty() {
            continue;
        }
        let before = errors.len();
        let place = |list| Place {
            term: index,
            list,
            requirement: 0,
            part: Part::Key,
        };
        let labels = parse_all(
            expressions,
            place(List::Expressions),
            &mut errors,
            |requirement, place| LabelRequirement::parse(requirement, place, slots),
        );
        let fields = parse_all(
            fields,
            place(List::Fields),
            &mut errors,
            FieldRequirement::parse,
        );
        if errors.len() == before {
            terms.push(Term { labels, fields });
        }
    }
    (terms, errors)
}

impl Term {
    /// MIRRORS: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
    /// `nodeSelectorTerm.match`: it looks at `len(nodeFields) > 0` first, so a
    /// node without a name satisfies every `matchFields`.
    pub(super) fn matches(&self, node: &NodeView<'_>) -> bool {
        let name = node.name();
        self.labels
            .iter()
            .all(|requirement| requirement.matches(node))
            && (name.is_empty()
                || self
                    .fields
                    .iter()
                    .all(|requirement| requirement.matches(name)))
    }
}

/// Whether a term's expressions speak of one of these labels.
pub(super) fn names_any_of(term: &NodeSelectorTerm, labels: &[&str]) -> bool {
    term.match_expressions
        .iter()
        .flatten()
        .any(|requirement| labels.contains(&requirement.key.as_str()))
}

fn parse_all<R>(
    requirements: &[NodeSelectorRequirement],
    first: Place,
    errors: &mut Vec<SelectorError>,
    mut parse: impl FnMut(&NodeSelectorRequirement, Place) -> Result<R, Vec<SelectorError>>,
) -> Vec<R> {
    let mut parsed = Vec::new();
    for (index, requirement) in requirements.iter().enumerate() {
        let place = Place {
            requirement: index,
            ..first
        };
        match parse(requirement, place) {
            Ok(requirement) => parsed.push(requirement),
            Err(faults) => errors.extend(faults),
        }
    }
    parsed
}
