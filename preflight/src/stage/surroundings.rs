//! What the check of a VirtualMachine reads of its cluster, as it will be once everything in the files is applied: the
//! architectures of the workload nodes, the default architecture, and the DataSources.

use std::collections::BTreeMap;

use anyhow::Result;
use host::Objects;
use operators::kubevirt::virtual_machine::DATA_SOURCE_ARCHITECTURE;
use serde_json::{Value, json};

use super::connect::in_namespace;
use super::judge::Prepared;
use super::live::Live;
use super::question::Question;
use crate::admission::Identity;
use crate::foreign::Foreign;
use crate::notes::Notes;
use crate::object_name::key;
use crate::report::{DataSource, Report};

/// The objects that the module asks for. The nodes are those that the user named, whatever the status of the
/// HyperConverged says; so its workload architectures are what the module makes of both.
pub(super) fn of(
    prepared: &Prepared<'_>,
    live: Option<Live<'_>>,
    notes: &mut Notes,
) -> Result<Objects> {
    let in_files = prepared.questions().iter();
    let in_files: Vec<&Question> = in_files
        .filter(|question| question.identity.is_hyperconverged())
        .collect();
    let (stored, is_new);
    let hyperconverged = match (in_files.as_slice(), live) {
        ([only], _) => {
            is_new = true;
            Some(*only)
        }
        ([], live) => {
            is_new = false;
            stored = stored_or_empty(live)?;
            stored.as_ref()
        }
        _ => {
            is_new = false;
            None
        }
    };
    let report = match hyperconverged {
        Some(question) => prepared
            .report(question, question.sent())
            .map_err(|failure| anyhow::anyhow!("{failure}"))?,
        None => Report::default(),
    };
    let namespace = prepared.namespace();
    let beside = prepared.beside().iter().map(|object| {
        let object = in_namespace(object, namespace).unwrap_or_else(|| object.clone());
        (Identity::of(&object).kind, object)
    });
    let (sources, kubevirts): (Vec<_>, Vec<_>) = beside.partition(|(kind, _)| kind == "DataSource");
    let sources = sources.into_iter().map(|(_, source)| source);
    let kubevirts: Vec<Value> = kubevirts
        .into_iter()
        .map(|(_, kubevirt)| kubevirt)
        .collect();
    let kubevirts = if kubevirts.is_empty() {
        live.and_then(|live| live.all("KubeVirt", notes))
            .unwrap_or_default()
    } else {
        kubevirts
    };

    let mut known: BTreeMap<String, Value> = BTreeMap::new();
    let stored = live.and_then(|live| live.all("DataSource", notes));
    let is_forecast = is_new || stored.is_none() && live.is_some();
    known.extend(stored.into_iter().flatten().map(|it| (key(&it), it)));
    if let Some(forecast) = report.forecast.as_ref().filter(|_| is_forecast) {
        let sources = forecast.data_sources.iter();
        known.extend(sources.map(|it| (it.key(), of_forecast(it))));
    }
    known.extend(sources.map(|it| (key(&it), it)));
    Ok(Objects::default()
        .with(
            "hco.kubevirt.io/v1beta1",
            "HyperConverged",
            [status(&report)],
        )
        .with(
            "kubevirt.io/v1",
            "KubeVirt",
            [kubevirt(&kubevirts, &report)],
        )
        .with("cdi.kubevirt.io/v1beta1", "DataSource", known.into_values()))
}

/// The HyperConverged that is stored, if it is the only one. Where nothing but nodes is known, one without any setting.
fn stored_or_empty(live: Option<Live<'_>>) -> Result<Option<Question>> {
    let Some(live) = live else {
        return Ok(Some(Question::live(json!({
            "apiVersion": "hco.kubevirt.io/v1beta1",
            "kind": "HyperConverged",
            "metadata": {"namespace": "kubevirt-hyperconverged", "name": "kubevirt-hyperconverged"},
            "spec": {},
        }))));
    };
    let mut stored = live.hyperconvergeds(None)?.into_iter();
    Ok(match (stored.next(), stored.next()) {
        (Some(only), None) => Some(Question::live(only)),
        _ => None,
    })
}

/// A HyperConverged with the status that HCO will write.
fn status(report: &Report) -> Value {
    let architectures = report.workload_architectures.iter().flatten();
    let architectures: Vec<&str> = architectures.map(Foreign::raw).collect();
    json!({"metadata": {}, "status": {"nodeInfo": {"workloadsArchitectures": architectures}}})
}

/// The KubeVirt that there is, with the default architecture that HCO will set.
fn kubevirt(known: &[Value], report: &Report) -> Value {
    let known = match known {
        [only] => Some(only),
        _ => None,
    };
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
