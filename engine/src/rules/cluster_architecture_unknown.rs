//! See `cluster-architecture-unknown.md`.

use super::fix;
use crate::architecture::is_accepted_by_ssp;
use crate::facts::Facts;
use crate::node::Census;
use crate::rule::{Finding, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "cluster-architecture-unknown",
    level: Level::Deny,
    check,
};

/// MIRRORS: ssp-operator `webhooks/ssp_webhook.go`, validateCluster: HCO always sends the architectures of
/// the cluster, and SSP refuses one that it does not know, with the import on or off.
fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(census) = facts.census_if_read() else {
        return Vec::new();
    };
    let mut names: Vec<&String> = Vec::new();
    for name in unknown(census) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return Vec::new();
    }
    let in_control_plane = census
        .control_plane
        .iter()
        .any(|name| !is_accepted_by_ssp(name));
    let usable = fix::default_architecture(census)
        .filter(|name| is_accepted_by_ssp(name))
        .or_else(|| {
            census
                .workload
                .keys()
                .map(String::as_str)
                .find(|name| is_accepted_by_ssp(name))
        });
    let fix = match usable {
        Some(usable) if !in_control_plane => {
            format!("keep the workloads off these nodes: {}", fix::place_on(facts, usable))
        }
        // A placement does not change what the control plane is.
        _ => "no field of this object mends it: KubeVirt's boot images need nodes of amd64, arm64 or s390x alone; \
              where no boot images are wanted set the level of this rule to warn"
            .to_owned(),
    };
    vec![Finding {
        path: fix::placement_path(facts),
        fact: format!(
            "SSP refuses a cluster with {}: it knows amd64, arm64 and s390x, and takes no configuration",
            fix::names(names)
        ),
        fix,
        ..Finding::default()
    }]
}

/// The architectures of the cluster that SSP does not know.
pub(super) fn unknown(census: &Census) -> impl Iterator<Item = &String> {
    let all = census.workload.keys().chain(&census.control_plane);
    all.filter(|name| !is_accepted_by_ssp(name))
}
