//! A node affinity in Kubernetes' own types, filled by our own reader: their `Deserialize` takes 15 kB of
//! the module and cannot say where something is wrong.

use k8s_openapi::api::core::v1::{
    NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm,
};

use super::{PREFERRED, REQUIRED};
use crate::json::{self, Raw, Unreadable};

/// Reads a node affinity. The weights of preferred terms are left at zero: nothing asks for them.
pub(super) fn node_affinity(raw: Raw<'_>) -> Result<NodeAffinity, Unreadable> {
    let [required, preferred] = json::members(raw, [REQUIRED, PREFERRED])?;
    Ok(NodeAffinity {
        required_during_scheduling_ignored_during_execution: json::optional(
            REQUIRED,
            required,
            node_selector,
        )?,
        preferred_during_scheduling_ignored_during_execution: list(PREFERRED, preferred, |raw| {
            let [preference] = json::members(raw, ["preference"])?;
            Ok(PreferredSchedulingTerm {
                preference: json::optional("preference", preference, term)?.unwrap_or_default(),
                ..PreferredSchedulingTerm::default()
            })
        })?,
    })
}

/// Reads a node selector.
pub(super) fn node_selector(raw: Raw<'_>) -> Result<NodeSelector, Unreadable> {
    let [terms] = json::members(raw, ["nodeSelectorTerms"])?;
    Ok(NodeSelector {
        node_selector_terms: list("nodeSelectorTerms", terms, term)?.unwrap_or_default(),
    })
}

fn term(raw: Raw<'_>) -> Result<NodeSelectorTerm, Unreadable> {
    let [expressions, fields] = json::members(raw, ["matchExpressions", "matchFields"])?;
    Ok(NodeSelectorTerm {
        match_expressions: list("matchExpressions", expressions, requirement)?,
        match_fields: list("matchFields", fields, requirement)?,
    })
}

fn requirement(raw: Raw<'_>) -> Result<NodeSelectorRequirement, Unreadable> {
    let [key, operator, values] = json::members(raw, ["key", "operator", "values"])?;
    let text = |name, raw| {
        Ok::<_, Unreadable>(json::optional(name, raw, json::string)?.unwrap_or_default())
    };
    Ok(NodeSelectorRequirement {
        key: text("key", key)?,
        operator: text("operator", operator)?,
        values: list("values", values, json::string_or_null)?,
    })
}

fn list<T>(
    name: &str,
    raw: Option<Raw<'_>>,
    decode: impl Fn(Raw<'_>) -> Result<T, Unreadable>,
) -> Result<Option<Vec<T>>, Unreadable> {
    json::optional(name, raw, |raw| json::each(raw, |_, item| decode(item)))
}
