//! The conditions of SSP and of the HyperConverged that report a problem.

use cluster::Condition;
use cluster::field::{items, key};
use serde::Deserialize as _;

use super::message;
use crate::input::Situation;
use crate::rows::{Effect, Row, words};

/// The condition types, and the status that shows that an operator stopped.
const STOPS: [(&str, &str); 4] = [
    ("TaintedConfiguration", "True"),
    ("Degraded", "True"),
    ("Available", "False"),
    ("ReconcileComplete", "False"),
];

pub(super) fn of(observed: &Situation) -> Vec<Row> {
    let mut rows = Vec::new();
    for ssp in observed.world.ssps.iter() {
        let key = ssp.metadata.key().to_string();
        rows.extend(of_object("SSP", &key, &ssp.conditions, &[]));
    }
    let hyperconverged = &observed.after.object;
    let conditions: Vec<Condition> = items(hyperconverged, "/status/conditions")
        .filter_map(|condition| Condition::deserialize(condition).ok())
        .collect();
    let key = key(hyperconverged);
    rows.extend(of_object("HyperConverged", &key, &conditions, &rows));
    rows
}

fn of_object(kind: &'static str, key: &str, conditions: &[Condition], of_ssp: &[Row]) -> Vec<Row> {
    let stops: Vec<&Condition> = conditions
        .iter()
        .filter(|condition| STOPS.contains(&(&*condition.r#type, &*condition.status)))
        .collect();
    let effect = |condition: &Condition| match &*condition.r#type {
        "TaintedConfiguration" => Effect::Caution,
        _ => Effect::Unhealthy,
    };
    stops
        .chunk_by(|one, other| one.message == other.message && effect(one) == effect(other))
        .filter_map(|alike| {
            let condition = alike.first()?;
            let message = message(condition);
            // The HyperConverged repeats SSP's message.
            let own = of_ssp
                .iter()
                .find_map(|row| message.strip_suffix(row.about.get("message")?.raw()))
                .map(|own| own.trim_end_matches([':', ' ']))
                .filter(|own| !own.is_empty())
                .unwrap_or(message);
            let types: Vec<&str> = alike.iter().map(|condition| &*condition.r#type).collect();
            let since = condition.since.as_deref();
            let detail = words::conditions(kind, &types, since, own);
            let row = Row::new(effect(condition), kind, key, &detail)
                .about("condition", Some(&condition.r#type))
                .about("reason", condition.reason.as_deref())
                .about("message", Some(message))
                .about("since", since);
            Some(row)
        })
        .collect()
}
