//! The values that HCO resolves from the object and the nodes.

use std::collections::BTreeMap;

use cluster::foreign::Foreign;
use engine::Import;
use serde::Serialize;

use crate::input::Situation;
use crate::report::Report;

/// The values that the rows of a check or a plan are about.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct State {
    multi_arch_import: Option<Import>,
    /// KubeVirt's default architecture; `None` if it is not known.
    default_architecture: Option<Foreign>,
    hco_version: Option<Foreign>,
    hco_version_origin: Option<Foreign>,
    control_plane: Vec<Foreign>,
    /// The workload nodes by architecture.
    nodes: BTreeMap<String, usize>,
}

impl State {
    pub(crate) fn new(
        situation: &Situation,
        report: &Report,
        default_architecture: Option<Foreign>,
    ) -> Self {
        let version = situation.version(report);
        Self {
            multi_arch_import: report.multi_arch_import,
            default_architecture,
            hco_version: version.as_ref().map(|version| version.number.clone()),
            hco_version_origin: version.map(|version| version.origin),
            control_plane: report
                .control_plane_architectures
                .clone()
                .unwrap_or_default(),
            nodes: report.nodes.clone().unwrap_or_default(),
        }
    }
}
