//! The response to a request as data. Other files render it: the message and the warnings for users, the audit
//! annotations for programs. The `report` operation returns this type as JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kube_objects::edit::PatchOperation;
use kube_objects::text::Foreign;
use operator_models::forecast::{Changes, Stopped};
use operator_models::hco::import::Import;
use operator_models::ssp::data_sources::Key;
use serde::{Deserialize, Serialize};

use crate::finding::Finding;
use crate::version::StatedVersion;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub allowed: bool,
    /// The HTTP status of a denial: 403 because of the object, 400 if it cannot be read, 500 if the policy cannot
    /// evaluate it.
    pub code: Option<u16>,
    pub message: Option<String>,
    /// The workload nodes by architecture; `None` if no nodes were listed.
    pub nodes: Option<BTreeMap<String, usize>>,
    /// Where the nodes come from: `status` or `list`; `None` if they were not read.
    #[serde(skip)]
    pub nodes_from: Option<&'static str>,
    pub workload_architectures: Option<Vec<Foreign>>,
    pub control_plane_architectures: Option<Vec<Foreign>>,
    /// The HCO version that was used for the evaluation, and its source; `None` if nothing was evaluated.
    pub hco_version: Option<String>,
    /// The same version, as a number and its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<StatedVersion>,
    /// The architecture that KubeVirt gives to VMs that do not request one; `None` if no nodes were read, if there is
    /// none, or if this version of HCO does not set it.
    pub default_architecture: Option<Foreign>,
    /// The only architectures whose VMs KubeVirt accepts; `None` if it accepts all, or if that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_architectures: Option<Vec<Foreign>>,
    /// The import, as HCO resolves it; `None` if nothing was evaluated.
    pub multi_arch_import: Option<Import>,
    /// Whether each golden image is imported for each workload architecture. Images of the spec come first. `None` if
    /// no nodes were read, if there are no golden images, or if the report is not requested.
    pub templates: Option<Vec<TemplateReport>>,
    /// The objects that SSP and CDI will create; `None` if no nodes were read, if HCO or SSP rejects the object, if
    /// HCO deploys no golden images, or if the report is not requested.
    pub forecast: Option<ForecastReport>,
    /// Why there is no forecast; `None` if there is one, or if the report is not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_forecast: Option<NoForecastReport>,
    pub forecast_before: Option<ForecastReport>,
    /// The changes in the cluster that the update causes. They are not read from JSON, because only callers of the engine
    /// use them.
    #[serde(skip_deserializing)]
    pub changes: Option<Changes>,
    /// The values that KubeVirt derives for a VirtualMachine; `None` for other objects, or if it was not evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_machine: Option<VirtualMachineReport>,
    /// The findings: by rule in the order of the table, then by position in the object.
    pub findings: Vec<Finding>,
    /// A JSON Patch with all recommended fixes that are complete.
    pub patch: Vec<PatchOperation>,
    /// The number of findings that are not in the list.
    pub more_findings: usize,
    /// One sentence for each repair. The findings are the ones that remain after the repairs.
    pub repairs: Vec<String>,
    /// The object with the repairs; `None` if nothing was repaired.
    #[serde(skip)]
    pub repaired_object: Option<String>,
    /// Why images were not checked, one sentence for each reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_checked: Vec<String>,
    /// Warnings for the user.
    #[serde(skip)]
    pub warnings: Vec<String>,
    /// The interface for programs that read the audit log.
    #[serde(skip)]
    pub audit_annotations: BTreeMap<String, String>,
}

/// The values that KubeVirt derives for a VirtualMachine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VirtualMachineReport {
    /// The VM's architecture; `None` if KubeVirt's default decides and is unknown.
    pub architecture: Option<Foreign>,
    /// Where the architecture comes from: `explicit`, `preference`, `datasource`, or `default`.
    pub reason: Cow<'static, str>,
    /// The preference that defines the architecture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preference: Option<Foreign>,
    /// The DataSource that defines the architecture, as `namespace/name`.
    pub data_source: Option<Foreign>,
    /// The value of `kubernetes.io/arch` in the node selector of the launcher pod.
    pub node_selector: Option<Foreign>,
}

/// A golden image, and its state on each workload architecture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateReport {
    pub name: Foreign,
    pub architectures: BTreeMap<String, Boot>,
}

/// The state of a golden image on an architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Boot {
    /// It will be imported, and the image was looked up: it has the architecture.
    InImage,
    /// It will be imported. The image was not looked up.
    Expected,
    /// It is not imported, or the image does not support the architecture.
    NotImported,
    /// The object does not define it, or the image could not be read.
    Unknown,
}

/// Why the operators create no boot sources from an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoForecastReport {
    /// The nodes were not read, or cannot be read.
    NodesUnknown,
    NotDeployed,
    /// HCO rejects the object, or cannot reconcile it. A finding says why.
    RejectedByHco,
    /// SSP rejects this architecture of a node.
    Architecture(Foreign),
    /// SSP rejects the object, because no node has an architecture.
    NoArchitecture,
}

/// The objects that SSP and CDI create.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForecastReport {
    pub crons: Vec<CronReport>,
    pub data_sources: Vec<DataSourceReport>,
    /// The templates for which SSP drops or overwrites a DataImportCron.
    pub lost: Vec<Foreign>,
    /// The reason why SSP stops: `data-source` or `data-import-cron`; or `same-name`, where SSP creates only one of two
    /// crons.
    pub stopped: Option<Stopped>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CronReport {
    pub template: Foreign,
    pub namespace: Foreign,
    pub name: Foreign,
    /// The architecture of its suffix; empty without one.
    pub architecture: Foreign,
    pub managed_data_source: Foreign,
    pub rejected: Option<Foreign>,
    /// The field that causes the rejection; `None` for a template that HCO ships.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected_path: Option<Foreign>,
    /// Why it never imports an image although it is accepted.
    pub never_runs: Option<Foreign>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DataSourceReport {
    pub namespace: Foreign,
    pub name: Foreign,
    pub points_to: Option<Foreign>,
    pub architecture_label: Foreign,
    /// Whether a disk will exist for it; `None` if SSP never stops changing the objects.
    pub filled: Option<bool>,
}

impl Report {
    pub(crate) fn accepted() -> Self {
        Self {
            allowed: true,
            ..Self::default()
        }
    }
}

impl CronReport {
    pub fn key(&self) -> Key {
        Key::new(self.namespace.raw(), self.name.raw())
    }

    pub fn source(&self) -> Key {
        Key::new(self.namespace.raw(), self.managed_data_source.raw())
    }
}

impl DataSourceReport {
    pub fn key(&self) -> Key {
        Key::new(self.namespace.raw(), self.name.raw())
    }
}
