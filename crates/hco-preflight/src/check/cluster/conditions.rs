//! The conditions of SSP and of the HyperConverged that report a problem.

use cluster::Condition;
use cluster::field::{items, key, parts};
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

/// The problems in the conditions of SSP and of the HyperConverged, which repeats them. Several conditions can report the
/// same problem.
pub(super) fn of(observed: &Situation) -> Vec<Row> {
    let hyperconverged = &observed.after.object;
    let own: Vec<Condition> = items(hyperconverged, "/status/conditions")
        .filter_map(|condition| Condition::deserialize(condition).ok())
        .collect();
    let of_ssp = observed.world.ssps.iter().flat_map(|ssp| {
        let with_key = move |condition| ("SSP", ssp.metadata.key().to_string(), condition);
        ssp.conditions.iter().map(with_key)
    });
    let own = own
        .iter()
        .map(|condition| ("HyperConverged", key(hyperconverged), condition));
    let all: Vec<(&str, String, &Condition)> = of_ssp
        .chain(own)
        .filter(|(.., condition)| STOPS.contains(&(&*condition.r#type, &*condition.status)))
        .collect();
    let messages_of_ssp: Vec<&str> = all
        .iter()
        .filter(|(kind, ..)| *kind == "SSP")
        .map(|(.., condition)| message(condition))
        .filter(|message| !message.is_empty())
        .collect();
    all.chunk_by(|(kind, key, one), (other_kind, other_key, other)| {
        kind == other_kind
            && parts(key).1 == parts(other_key).1
            && one.message == other.message
            && is_tainted(one) == is_tainted(other)
    })
    .filter_map(|alike| row(alike, &messages_of_ssp))
    .collect()
}

fn is_tainted(condition: &Condition) -> bool {
    condition.r#type == "TaintedConfiguration"
}

/// The row of conditions that report the same problem.
fn row(alike: &[(&'static str, String, &Condition)], messages_of_ssp: &[&str]) -> Option<Row> {
    let (kind, key, condition) = alike.first()?;
    let message = message(condition);
    // The HyperConverged repeats SSP's message.
    let own = messages_of_ssp
        .iter()
        .find_map(|ending| message.strip_suffix(ending))
        .map(|own| own.trim_end_matches([':', ' ']))
        .filter(|own| !own.is_empty())
        .unwrap_or(message);
    let types = alike.iter().map(|(.., condition)| &*condition.r#type);
    let types: Vec<&str> = types.collect();
    let detail = words::conditions(kind, &types, condition.since.as_deref(), own);
    let effect = if is_tainted(condition) {
        Effect::Caution
    } else {
        Effect::Unhealthy
    };
    let row = Row::new(effect, kind, key, &detail)
        .about("condition", Some(&condition.r#type))
        .about("reason", condition.reason.as_deref())
        .about("message", Some(message))
        .about("since", condition.since.as_deref());
    Some(row)
}
