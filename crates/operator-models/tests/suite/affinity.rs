//! Placements, compared with the results of Kubernetes' own Go code.
//!
//! MIRRORS: k8s.io/component-helpers, `GetRequiredNodeAffinity(pod).Match(node)`
//! and `NewNodeSelector`, as run for the corpus.
use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Affinity, Node};
use kube_objects::node_list;
use kube_objects::placement::Placement;
use operator_models::hco::node::census;
use serde::Deserialize;
use serde_json::Value;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::corpus;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    node_selector: Option<BTreeMap<String, String>>,
    affinity: Option<Affinity>,
    node: Value,
    matches: bool,
    new_node_selector_error: Option<String>,
}

#[test]
fn placements_agree_with_kubernetes() {
    corpus("affinity", &[], |row| {
        let row: Row = serde_json::from_value(row.clone()).unwrap();
        match disagreement(&row) {
            Some(fact) => Err(("matches", fact)),
            None => Ok(None),
        }
    });
}

fn disagreement(row: &Row) -> Option<String> {
    let affinity = row
        .affinity
        .clone()
        .and_then(|affinity| affinity.node_affinity);
    let placement = Placement::parse(row.node_selector.clone().unwrap_or_default(), affinity);

    let refused = row.new_node_selector_error.as_deref();
    if refused.is_none() != placement.errors().is_empty() {
        return Some(format!("Go: {refused:?}, we: {:?}", placement.errors()));
    }
    let ours: BTreeSet<_> = placement
        .errors()
        .iter()
        .filter_map(|error| Some(error.to_string().split_once(": ")?.0.to_owned()))
        .collect();
    if ours != paths(refused.unwrap_or_default()) {
        return Some(format!("Go: {refused:?}, our paths: {ours:?}"));
    }

    let node: Node = serde_json::from_value(row.node.clone()).unwrap();
    let labels = node.metadata.labels.unwrap_or_default();
    let matches = placement.selects(&node_list::Node {
        name: node.metadata.name.unwrap_or_default().into(),
        labels: labels
            .iter()
            .map(|(key, value)| (key.as_str(), value.into()))
            .collect(),
        ..Default::default()
    });
    if matches != row.matches {
        return Some(format!("Go: {}, we: {matches}", row.matches));
    }

    let info = node.status.and_then(|status| status.node_info);
    if placement.has_requirements() && info.is_some_and(|info| !info.architecture.is_empty()) {
        let list = format!(r#"{{"items":[{}]}}"#, row.node);
        let counted = census(list.as_bytes(), &[&placement]).unwrap();
        if counted.iter().all(|census| census.workload.is_empty()) == row.matches {
            return Some(format!("Go: {}, the census: {counted:?}", row.matches));
        }
    }
    None
}

/// The paths in Go's text, without the key that Go appends to the path of a value.
fn paths(error: &str) -> BTreeSet<String> {
    error
        .match_indices("nodeSelectorTerms[")
        .filter_map(|(at, _)| error.get(at..)?.split_once(": ").map(|(path, _)| path))
        .map(|path| match path.split_once(".values[") {
            Some((requirement, value)) => {
                let index = value.split(']').next().unwrap_or_default();
                format!("{requirement}.values[{index}]")
            }
            None => path.to_owned(),
        })
        .collect()
}
