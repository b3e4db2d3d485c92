//! Scenario 8: the manifests of `deploy/` are accepted, and the RBAC among them grants what it says and nothing
//! more.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::world::World;

pub(crate) fn run(world: &World<'_>) {
    the_grant_is_for_nodes_alone(world);
}

fn the_grant_is_for_nodes_alone(world: &World<'_>) {
    let before = rules(world);
    world.grant_nodes();
    let after = rules(world);
    let more: BTreeSet<&String> = after.difference(&before).collect();
    let wanted = ["get nodes", "list nodes", "watch nodes"].map(str::to_owned);
    assert_eq!(more, wanted.iter().collect());
    assert!(before.is_subset(&after));
}

/// What the policy-server's service account may do, as the API server tells it.
fn rules(world: &World<'_>) -> BTreeSet<String> {
    let api = world.api().with_token(&world.token_of_policy_server());
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "kubewarden"},
    });
    let review = api.must(
        "POST",
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        Some(&review),
    );
    assert_eq!(review["status"]["incomplete"], false, "{review}");
    let texts = |value: &Value| -> Vec<String> {
        let values = value.as_array().cloned().unwrap_or_default();
        values
            .iter()
            .map(|value| value.as_str().unwrap_or_default().to_owned())
            .collect()
    };
    let mut rules = BTreeSet::new();
    for rule in review["status"]["resourceRules"].as_array().expect("rules") {
        for verb in texts(&rule["verbs"]) {
            for resource in texts(&rule["resources"]) {
                rules.insert(format!("{verb} {resource}"));
            }
        }
    }
    rules
}
