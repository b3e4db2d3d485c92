//! The reasons why the engine has no forecast of boot sources.

use cluster::Node;
use cluster::field::{items, text};
use cluster::foreign::Foreign;
use cluster::object_name::name;
use engine::Consequence;
use operator_models::ssp::architecture::is_known;
use serde_json::Value;

use crate::report::{Finding, Report, listed};
use crate::templates;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoForecast {
    /// HCO does not deploy SSP.
    NotDeployed,
    /// SSP rejects the object that HCO creates, for this reason.
    RejectedBySsp(String),
    /// Another reason, as a clause.
    Other(String),
}

impl NoForecast {
    /// Why a report has no forecast.
    pub(crate) fn of(report: &Report, object: &Value, nodes: &[Node]) -> Self {
        let facts = denied_by_hco(report, object);
        let mut findings = report.findings.iter();
        let fails = [Consequence::HcoCrashes, Consequence::HcoFails];
        let fails = findings.find(|it| it.consequence.is_some_and(|it| fails.contains(&it)));
        if !facts.is_empty() {
            Self::Other(format!("HCO denies the object: {}", facts.join(" ")))
        } else if report.templates.is_none() {
            Self::NotDeployed
        } else if let Some(Finding { fact, .. }) = fails {
            Self::Other(format!("HCO cannot reconcile the object: {fact}"))
        } else if let Some(why) = rejected_by_ssp(report, nodes) {
            Self::RejectedBySsp(why)
        } else {
            // The settings ignore the rule that reports the reason.
            Self::Other("HCO or SSP rejects the object".to_owned())
        }
    }

    /// The reason as a clause.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::NotDeployed => "HCO deploys no golden images here".to_owned(),
            Self::RejectedBySsp(why) => format!("SSP rejects the object because of {why}"),
            Self::Other(why) => why.clone(),
        }
    }
}

/// Why HCO would deny the object, regardless of the policy; empty if it would not. The rules about requests that HCO's
/// webhook denies report this.
pub(crate) fn denied_by_hco(report: &Report, object: &Value) -> Vec<String> {
    let denies = |it: &&Finding| it.consequence == Some(Consequence::HcoDenies);
    let findings = report.findings.iter().filter(denies);
    let mut facts: Vec<String> = findings
        .map(|it| format!("[{}] {}", it.rule, it.fact))
        .collect();
    facts.extend(unknown_content(object));
    facts
}

/// An architecture in HCO's status because of which SSP, and therefore HCO, denies every change.
///
/// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/validator/validator.go, checkOperands.
pub(crate) fn unknown_in_status(stored: &Value) -> Option<String> {
    let lists = ["workloadsArchitectures", "controlPlaneArchitectures"];
    let mut names = lists.iter().flat_map(|list| {
        let names = items(stored, &format!("/status/nodeInfo/{list}"));
        names.filter_map(Value::as_str)
    });
    let unknown = names.find(|name| !is_known(name))?;
    Some(format!(
        "HCO denies every change while its status lists the architecture `{}`, which SSP rejects: first remove its nodes, or, if they are workers, take the worker label off them.",
        Foreign::from(unknown)
    ))
}

/// A template with a content type that is not in the schemas of HCO and SSP.
fn unknown_content(object: &Value) -> Option<String> {
    let (template, content) = templates::of_spec(object).find_map(|(_, template)| {
        let content = text(template, "/spec/template/spec/contentType")?;
        let is_known = ["", "kubevirt", "archive"].contains(&content);
        (!is_known).then(|| (Foreign::from(name(template)), Foreign::from(content)))
    })?;
    Some(format!(
        "The contentType `{content}` of template `{template}` is neither kubevirt nor archive: the schema of HCO denies the request."
    ))
}

/// MIRRORS: ssp-operator `webhooks/ssp_webhook.go`, validateSspObject.
fn rejected_by_ssp(report: &Report, nodes: &[Node]) -> Option<String> {
    let workload = report.workload_architectures.iter().flatten();
    let all = workload.chain(report.control_plane_architectures.iter().flatten());
    let mut all: Vec<&Foreign> = all.collect();
    if all.is_empty() {
        return Some("the nodes, of which none reports an architecture".to_owned());
    }
    all.retain(|it| !is_known(it.raw()));
    let unknown = all.first()?;
    let nodes = nodes.iter();
    let nodes = nodes.filter(|node| node.architecture == unknown.raw());
    let names: Vec<Foreign> = nodes.map(|node| Foreign::from(&*node.name)).collect();
    Some(match names.as_slice() {
        [one] => format!("node {one} ({unknown})"),
        several => format!("nodes {} ({unknown})", listed(several)),
    })
}
