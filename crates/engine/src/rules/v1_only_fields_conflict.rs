//! See `v1-only-fields-conflict.md`.

use kube_objects::edit::Edits;
use kube_objects::path::FieldPath;
use operator_models::hco::api_version::ApiVersion;
use operator_models::hco::import::Import;

use crate::facts::Facts;
use crate::proposal::Proposal;
use crate::rule::{Level, Rule};
use crate::violation::Violation;

pub(crate) static RULE: Rule = Rule::about_object("v1-only-fields-conflict", Level::Deny);

/// A v1 object carries the annotation of v1beta1 with another import.
pub(crate) struct ConflictingAnnotation(Import);

pub(crate) fn check<'f>(facts: &'f Facts<'f>) -> Option<ConflictingAnnotation> {
    let import = &facts.hco.import;
    let stated = import.in_annotation(facts.version.hco);
    let stated = stated.filter(|_| import.api_version == ApiVersion::V1)?;
    (stated != facts.import).then_some(ConflictingAnnotation(stated))
}

impl<'f> Violation<'f> for ConflictingAnnotation {
    fn path(&self, facts: &'f Facts<'f>) -> FieldPath {
        facts.hco.fields.v1_only.path()
    }

    fn fact(&self, facts: &'f Facts<'f>) -> String {
        format!(
            "The annotation says that the multi-architecture import is {}, but the fields say {}: the annotation takes effect with the next update in v1beta1.",
            self.0.name(),
            facts.import.name()
        )
    }

    fn fixes(&self, facts: &'f Facts<'f>) -> Vec<Proposal<'f>> {
        vec![Proposal::edits(
            "remove the annotation, which HCO writes itself where v1beta1 needs it",
            Edits::default().remove(self.path(facts)).finish(),
        )]
    }
}
