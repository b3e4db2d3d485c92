//! Faults at the API server: what has to be denied stays out, and how long it takes until requests are answered again
//! is printed. `make e2e-cluster SCENARIOS=chaos` runs these scenarios.

mod certificates;
mod contention;
mod node_changes;
mod outages;
mod size;
mod updates;

use std::time::Duration;

use crate::crd::Crds;
use crate::scenarios::Scenario;
use crate::webhook::Kind;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        number: 14,
        about: "policy-server is killed in the middle of 200 updates",
        crds: Crds::V1beta1,
        run: outages::policy_server,
    },
    Scenario {
        number: 15,
        about: "the API server is killed under the policy's node watch",
        crds: Crds::V1beta1,
        run: outages::api_server,
    },
    Scenario {
        number: 16,
        about: "a node changes its architecture again and again",
        crds: Crds::V1beta1,
        run: node_changes::run,
    },
    Scenario {
        number: 17,
        about: "50 clients write the same object",
        crds: Crds::V1beta1,
        run: contention::run,
    },
    Scenario {
        number: 18,
        about: "the certificate of the webhook expires",
        crds: Crds::V1beta1,
        run: certificates::expiry,
    },
    Scenario {
        number: 19,
        about: "clocks differ",
        crds: Crds::V1beta1,
        run: certificates::skew,
    },
    Scenario {
        number: 20,
        about: "5,000 nodes",
        crds: Crds::V1beta1,
        run: size::run,
    },
];

/// Prints a row of the table of measured values.
fn measured(world: &World<'_>, what: &str, value: &str) {
    println!("| {} | {what} | {value} |", world.kind);
}

fn milliseconds(duration: Duration) -> String {
    format!("{} ms", duration.as_millis())
}

/// Says what a webhook that is not policy-server cannot show.
fn not_shown(world: &World<'_>, what: &str) {
    if let Kind::Library = world.kind {
        println!("not shown without policy-server: {what}");
    }
}
