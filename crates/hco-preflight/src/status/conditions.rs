//! The conditions that show that HCO or SSP stopped.

use serde::Serialize;

use crate::field::items;
use crate::foreign::Foreign;
use crate::object_name::{key, parts};
use crate::stage::Situation;
use crate::world::{self, Object as _};

#[derive(Debug, Serialize)]
pub(super) struct Condition {
    pub(super) kind: &'static str,
    pub(super) namespace: Foreign,
    pub(super) name: Foreign,
    pub(super) r#type: &'static str,
    pub(super) status: Foreign,
    pub(super) reason: Option<Foreign>,
    pub(super) message: Option<Foreign>,
    pub(super) since: Option<Foreign>,
}

impl Condition {
    /// The problem that it shows.
    pub(super) fn problem(&self) -> (&str, &Foreign, Option<&Foreign>) {
        (self.kind, &self.name, self.message.as_ref())
    }
}

/// The condition types, and the status that shows that an operator stopped.
const STOPS: [(&str, &str); 3] = [
    ("Degraded", "True"),
    ("Available", "False"),
    ("ReconcileComplete", "False"),
];

/// The conditions of SSP, and the conditions of the HyperConverged, which repeat them.
pub(super) fn of(observed: &Situation) -> Vec<Condition> {
    let mut all = Vec::new();
    let mut add = |kind, key: &str, condition: &world::Condition| {
        let stops = STOPS
            .iter()
            .find(|(name, status)| condition.r#type == *name && condition.status == *status);
        let (namespace, name) = parts(key);
        let message = condition.message.as_ref().map(|message| &*message.0);
        all.extend(stops.map(|(r#type, status)| Condition {
            kind,
            namespace,
            name,
            r#type,
            status: Foreign::from(*status),
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
    let hyperconverged = observed.after();
    for condition in items(hyperconverged, "/status/conditions") {
        if let Ok(condition) = world::Condition::from_value(condition) {
            add("HyperConverged", &key(hyperconverged), &condition);
        }
    }
    all
}
