//! The preferred terms of a pod that the API server rejects. No node needs to match them, so they are not parsed.

use k8s_openapi::api::core::v1::NodeAffinity;

use super::SelectorError;
use super::requirement::{NAME_FIELD, errors, mistake};
use crate::label::key_error;
use crate::path::FieldPath;

/// Everything in the preferred terms of an affinity that the API server rejects, with paths relative to their list.
///
/// MIRRORS: kubernetes pkg/apis/core/validation/validation.go, `ValidatePreferredSchedulingTerms`: values need not be
/// labels or integers.
///
/// DIVERGES: the value of a `matchFields` requirement can be any text, not only the name of a node.
pub fn check_preferred(affinity: &NodeAffinity) -> Vec<SelectorError> {
    let terms = &affinity.preferred_during_scheduling_ignored_during_execution;
    let mut found = Vec::new();
    for (index, term) in terms.iter().flatten().enumerate() {
        let path = FieldPath::default().index(index);
        if !(1..=100).contains(&term.weight) {
            found.push(SelectorError {
                path: path.key("weight"),
                is_about_fields: false,
                requirement: format!("weight {}", term.weight).into(),
                reason: "the weight must be from 1 to 100",
            });
        }
        let term = &term.preference;
        for (is_about_fields, list, requirements) in [
            (false, "matchExpressions", &term.match_expressions),
            (true, "matchFields", &term.match_fields),
        ] {
            let list = path.keys(&["preference", list]);
            for (index, requirement) in requirements.iter().flatten().enumerate() {
                let in_key = if is_about_fields {
                    (requirement.key != NAME_FIELD)
                        .then_some("matchFields supports only the key metadata.name")
                } else {
                    key_error(&requirement.key)
                };
                let mistakes = mistake(requirement, is_about_fields)
                    .into_iter()
                    .chain(in_key.map(|reason| ("key", reason)))
                    .map(|(field, reason)| (list.index(index).key(field), reason))
                    .collect();
                found.extend(errors(requirement, is_about_fields, mistakes));
            }
        }
    }
    found
}
