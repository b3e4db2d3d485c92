//! Why HCO rejects a HyperConverged.

use std::collections::BTreeSet;

use crate::hco::golden_image::{CommonTemplates, invalid};
use crate::hco::hyperconverged::HyperConverged;
use crate::hco::version::HcoVersion;

/// Why HCO's webhooks reject a HyperConverged, or HCO fails to reconcile it. Templates are indices in the spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HcoRejection {
    /// HCO's conversion cannot read the annotation `hco.kubevirt.io/v1-only-fields`.
    V1OnlyFieldsUnreadable,
    /// A field of a template has a wrong type.
    ///
    /// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/mutator/hyperConvergedMutator.go, which decodes the
    /// whole object.
    WrongType(usize),
    /// The feature gate and the field for the import contradict each other. Depends on the object before the update.
    ImportContradiction,
    /// Kubernetes' parser refuses the affinity of the workloads or of the infrastructure.
    PlacementInvalid,
    TemplateInvalid(usize),
    TemplateDuplicated(usize),
}

/// Why HCO rejects an object, apart from wrong types and contradictions about the import.
///
/// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/validator/validator.go, validateHyperConverged;
/// controllers/handlers/golden-images/golden_images.go, getDicMapFromCr.
pub fn rejection(
    hco: &HyperConverged<'_>,
    common: &CommonTemplates,
    version: HcoVersion,
) -> Option<HcoRejection> {
    if hco.import.unreadable_v1_only(version).is_some() {
        return Some(HcoRejection::V1OnlyFieldsUnreadable);
    }
    if !hco.placement.errors().is_empty() || !hco.infra.errors().is_empty() {
        return Some(HcoRejection::PlacementInvalid);
    }
    let mut names = BTreeSet::new();
    hco.templates.iter().find_map(|template| {
        if invalid(template, hco, common).is_some() {
            return Some(HcoRejection::TemplateInvalid(template.index));
        }
        (!names.insert(template.name.as_str()))
            .then_some(HcoRejection::TemplateDuplicated(template.index))
    })
}
