//! Scenario 17: 50 clients write the same object, half of them with patches, half of them with what they have read.

use std::time::Instant;

use serde_json::{Value, json};
use ureq::http::StatusCode;

use super::measured;
use super::updates::{self, Outcome};
use crate::api::Api;
use crate::world::World;

const CLIENTS: usize = 50;
const UPDATES: usize = 200;

pub(super) fn run(world: &World<'_>) {
    world.deploy("mixed");
    updates::create(world);
    let begun = Instant::now();
    let outcomes = updates::send_all(world, CLIENTS, UPDATES, patch_or_replace, |_| ());
    let took = format!("{:.1} s", begun.elapsed().as_secs_f64());
    outcomes.print(world);
    measured(world, "all verdicts of 50 clients", &took);
    assert_eq!(
        (
            outcomes.count(Outcome::Accepted),
            outcomes.count(Outcome::Denied)
        ),
        (UPDATES / 2, UPDATES / 2)
    );
    assert!(
        outcomes.count(Outcome::Conflict) > 0,
        "nobody got in the way of another client"
    );
    what_kubectl_says(world);
}

/// A patch, or an object that was read before: every client does both.
fn patch_or_replace(api: &Api, path: &str, update: &Value) -> Result<(StatusCode, Value), String> {
    let name = &update["spec"]["dataImportCronTemplates"][0]["metadata"]["name"];
    let number: usize = name
        .as_str()
        .and_then(|name| name.split('-').nth(1)?.parse().ok())
        .expect("a number");
    if number % 4 < 2 {
        return updates::patch(api, path, update);
    }
    let (status, mut object) = api.try_to("GET", path, None)?;
    if !status.is_success() {
        return Ok((status, object));
    }
    json_patch::merge(&mut object, update);
    api.try_to("PUT", path, Some(&object))
}

/// That somebody else was faster.
fn what_kubectl_says(world: &World<'_>) {
    let mut object = world.api().get(&world.path());
    object["metadata"]["labels"] = json!({"a": "b"});
    let label = ["label", "hyperconverged", "kubevirt-hyperconverged", "b=c"];
    world
        .developer
        .run(&label)
        .prints("hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged labeled\n");
    world
        .developer
        .file("hyperconverged.yaml", &object.to_string());
    world
        .developer
        .run(&["replace", "-f", "hyperconverged.yaml"])
        .fails("Error from server (Conflict): error when replacing \"hyperconverged.yaml\": Operation cannot be fulfilled on hyperconvergeds.hco.kubevirt.io \"kubevirt-hyperconverged\": the object has been modified; please apply your changes to the latest version and try again\n");
}
