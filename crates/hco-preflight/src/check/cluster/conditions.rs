//! The conditions of SSP and of the HyperConverged that report a problem.

use cluster::field::items;
use cluster::foreign::{Foreign, one_line};
use cluster::object_name::{key, parts};
use serde::Deserialize as _;

use crate::input::Situation;
use crate::rows::{Effect, Row};

struct Condition {
    kind: &'static str,
    namespace: Foreign,
    name: Foreign,
    r#type: &'static str,
    reason: Option<Foreign>,
    message: Option<Foreign>,
    since: Option<Foreign>,
}

/// The condition types, and the status that shows that an operator stopped.
const STOPS: [(&str, &str); 4] = [
    ("TaintedConfiguration", "True"),
    ("Degraded", "True"),
    ("Available", "False"),
    ("ReconcileComplete", "False"),
];

/// The problems in the conditions of SSP and of the HyperConverged, which repeats them.
pub(super) fn of(observed: &Situation) -> Vec<Row> {
    rows(&all(observed))
}

fn all(observed: &Situation) -> Vec<Condition> {
    let mut all = Vec::new();
    let mut add = |kind, key: &str, condition: &cluster::Condition| {
        let stops = STOPS
            .iter()
            .find(|(name, status)| condition.r#type == *name && condition.status == *status);
        let (namespace, name) = parts(key);
        let message = condition.message.as_ref().map(|message| &*message.0);
        all.extend(stops.map(|(r#type, _)| Condition {
            kind,
            namespace,
            name,
            r#type,
            reason: condition.reason.as_deref().map(Foreign::from),
            message: message.map(Foreign::from),
            since: condition.since.as_deref().map(Foreign::from),
        }));
    };
    for ssp in observed.world.ssps.iter() {
        for condition in &ssp.conditions {
            add("SSP", &ssp.metadata.key(), condition);
        }
    }
    let hyperconverged = &observed.after.object;
    for condition in items(hyperconverged, "/status/conditions") {
        if let Ok(condition) = cluster::Condition::deserialize(condition) {
            add("HyperConverged", &key(hyperconverged), &condition);
        }
    }
    all
}

/// The problems in the conditions. Several conditions can report the same problem.
fn rows(all: &[Condition]) -> Vec<Row> {
    let of_ssp: Vec<&str> = all
        .iter()
        .filter(|condition| condition.kind == "SSP")
        .filter_map(|condition| condition.message.as_ref())
        .map(Foreign::raw)
        .filter(|message| !message.is_empty())
        .collect();
    let problem = |condition: &Condition| {
        let is_tainted = condition.r#type == "TaintedConfiguration";
        (
            condition.kind,
            condition.name.clone(),
            condition.message.clone(),
            is_tainted,
        )
    };
    all.chunk_by(|one, other| problem(one) == problem(other))
        .filter_map(|alike| {
            let condition @ Condition { kind, .. } = alike.first()?;
            let words = alike
                .iter()
                .map(|condition| match condition.r#type {
                    "Degraded" => "is degraded",
                    "Available" => "is not available",
                    "TaintedConfiguration" => {
                        "has a jsonpatch annotation, which Red Hat does not support"
                    }
                    _ => "does not finish reconciling",
                })
                .collect::<Vec<_>>()
                .join(" and ");
            let since = condition
                .since
                .as_ref()
                .map_or_else(String::new, |time| format!(" since {time}"));
            let message = condition.message.as_ref().map_or("", Foreign::raw);
            // The HyperConverged repeats SSP's message.
            let message = of_ssp
                .iter()
                .find_map(|ending| message.strip_suffix(ending))
                .map(|own| own.trim_end_matches([':', ' ']))
                .filter(|own| !own.is_empty())
                .unwrap_or(message);
            let colon = if message.is_empty() { "" } else { ": " };
            let detail = format!("{kind} {words}{since}{colon}{}", one_line(message));
            let key = format!("{}/{}", condition.namespace.raw(), condition.name.raw());
            let effect = match condition.r#type {
                "TaintedConfiguration" => Effect::Caution,
                _ => Effect::Unhealthy,
            };
            let row = Row::new(effect, kind, &key, &detail);
            let text = |text: &Option<Foreign>| text.as_ref().map(|text| text.raw().to_owned());
            Some(
                row.about("condition", Some(condition.r#type))
                    .about("reason", text(&condition.reason).as_deref())
                    .about("message", text(&condition.message).as_deref())
                    .about("since", text(&condition.since).as_deref()),
            )
        })
        .collect()
}
