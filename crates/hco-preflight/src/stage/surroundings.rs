//! What the check of a VirtualMachine reads of its cluster, as it will be once everything in the files is applied: the
//! architectures of the workload nodes, the default architecture, and the DataSources.

use std::collections::BTreeMap;

use anyhow::Result;
use operator_models::kubevirt::virtual_machine::DATA_SOURCE_ARCHITECTURE;
use policy_host::Objects;
use serde_json::{Value, json};

use super::connect::in_namespace;
use super::live::Live;
use super::question::Question;
use crate::field::text;
use crate::foreign::Foreign;
use crate::notes::Notes;
use crate::object_name::key;
use crate::report::{DataSource, Report};

/// The HyperConverged that decides about the workload nodes.
pub(super) enum Decisive<'q> {
    /// It is in the files.
    New(&'q Question),
    Stored(Box<Question>),
    /// There are several.
    Unknown,
}

impl<'q> Decisive<'q> {
    pub(super) fn of(questions: &'q [Question], live: Option<Live<'_>>) -> Result<Self> {
        let mut new = questions
            .iter()
            .filter(|question| question.identity.is_hyperconverged());
        Ok(match (new.next(), new.next()) {
            (Some(only), None) => Self::New(only),
            (None, _) => match live {
                Some(live) => {
                    let mut stored = live.hyperconvergeds(None)?.into_iter();
                    match (stored.next(), stored.next()) {
                        (Some(only), None) => Self::Stored(Box::new(Question::live(only))),
                        _ => Self::Unknown,
                    }
                }
                None => Self::Stored(Box::new(Question::live(empty()))),
            },
            _ => Self::Unknown,
        })
    }

    pub(super) fn question(&self) -> Option<&Question> {
        match self {
            Self::New(question) => Some(question),
            Self::Stored(question) => Some(question),
            Self::Unknown => None,
        }
    }
}

/// Where nothing but nodes is known: one without any setting.
fn empty() -> Value {
    json!({
        "apiVersion": "hco.kubevirt.io/v1beta1",
        "kind": "HyperConverged",
        "metadata": {"namespace": "kubevirt-hyperconverged", "name": "kubevirt-hyperconverged"},
        "spec": {},
    })
}

/// The objects that the module asks for. The nodes are those that the user named, whatever the status of the
/// HyperConverged says; so its workload architectures are those of the module's report on it. `beside` are the other objects
/// of the files, without a namespace those of this one.
pub(super) fn objects(
    decisive: &Decisive<'_>,
    report: &Report,
    (beside, namespace): (&[Value], &str),
    live: Option<Live<'_>>,
    notes: &mut Notes,
) -> Objects {
    let beside = beside
        .iter()
        .map(|object| in_namespace(object, namespace).unwrap_or_else(|| object.clone()));
    let (sources, mut kubevirts): (Vec<_>, Vec<_>) =
        beside.partition(|object| text(object, "/kind") == Some("DataSource"));
    if kubevirts.is_empty() {
        let stored = live.and_then(|live| live.all("KubeVirt", notes));
        kubevirts = stored.unwrap_or_default();
    }

    let mut known: BTreeMap<String, Value> = BTreeMap::new();
    let stored = live.and_then(|live| live.all("DataSource", notes));
    // What is stored is what the operators made of a HyperConverged that is stored.
    let is_forecast = matches!(decisive, Decisive::New(_)) || stored.is_none() && live.is_some();
    known.extend(stored.into_iter().flatten().map(|it| (key(&it), it)));
    if let Some(forecast) = report.forecast.as_ref().filter(|_| is_forecast) {
        let sources = forecast.data_sources.iter();
        known.extend(sources.map(|it| (it.key(), of_forecast(it))));
    }
    known.extend(sources.into_iter().map(|it| (key(&it), it)));
    let kubevirt = match kubevirts.as_slice() {
        [only] => kubevirt(Some(only), report),
        _ => kubevirt(None, report),
    };
    Objects::default()
        .with(
            "hco.kubevirt.io/v1beta1",
            "HyperConverged",
            [status(report)],
        )
        .with("kubevirt.io/v1", "KubeVirt", [kubevirt])
        .with("cdi.kubevirt.io/v1beta1", "DataSource", known.into_values())
}

/// A HyperConverged with the status that HCO will write.
fn status(report: &Report) -> Value {
    let architectures = report.workload_architectures.iter().flatten();
    let architectures: Vec<&str> = architectures.map(Foreign::raw).collect();
    json!({"metadata": {}, "status": {"nodeInfo": {"workloadsArchitectures": architectures}}})
}

/// The KubeVirt that there is, with the default architecture that HCO will set.
fn kubevirt(known: Option<&Value>, report: &Report) -> Value {
    let stored = |pointer: &str| known.and_then(|it| it.pointer(pointer)).cloned();
    let default = report.default_architecture.as_ref();
    let default = default.map(|name| Value::from(name.raw()));
    let old = (known.is_none() && !report.reads_data_source_labels()).then(|| Value::from("v1.6"));
    json!({
        "metadata": {},
        "spec": stored("/spec"),
        "status": {
            "defaultArchitecture": default.or_else(|| stored("/status/defaultArchitecture")),
            "observedKubeVirtVersion": old.or_else(|| stored("/status/observedKubeVirtVersion")),
        },
    })
}

fn of_forecast(source: &DataSource) -> Value {
    let namespace = source.namespace.raw();
    let label = source.architecture_label.raw();
    let label = (!label.is_empty()).then_some(label);
    let target = source.points_to.as_ref();
    let target = target.map(|name| json!({"namespace": namespace, "name": name.raw()}));
    json!({
        "metadata": {
            "namespace": namespace,
            "name": source.name.raw(),
            "labels": {DATA_SOURCE_ARCHITECTURE: label},
        },
        "spec": {"source": {"dataSource": target}},
    })
}
