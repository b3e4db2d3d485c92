//! The terms of a required node affinity. Each term is parsed separately: valid terms stay in effect.

use k8s_openapi::api::core::v1::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};

use super::requirement::{FieldRequirement, LabelRequirement};
use super::{ErrorPosition, List, Part, SelectorError};

/// A valid term. At least one of the lists has an entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Term {
    pub(super) labels: Vec<LabelRequirement>,
    pub(super) fields: Vec<FieldRequirement>,
}

/// The terms that can match a node, and the errors of the terms that cannot. An empty term is valid and
/// selects nothing. Paths have the index of the original list.
///
/// MIRRORS: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
/// `NewLazyErrorNodeSelector` and `newNodeSelectorTerm`.
pub(super) fn parse_terms(selector: &NodeSelector) -> (Vec<Term>, Vec<SelectorError>) {
    let mut terms = Vec::new();
    let mut errors = Vec::new();
    for (index, term) in selector.node_selector_terms.iter().enumerate() {
        let expressions = term.match_expressions.as_deref().unwrap_or_default();
        let fields = term.match_fields.as_deref().unwrap_or_default();
        if expressions.is_empty() && fields.is_empty() {
            continue;
        }
        let before = errors.len();
        let position = |list| ErrorPosition {
            term: index,
            list,
            requirement: 0,
            part: Part::Key,
        };
        let labels = parse_all(
            expressions,
            position(List::Expressions),
            &mut errors,
            LabelRequirement::parse,
        );
        let fields = parse_all(
            fields,
            position(List::Fields),
            &mut errors,
            FieldRequirement::parse,
        );
        if errors.len() == before {
            terms.push(Term { labels, fields });
        }
    }
    (terms, errors)
}

/// Whether an expression of the term names one of these labels.
pub(super) fn names_any_of(term: &NodeSelectorTerm, labels: &[&str]) -> bool {
    term.match_expressions
        .iter()
        .flatten()
        .any(|requirement| labels.contains(&requirement.key.as_str()))
}

fn parse_all<R>(
    requirements: &[NodeSelectorRequirement],
    first: ErrorPosition,
    errors: &mut Vec<SelectorError>,
    parse: fn(&NodeSelectorRequirement, ErrorPosition) -> Result<R, Vec<SelectorError>>,
) -> Vec<R> {
    let mut parsed = Vec::new();
    let mut previous = None;
    for (index, requirement) in requirements.iter().enumerate() {
        // A repeated requirement adds nothing: `{}` a hundred thousand times is one problem.
        if previous.replace(requirement) == Some(requirement) {
            continue;
        }
        let position = ErrorPosition {
            requirement: index,
            ..first
        };
        match parse(requirement, position) {
            Ok(requirement) => parsed.push(requirement),
            Err(found) => errors.extend(found),
        }
    }
    parsed
}
