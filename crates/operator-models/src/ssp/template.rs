//! The templates that HCO passes to SSP, sorted by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube_objects::json::{Json, Object, WrongType};

use crate::cdi::data_import_cron::{
    ImageOrigin, Rejection, Spec, Verdict, examine_metadata, examine_names, examine_spec,
};
use crate::hco::golden_image::{Annotation, CommonTemplates, GoldenImage};
use crate::hco::hyperconverged::HyperConverged;
use crate::hco::import::Import;
use crate::hco::node::Census;
use crate::hco::version::HcoVersion;
use crate::ssp::architecture::{Architecture, DATA_SOURCE_ARCHITECTURE};
use crate::ssp::data_sources::Key;

#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    pub hco: &'a HyperConverged<'a>,
    pub import: Import,
    pub common: &'a CommonTemplates,
    pub golden_namespace: &'a Arc<str>,
    pub version: HcoVersion,
    /// Whether HCO's webhook has already completed the object.
    pub is_complete: bool,
    pub census: &'a Census,
}

/// A template as SSP gets it.
#[derive(Debug)]
pub struct SspTemplate<'a> {
    pub name: &'a str,
    /// The index of its entry in the spec of the HyperConverged; `None` if HCO adds the template.
    pub index: Option<usize>,
    /// Its namespace; empty for the namespace of golden images.
    pub namespace: String,
    /// The architectures that SSP finds in its annotation, in their order; `None` without an annotation.
    pub architectures: Option<Vec<Architecture>>,
    /// The architecture label that the template itself sets on its crons.
    pub architecture_label: Option<String>,
    pub spec: Spec<'a>,
    pub(crate) origin: Arc<ImageOrigin>,
    /// Why the API server rejects its labels or annotations.
    metadata_rejected: Option<Rejection>,
    verdict: Verdict,
    /// Whether HCO chooses the schedule for the cluster, so that only the status shows it.
    pub has_unknown_schedule: bool,
}

/// The templates that HCO passes to SSP. It leaves out those whose annotation lists no workload architecture.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// `GetDataImportCronTemplates`, hcoDictToSSP.
pub(crate) fn ssp_templates<'a>(
    given: &Given<'a>,
    images: &[GoldenImage<'a>],
) -> Vec<SspTemplate<'a>> {
    let mut sorted = BTreeMap::new();
    for image in images {
        let architectures = match given.import {
            // HCO removes the annotation.
            Import::Disabled => None,
            Import::Enabled => annotated(image.annotation, given),
        };
        if architectures.as_ref().is_some_and(Vec::is_empty) {
            continue;
        }
        let template = SspTemplate::new(image, architectures.clone(), given)
            .unwrap_or_else(|error| SspTemplate::mistyped(image, architectures, given, &error));
        sorted.extend(template.map(|template| (template.name, template)));
    }
    sorted.into_values().collect()
}

impl<'a> SspTemplate<'a> {
    fn mistyped(
        image: &GoldenImage<'a>,
        architectures: Option<Vec<Architecture>>,
        given: &Given<'_>,
        error: &WrongType<'a>,
    ) -> Option<Self> {
        let template = Object::root(image.template?.json?);
        let namespace = template.object("metadata").field("namespace").string();
        let spec = Spec::readable_part(&template.object("spec"));
        let rejection = Rejection::WrongType {
            path: error.path().clone(),
            error: error.to_string(),
        };
        Some(Self {
            name: image.name,
            index: image.template.map(|template| template.index),
            namespace: namespace.ok().flatten().unwrap_or_default(),
            architectures,
            architecture_label: None,
            metadata_rejected: None,
            verdict: Verdict {
                rejected: Some(rejection),
                ..Verdict::default()
            },
            origin: Arc::new(spec.origin()),
            spec: completed(spec, image, given),
            has_unknown_schedule: false,
        })
    }

    fn new(
        image: &GoldenImage<'a>,
        architectures: Option<Vec<Architecture>>,
        given: &Given<'a>,
    ) -> Result<Option<Self>, WrongType<'a>> {
        let common = given.common.get(image.name);
        let common_spec = common.and_then(|common| {
            let json = Json::parse(common.spec.as_ref()?.as_bytes()).ok()?;
            Some(Object::root(json))
        });
        let json = image.template.and_then(|template| template.json);
        let mut metadata_rejected = None;
        let (mut spec, namespace, architecture_label) = if let Some(json) = json {
            let template = Object::root(json);
            let metadata = template.object("metadata");
            metadata_rejected = examine_metadata(&metadata)?;
            let label = match common {
                // HCO keeps the labels of its own template.
                Some(_) => {
                    metadata_rejected = metadata_rejected
                        .filter(|rejection| !matches!(rejection, Rejection::LabelInvalid(_)));
                    None
                }
                None => metadata.object("labels").entry(DATA_SOURCE_ARCHITECTURE)?,
            };
            let namespace = metadata.field("namespace").string()?;
            let spec = Spec::read(&template.object("spec"))?;
            (spec, namespace.unwrap_or_default(), label)
        } else {
            let Some(spec) = &common_spec else {
                return Ok(None);
            };
            (Spec::read(spec)?, given.hco.common_namespace.clone(), None)
        };
        let mut has_unknown_schedule = json.is_none();
        if spec.schedule.is_empty()
            && let Some(common) = common
        {
            has_unknown_schedule = true;
            let default = || "0 */12 * * *".to_owned();
            spec.schedule = common.schedule.clone().unwrap_or_else(default);
        }
        let mut verdict = examine_spec(&spec)?;
        let unknown_content = unknown_content(&spec).map(Rejection::ContentTypeUnknown);
        verdict.rejected = unknown_content.or(verdict.rejected);
        Ok(Some(Self {
            name: image.name,
            index: image.template.map(|template| template.index),
            namespace,
            architectures,
            architecture_label,
            metadata_rejected,
            verdict,
            origin: Arc::new(spec.origin()),
            spec: completed(spec, image, given),
            has_unknown_schedule: has_unknown_schedule
                && common.is_none_or(|common| common.schedule.is_none()),
        }))
    }

    /// Whether the schema of HCO rejects the template.
    pub(crate) fn is_mistyped(&self) -> bool {
        let rejected = self.verdict.rejected.as_ref();
        rejected.is_some_and(Rejection::is_of_schema)
    }

    /// CDI's verdict on a cron of the template.
    pub(crate) fn examine(
        &self,
        key: &Key,
        source: &Key,
        architecture: Option<Architecture>,
    ) -> Verdict {
        let label = architecture.map_or("", |_| &self.spec.managed_data_source);
        let rejected = self.metadata_rejected.as_ref();
        examine_names(key, &source.name, label, rejected, &self.verdict)
    }
}

/// The contentType, if the schemas of HCO and SSP do not allow it.
fn unknown_content(spec: &Spec<'_>) -> Option<String> {
    // Most templates do not have the field. Searching the text for its name is cheaper than parsing.
    let json = spec.template.json();
    json.filter(|json| json.text().contains("ontentType"))?;
    let volume = spec.template.object().object("spec");
    let content = volume.field("contentType").string().ok()??;
    (!["", "kubevirt", "archive"].contains(&content.as_str())).then_some(content)
}

fn completed<'a>(mut spec: Spec<'a>, image: &GoldenImage<'_>, given: &Given<'_>) -> Spec<'a> {
    let is_own = image
        .template
        .is_some_and(|template| template.json.is_some());
    if given.version.sets_defaults() && !(is_own && given.is_complete) {
        spec.complete();
    }
    spec
}

/// The architectures that HCO leaves in the annotation; `None` without an annotation.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// setDataImportCronTemplateStatusMultiArch, removeUnsupportedArchs.
fn annotated(annotation: Annotation<'_>, given: &Given<'_>) -> Option<Vec<Architecture>> {
    let value = match annotation {
        // Shipped golden images have all architectures.
        Annotation::ShippedUnknown => return Some(Architecture::ALL.to_vec()),
        Annotation::Spec(value) | Annotation::Shipped(value) | Annotation::Unknown(value) => value?,
    };
    let is_kept = |architecture: &Architecture| {
        let name = architecture.name();
        given.census.workload.contains_key(name) && value.split(',').any(|entry| entry == name)
    };
    Some(Architecture::ALL.into_iter().filter(is_kept).collect())
}
