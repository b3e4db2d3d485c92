//! The reasons why the engine has no forecast of boot sources.

use cluster::Node;
use cluster::field::items;
use engine::Consequence;
use operator_models::ssp::architecture::is_known;
use serde_json::Value;

use crate::report::{Finding, NoForecastReport, Report};
use crate::rows::words;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoForecast {
    NotDeployed,
    RejectedBySsp(String),
    Other(String),
}

impl NoForecast {
    pub(crate) fn of(report: &Report, nodes: &[Node]) -> Self {
        let facts = denied_by_hco(report);
        let failures = [Consequence::HcoCrashes, Consequence::HcoFails].map(Some);
        let fails = |finding: &&Finding| failures.contains(&finding.consequence);
        match (&report.no_forecast, report.findings.iter().find(fails)) {
            _ if !facts.is_empty() => Self::Other(words::denied_by_hco(&facts)),
            (Some(NoForecastReport::NotDeployed), _) => Self::NotDeployed,
            (_, Some(Finding { fact, .. })) => Self::Other(words::hco_fails(fact)),
            (Some(NoForecastReport::Architecture(name)), _) => {
                // MIRRORS: ssp-operator `webhooks/ssp_webhook.go`, validateSspObject.
                let names: Vec<&str> = (nodes.iter())
                    .filter(|node| node.architecture == name.raw())
                    .map(|node| &*node.name)
                    .collect();
                Self::RejectedBySsp(words::nodes_of(name, &names))
            }
            (Some(NoForecastReport::NoArchitecture), _) => {
                Self::RejectedBySsp(words::NO_ARCHITECTURE.to_owned())
            }
            // The settings ignore the rule that reports the reason.
            _ => Self::Other(words::REJECTED.to_owned()),
        }
    }

    /// The reason as a clause.
    pub(crate) fn why(&self) -> &str {
        match self {
            Self::NotDeployed => words::NOT_DEPLOYED,
            Self::RejectedBySsp(why) | Self::Other(why) => why,
        }
    }
}

/// Why HCO would deny the object, regardless of the policy; empty if it would not.
pub(crate) fn denied_by_hco(report: &Report) -> Vec<String> {
    let denies = |finding: &&Finding| finding.consequence == Some(Consequence::HcoDenies);
    let findings = report.findings.iter().filter(denies);
    findings.map(words::finding).collect()
}

/// An architecture in HCO's status because of which SSP, and therefore HCO, denies every change.
///
/// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/validator/validator.go, checkOperands.
pub(crate) fn unknown_in_status(stored: &Value) -> Option<String> {
    let lists = ["workloadsArchitectures", "controlPlaneArchitectures"];
    lists
        .iter()
        .flat_map(|list| items(stored, &format!("/status/nodeInfo/{list}")))
        .filter_map(Value::as_str)
        .find(|name| !is_known(name))
        .map(words::architecture_in_status)
}
