//! The templates that HCO hands over to SSP, sorted by name.

use kubernetes::sorted::Map;
use std::cell::OnceCell;
use std::rc::Rc;

use kubernetes::json::{Json, Object, WrongType};

use crate::cdi::data_import_cron::{Rejection, Spec, examine_metadata};
use crate::cdi::retention::HcoDefault;
use crate::forecast::Given;
use crate::forecast::state::Origin;
use crate::hco::golden_image::{Annotation, CommonSpec, GoldenImage, golden_images};
use crate::hco::import::Import;
use crate::kubevirt::virtual_machine::DATA_SOURCE_ARCHITECTURE;
use crate::ssp::architecture::Architecture;

/// A template as SSP gets it.
#[derive(Debug)]
pub struct HandedOver<'a> {
    /// Its name.
    pub name: &'a str,
    /// The index of its entry in the spec of the HyperConverged; `None` if HCO adds it itself.
    pub index: Option<usize>,
    /// Its namespace, empty for the one of golden images.
    pub namespace: String,
    /// The architectures that SSP finds in its annotation, in their order; `None` without an annotation.
    pub architectures: Option<Vec<Architecture>>,
    /// The label with an architecture that the template itself gives to its crons.
    pub architecture_label: Option<String>,
    /// Why the API server rejects its labels or annotations.
    pub metadata_rejected: Option<Rejection>,
    /// Its spec, completed by HCO.
    pub spec: Spec<'a>,
    origin: OnceCell<Rc<Origin>>,
    /// Whether the schedule is the one that HCO chooses for the cluster, which only the status shows.
    pub has_unknown_schedule: bool,
}

/// The golden images that HCO hands over, and the names of those whose annotation lists no workload architecture.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// `GetDataImportCronTemplates`, hcoDictToSSP.
///
/// # Errors
///
/// A template has a field of another type, which HCO's schema rejects.
pub(super) fn handed_over<'a>(
    given: &Given<'a>,
) -> Result<(Vec<HandedOver<'a>>, Vec<&'a str>), WrongType<'a>> {
    let mut sorted = Map::new();
    let mut left_out = Vec::new();
    for image in golden_images(given.hco, given.common) {
        let architectures = match given.import {
            // HCO takes the annotation away.
            Import::Disabled => None,
            Import::Enabled => annotated(image.annotation, given),
        };
        if architectures.as_ref().is_some_and(Vec::is_empty) {
            left_out.push(image.name);
        } else if let Some(template) = HandedOver::new(&image, architectures, given)? {
            sorted.insert(template.name, template);
        }
    }
    Ok((sorted.into_values().collect(), left_out))
}

impl<'a> HandedOver<'a> {
    /// The source of its image.
    pub(super) fn origin(&self) -> Rc<Origin> {
        Rc::clone(self.origin.get_or_init(|| Rc::new(self.spec.origin())))
    }

    fn new(
        image: &GoldenImage<'a>,
        architectures: Option<Vec<Architecture>>,
        given: &Given<'a>,
    ) -> Result<Option<Self>, WrongType<'a>> {
        let common = given.common.get(image.name).map(|common| &common.spec);
        let common_spec = match common.and_then(CommonSpec::text) {
            Some(text) => Json::parse(text.as_bytes()).ok().map(Object::root),
            None => None,
        };
        let json = image.template.and_then(|template| template.json);
        let is_completed = given.version.sets_defaults() && (json.is_none() || !given.is_complete);
        let default = if is_completed {
            HcoDefault::KeepNone
        } else {
            HcoDefault::Nothing
        };
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
        if spec.schedule.is_empty() && common.is_some() {
            has_unknown_schedule = true;
            spec.schedule = match &common_spec {
                Some(common) => common.field("schedule").string()?.unwrap_or_default(),
                None => "0 */12 * * *".to_owned(),
            };
        }
        default.complete(&mut spec);
        Ok(Some(Self {
            name: image.name,
            index: image.template.map(|template| template.index),
            namespace,
            architectures,
            architecture_label,
            metadata_rejected,
            spec,
            origin: OnceCell::new(),
            has_unknown_schedule: has_unknown_schedule
                && !matches!(common, Some(CommonSpec::Status(_))),
        }))
    }
}

/// The architectures that HCO leaves in the annotation; `None` without an annotation.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// setDataImportCronTemplateStatusMultiArch, removeUnsupportedArchs.
fn annotated(annotation: Annotation<'_>, given: &Given<'_>) -> Option<Vec<Architecture>> {
    let value = match annotation {
        // Golden images that are shipped have all architectures.
        Annotation::Unknown => return Some(Architecture::ALL.to_vec()),
        Annotation::Spec(value) | Annotation::Shipped(value) => value?,
    };
    let known = Architecture::ALL.into_iter();
    let kept = known.filter(|architecture| {
        let name = architecture.name();
        given.census.workload.contains_key(name) && value.split(',').any(|entry| entry == name)
    });
    Some(kept.collect())
}
