//! Whether HCO rejects a HyperConverged.

use std::collections::BTreeSet;

use crate::hco::golden_image::{CommonTemplates, invalid};
use crate::hco::hyperconverged::HyperConverged;
use crate::hco::version::HcoVersion;

/// Whether HCO's webhooks reject an object, or HCO fails to reconcile it, apart from wrong types and contradictions about
/// the import.
///
/// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/validator/validator.go, validateHyperConverged, and validateAffinity
/// for the affinity of the workloads and of the infrastructure; controllers/handlers/golden-images/golden_images.go,
/// getDicMapFromCr.
pub fn is_rejected(
    hco: &HyperConverged<'_>,
    common: &CommonTemplates,
    version: HcoVersion,
) -> bool {
    let mut names = BTreeSet::new();
    hco.import.unreadable_v1_only(version).is_some()
        || !hco.placement.errors().is_empty()
        || !hco.infra.errors().is_empty()
        || hco.templates.iter().any(|template| {
            invalid(template, hco, common).is_some() || !names.insert(template.name.as_str())
        })
}
