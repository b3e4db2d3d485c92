//! Conclusions from the engine's report about an object.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use cluster::foreign::{Foreign, lines, one_line};
use engine::Consequence;
pub(crate) use engine::{
    Boot, CronReport as Cron, DataSourceReport as DataSource, Finding, Fix as Remedy,
    ForecastReport as Forecast, NoForecastReport, Outcome as Level, Report,
    TemplateReport as Template, VirtualMachineReport as Machine,
};
use kube_objects::text::list;
pub(crate) use operator_models::forecast::{Changes, Retarget};
use operator_models::hco::version::HcoVersion;
use operator_models::kubevirt::installation::KubeVirt;

use crate::exit::Exit;

/// The module does not evaluate an update that changes nothing.
pub(crate) fn is_evaluated(report: &Report) -> bool {
    let is_judged = report.hco_version.is_some() || report.virtual_machine.is_some();
    is_judged || !report.findings.is_empty() || !report.allowed
}

/// A denial for a reason outside the object counts as not evaluated.
pub(crate) fn exit(report: &Report) -> Exit {
    match (report.allowed, report.code) {
        (true, _) => Exit::Accepted,
        (false, Some(400 | 500..)) => Exit::Unjudged,
        (false, _) => Exit::Denied,
    }
}

/// The message, if no finding gives the reason.
pub(crate) fn unexplained(report: &Report) -> Option<&str> {
    let is_denial = |finding: &Finding| finding.level == Level::Deny;
    let message = report.message.as_deref();
    message.filter(|_| !report.findings.iter().any(is_denial))
}

pub(crate) fn reason(report: &Report) -> String {
    let message = report.message.as_deref();
    lines(message.unwrap_or("the module gives no reason"))
}

pub(crate) fn version(report: &Report) -> Option<HcoVersion> {
    HcoVersion::parse(&report.version.as_ref()?.number)
}

pub(crate) fn kubevirt(report: &Report) -> KubeVirt {
    let version = version(report).and_then(HcoVersion::kubevirt);
    KubeVirt::new(String::new(), version)
}

pub(crate) fn architecture(machine: &Machine) -> String {
    let unknown = Foreign::from("unknown");
    let architecture = machine.architecture.as_ref().unwrap_or(&unknown);
    let why = match (&*machine.reason, &machine.preference, &machine.data_source) {
        ("explicit", ..) => "set in the VM".to_owned(),
        ("preference", Some(name), _) => format!("preferred by preference {name}"),
        ("datasource", _, Some(source)) => format!("from the label of DataSource {source}"),
        _ => "the default of the cluster".to_owned(),
    };
    format!("{architecture} ({why})")
}

pub(crate) fn is_denied_by_hco(finding: &Finding) -> bool {
    use Consequence::{HcoCrashes, HcoDenies};
    matches!(finding.consequence, Some(HcoDenies | HcoCrashes))
}

pub(crate) fn is_same(one: &Finding, other: &Finding) -> bool {
    (&one.rule, &one.template) == (&other.rule, &other.template)
}

pub(crate) fn listed(names: &[impl Borrow<str>]) -> String {
    let names: Vec<String> = names.iter().map(|name| one_line(name.borrow())).collect();
    names.join(", ")
}

/// The maximum number of objects that are named for one reason.
pub(crate) const NAMED: usize = 20;

pub(crate) fn some(names: &[Foreign]) -> String {
    let shown: Vec<String> = names.iter().map(Foreign::to_string).collect();
    list(&shown, NAMED)
}

pub(crate) fn is_in(names: &[Foreign], name: &str) -> bool {
    names.iter().any(|other| other.raw() == name)
}

pub(crate) fn counted(nodes: &BTreeMap<String, usize>) -> String {
    let counted: Vec<String> = nodes
        .iter()
        .map(|(name, count)| format!("{} ({count})", one_line(name)))
        .collect();
    counted.join(", ")
}
