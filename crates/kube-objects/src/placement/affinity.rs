//! A node affinity in Kubernetes' own types. The code does not use their `Deserialize`, because it does not report
//! the path of a value that has the wrong type.

use k8s_openapi::api::core::v1::{
    NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm,
};

use crate::json::{Field, WrongType};

/// The part of a node affinity that the scheduler enforces.
pub const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
/// The part of a node affinity that the scheduler only prefers.
pub const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Reads a node affinity. The weights of preferred terms stay zero, because no rule uses them.
pub fn node_affinity<'a>(field: &Field<'a>) -> Result<Option<NodeAffinity>, WrongType<'a>> {
    let affinity = field.object();
    let preferred = affinity.field(PREFERRED).list(|_, item| {
        Ok(PreferredSchedulingTerm {
            preference: term(&item.object().field("preference"))?,
            ..PreferredSchedulingTerm::default()
        })
    })?;
    let affinity = NodeAffinity {
        required_during_scheduling_ignored_during_execution: node_selector(
            &affinity.field(REQUIRED),
        )?,
        preferred_during_scheduling_ignored_during_execution: preferred,
    };
    Ok(field.is_present().then_some(affinity))
}

/// Reads a node selector.
pub fn node_selector<'a>(field: &Field<'a>) -> Result<Option<NodeSelector>, WrongType<'a>> {
    let terms = field
        .clone()
        .object()
        .field("nodeSelectorTerms")
        .list(|_, item| term(&item))?;
    let node_selector_terms = terms.unwrap_or_default();
    Ok(field.is_present().then_some(NodeSelector {
        node_selector_terms,
    }))
}

fn term<'a>(field: &Field<'a>) -> Result<NodeSelectorTerm, WrongType<'a>> {
    let term = field.object();
    let requirements = |key| term.field(key).list(|_, item| requirement(&item));
    Ok(NodeSelectorTerm {
        match_expressions: requirements("matchExpressions")?,
        match_fields: requirements("matchFields")?,
    })
}

fn requirement<'a>(field: &Field<'a>) -> Result<NodeSelectorRequirement, WrongType<'a>> {
    let requirement = field.object();
    Ok(NodeSelectorRequirement {
        key: requirement.field("key").string()?.unwrap_or_default(),
        operator: requirement.field("operator").string()?.unwrap_or_default(),
        values: requirement.field("values").strings()?,
    })
}
