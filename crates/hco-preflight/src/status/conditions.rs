//! The conditions that show that HCO or SSP stopped, with their causes.

use serde::Serialize;

use crate::field::{self, items};
use crate::foreign::Foreign;
use crate::object_name::{key, name, parts};
use crate::report::Finding;
use crate::stage::Situation;
use crate::stops;
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
    pub(super) cause: Option<Cause>,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Cause {
    /// The template whose DataImportCron or DataSource is rejected.
    pub(super) template: Option<Foreign>,
    pub(super) path: Option<Foreign>,
    /// The nodes with an unknown architecture.
    pub(super) nodes: Vec<Foreign>,
    /// The rule whose page resolves it.
    pub(super) rule: Option<Foreign>,
    pub(super) fact: Option<Foreign>,
    /// The fix. The lines after the first are marked, see `prose::lines`.
    #[serde(skip)]
    pub(super) fix: Option<String>,
}

impl Condition {
    /// The problem that it shows.
    pub(super) fn problem(&self) -> (&str, &Foreign, Option<&Foreign>) {
        (self.kind, &self.name, self.message.as_ref())
    }
}

impl Cause {
    fn new(finding: Option<&Finding>) -> Self {
        Self {
            rule: finding.map(|it| Foreign::from(&*it.rule)),
            fact: finding.map(|it| Foreign::from(&*it.fact)),
            fix: finding.map(|it| it.fix.clone()),
            ..Self::default()
        }
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
            cause: message.and_then(|it| {
                rejected(observed, it).or_else(|| unknown_architecture(observed, it))
            }),
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

/// The cause of a message of SSP about a rejected object.
///
/// MIRRORS: ssp-operator internal/common/resource.go, `Reconcile`: `failed to reconcile %T object %s/%s: %w`.
fn rejected(observed: &Situation, message: &str) -> Option<Cause> {
    let (before, object) = message.split_once(" object ")?;
    let object = object.split([':', ' ']).next()?;
    let forecast = observed.will_be.forecast.as_ref()?;
    let cron = match before.rsplit(['.', '*', ' ']).next()? {
        "DataImportCron" => forecast.crons.iter().find(|cron| cron.key() == object)?,
        "DataSource" => stops::cron_of(forecast, object)?,
        _ => return None,
    };
    let is = observed.is.as_ref();
    let finding = is.and_then(|is| stops::finding(is, &cron.template));
    let path = finding.map(|it| it.path.clone());
    let field = || stops::path(observed.after(), cron.template.raw(), "");
    Some(Cause {
        template: Some(cron.template.clone()),
        path: path.or_else(field),
        ..Cause::new(finding)
    })
}

/// MIRRORS: ssp-operator internal/architecture/architecture.go, `ToArch`: `unknown architecture: %s`.
fn unknown_architecture(observed: &Situation, message: &str) -> Option<Cause> {
    let (_, architecture) = message.split_once("unknown architecture: ")?;
    let architecture = architecture.split([' ', ',', ';', '\n']).next()?;
    let nodes = observed.nodes_after.iter();
    let nodes = nodes.filter(|node| field::architecture(node) == Some(architecture));
    let rule = "cluster-architecture-unknown";
    let mut findings = observed.is.iter().flat_map(|is| &is.findings);
    let finding = findings.find(|it| it.rule == rule);
    Some(Cause {
        nodes: nodes.map(|node| Foreign::from(name(node))).collect(),
        rule: Some(Foreign::from(rule)),
        ..Cause::new(finding)
    })
}
