//! See `cluster-architecture-unknown.md`.

use kubernetes::sorted;
use operators::hco::node::Census;
use operators::ssp::architecture::is_known;

use super::remedies;
use crate::facts::Facts;
use crate::findings::{Finding, Findings, Identity};
use crate::remedy::Remedy;
use crate::rule::{Level, Rule};

pub(crate) static RULE: Rule =
    Rule::about_object("cluster-architecture-unknown", Level::Deny, check);

/// MIRRORS: ssp-operator `webhooks/ssp_webhook.go`, validateCluster: HCO always sends the architectures of the
/// cluster, and the SSP operator rejects an unknown one, regardless of whether the import is on.
fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let Some(census) = facts.census_if_read() else {
        return;
    };
    let all = census.workload.keys().chain(&census.control_plane);
    let names = sorted::set(all.filter(|name| !is_known(name)));
    if names.is_empty() {
        return;
    }
    findings.add(Identity::only(), || Finding {
        path: remedies::placement_path(facts),
        fact: format!(
            "The cluster has {} nodes: the SSP operator supports only amd64, arm64, and s390x, and rejects its entire configuration.",
            remedies::names(names.iter().copied())
        ),
        remedies: ways_out(facts, census),
    });
}

fn ways_out(facts: &Facts<'_>, census: &Census) -> Vec<Remedy> {
    // A placement does not affect which nodes are control-plane nodes.
    let is_placement_enough = census.control_plane.iter().all(|name| is_known(name));
    let mut ways = if is_placement_enough {
        remedies::place(facts, census, "keep the workloads off these nodes")
    } else {
        Vec::new()
    };
    if ways.is_empty() {
        ways.push(Remedy::advice(
            "no change to this object fixes this; if you do not need golden images, set the level of this rule to warn",
        ));
    }
    ways
}
