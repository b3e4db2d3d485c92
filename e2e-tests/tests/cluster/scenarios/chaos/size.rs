//! Scenario 20: a cluster of 5,000 nodes.

use std::time::Instant;

use serde_json::json;

use super::updates::{self, Outcome, Outcomes, Recovery};
use super::{measured, milliseconds, not_shown};
use crate::scenarios::load;
use crate::waiting::until;
use crate::webhook::Kind;
use crate::world::World;

const NODES: usize = 5000;
/// Few: a request that waits for the others longer than the webhook's timeout is sent again, and policy-server still
/// evaluates the first one.
const AT_A_TIME: u32 = 4;

pub(super) fn run(world: &World<'_>) {
    if let Kind::Library = world.kind {
        // It reads and parses all nodes for each request, in a build that is not optimized.
        not_shown(world, "5,000 nodes");
        return;
    }
    let failed = load::with_nodes(world, NODES, AT_A_TIME).to_string();
    measured(world, "of these without a verdict at first", &failed);
    memory(world);
    updates::create(world);
    started_anew(world);
    memory(world);

    // One node of 5,000 makes the cluster mixed.
    let outcomes = Outcomes::default();
    for number in 0..20 {
        let mut object = world.hyperconverged(&json!({}));
        object["metadata"]["name"] = json!(format!("wrong-{number}"));
        let answer = world
            .api()
            .try_to("POST", &world.collection(), Some(&object));
        assert!(outcomes.add(&answer) == Outcome::Denied, "{answer:?}");
    }
    outcomes.print(world);
}

/// The first request waits for the list of all nodes.
fn started_anew(world: &World<'_>) {
    world.webhook().kill();
    let recovery = Recovery::begin();
    world.webhook().start_again();
    let recovery = recovery.ready();
    let outcomes = Outcomes::default();
    let update = updates::update(world, 0);
    until("an update is accepted", || {
        let answer = updates::patch(world.api(), &world.path(), &update);
        (outcomes.add(&answer) == Outcome::Accepted)
            .then_some(())
            .ok_or_else(|| format!("{answer:?}"))
    });
    outcomes.print(world);
    recovery.print(world, &outcomes);
    let begun = Instant::now();
    let answer = updates::patch(world.api(), &world.path(), &updates::update(world, 1));
    assert!(outcomes.add(&answer) == Outcome::Denied, "{answer:?}");
    let took = milliseconds(begun.elapsed());
    measured(world, "the second update", &took);
}

/// The largest memory of policy-server so far.
fn memory(world: &World<'_>) {
    let Some(process) = world.webhook().process() else {
        return;
    };
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.map_or("unknown", str::trim);
    measured(world, "largest memory of policy-server", peak);
}
