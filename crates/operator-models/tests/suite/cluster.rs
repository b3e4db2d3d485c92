//! The cluster of a row: an object and its nodes, in the form that the model reads.

use std::sync::Arc;

use kube_objects::json::Json;
use operator_models::forecast::{Forecast, Given, NoForecast};
use operator_models::hco::api_version::ApiVersion;
use operator_models::hco::golden_image::{CommonTemplates, common_templates};
use operator_models::hco::hyperconverged::HyperConverged;
use operator_models::hco::import::Import;
use operator_models::hco::node::{Census, census};
use operator_models::hco::version::HcoVersion;
use serde_json::{Value, json};

/// The version that generated the corpora: HCO's main branch.
pub(super) const MAIN: HcoVersion = HcoVersion::NEWEST;

/// An object and its nodes as text.
pub(super) struct Texts {
    hco: String,
    nodes: String,
    version: ApiVersion,
}

impl Texts {
    pub(super) fn new(hco: &Value, nodes: &Value) -> Self {
        let version = hco["apiVersion"].as_str().unwrap();
        Self {
            hco: hco.to_string(),
            nodes: json!({"kind": "NodeList", "items": nodes}).to_string(),
            version: ApiVersion::from_kind(Some(version), "").unwrap(),
        }
    }

    pub(super) fn cluster(&self) -> Option<Cluster<'_>> {
        let json = Json::parse(self.hco.as_bytes()).unwrap();
        let hco = HyperConverged::parse(json, self.version).ok()?;
        let census = census(self.nodes.as_bytes(), &[&hco.placement])
            .unwrap()
            .remove(0);
        Some(Cluster {
            common: common_templates(&hco.status_templates, None, None, false),
            import: hco.import.resolve(MAIN),
            census,
            golden_namespace: "kubevirt-os-images".into(),
            hco,
        })
    }
}

pub(super) struct Cluster<'a> {
    pub(super) hco: HyperConverged<'a>,
    pub(super) common: CommonTemplates,
    pub(super) import: Import,
    pub(super) census: Census,
    golden_namespace: Arc<str>,
}

impl<'a> Cluster<'a> {
    pub(super) fn forecast(&'a self) -> Result<Forecast<'a>, NoForecast<'a>> {
        Forecast::new(&Given {
            hco: &self.hco,
            import: self.import,
            common: &self.common,
            golden_namespace: &self.golden_namespace,
            version: MAIN,
            is_complete: self.hco.is_stored,
            census: &self.census,
        })
    }
}
