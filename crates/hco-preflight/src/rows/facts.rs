//! The values at the head of a plan and of a check of a cluster: what HCO resolves from the object and the nodes.

use std::fmt::Write as _;

use cluster::foreign::{Foreign, one_line};
use engine::Import;
use operator_models::hco::version::HcoVersion;
use serde_json::{Value, json};

use crate::input::Situation;
use crate::prose::folded;
use crate::report::{Report, counted, listed, version};

/// A value before and after the change; in a check, both are the same.
pub(crate) struct Fact {
    label: &'static str,
    value: String,
    pub(crate) changes: bool,
}

impl Fact {
    fn new(label: &'static str, values: [Option<String>; 2]) -> Self {
        let [before, after] = values.map(|value| match value {
            Some(value) if !value.is_empty() => value,
            _ => "none".to_owned(),
        });
        let changes = before != after;
        let value = if changes {
            format!("{before} → {after}")
        } else {
            after
        };
        Self {
            label,
            value,
            changes,
        }
    }

    pub(crate) fn all(situation: &Situation, reports: [&Report; 2]) -> Vec<Self> {
        let import = |report: &Report| {
            let is_on = report.multi_arch_import? == Import::Enabled;
            Some(if is_on { "on" } else { "off" }.to_owned())
        };
        let nodes = |report: &Report| report.nodes.as_ref().map(counted);
        let control_plane =
            |report: &Report| report.control_plane_architectures.as_deref().map(listed);
        let mut versions = reports.map(|report| situation.version(report));
        // The same version can come from two sources.
        if let [Some(before), Some(after)] = &mut versions
            && before.number.raw() == after.number.raw()
        {
            before.text.clone_from(&after.text);
        }
        let name = one_line(&situation.name);
        let mut facts = vec![
            Self::new("HyperConverged", reports.map(|_| Some(name.clone()))),
            Self::new("multi-architecture import", reports.map(import)),
            Self::new("HCO", versions.map(|version| Some(version?.text))),
            Self::new("workload nodes", reports.map(nodes)),
        ];
        let leaving = listed(&situation.leaving());
        if !leaving.is_empty() {
            facts.push(Self::new(
                "nodes that leave",
                reports.map(|_| Some(leaving.clone())),
            ));
        }
        let control_plane = Self::new("control plane", reports.map(control_plane));
        facts.extend(Some(control_plane).filter(|fact| fact.changes));
        facts.push(Self::default_architecture(situation, reports));
        facts
    }

    /// MIRRORS: kubevirt pkg/virt-operator/util/config.go, `SetDefaultArchitecture`: without a default in the spec,
    /// the status keeps its current one. HCO before 1.18 removes the default from the spec.
    fn default_architecture(situation: &Situation, reports: [&Report; 2]) -> Self {
        let [before, after] = reports.map(|report| report.default_architecture.as_ref());
        let is_kept = after.is_none() && before.is_some();
        let shown = situation
            .default_architectures(reports)
            .map(|architecture| {
                let none = "KubeVirt's default, because HCO does not set one";
                Some(architecture.map_or_else(|| none.to_owned(), |name| name.to_string()))
            });
        let mut fact = Self::new("default architecture of new VMs", shown);
        let reads_labels = version(reports[1]).is_none_or(HcoVersion::reads_data_source_labels);
        let remarks: Vec<&str> = [
            is_kept.then_some("KubeVirt keeps it, because HCO does not set one"),
            reads_labels.then_some(
                "VMs take the architecture of their boot source if it is labelled; others get this",
            ),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !remarks.is_empty() {
            let _ = write!(fact.value, " ({})", remarks.join("; "));
        }
        fact
    }

    pub(crate) fn text(&self) -> String {
        format!("{}: {}", self.label, self.value)
    }

    pub(crate) fn render(&self) -> String {
        let line = format!("{:<36}{}", self.label, self.value);
        folded(&line, 36) + "\n"
    }
}

pub(crate) fn json(report: &Report, default: Option<&Foreign>) -> Value {
    let version = report.version.as_ref();
    json!({
        "multiArchImport": report.multi_arch_import,
        "defaultArchitecture": default,
        "hcoVersion": version.map(|version| Foreign::from(&*version.number)),
        "hcoVersionOrigin": version.map(|version| version.source.into_str()),
        "controlPlane": report.control_plane_architectures.as_deref().unwrap_or_default(),
        "nodes": report.nodes.clone().unwrap_or_default(),
    })
}
