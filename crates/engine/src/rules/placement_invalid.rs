//! See `placement-invalid.md`.

use kube_objects::placement::{REQUIRED, SelectorError};

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("placement-invalid", Level::Deny);

/// A requirement that Kubernetes' parser rejects.
pub(crate) struct InvalidRequirement<'f> {
    affinity: Affinity,
    error: &'f SelectorError,
}

#[derive(Clone, Copy)]
enum Affinity {
    Workloads,
    Infra,
}

/// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/validator/validator.go, validateAffinity: the required
/// affinity of the workloads and of the infrastructure; no preferred terms, no nodeSelector.
pub(crate) fn check<'f>(configuration: &'f Configuration<'f>) -> impl Iterator<Item = InvalidRequirement<'f>> {
    let in_affinity =
        |affinity| move |error: &'f SelectorError| InvalidRequirement { affinity, error };
    let workloads = configuration.hco.placement.errors().iter();
    let infra = configuration.hco.infra_errors.iter();
    workloads
        .map(in_affinity(Affinity::Workloads))
        .chain(infra.map(in_affinity(Affinity::Infra)))
}

impl<'f> Violation<'f> for InvalidRequirement<'f> {
    /// The same requirement in the other affinity is a different problem.
    fn value(&self) -> Cow<'_, str> {
        let affinity = match self.affinity {
            Affinity::Workloads => "workloads",
            Affinity::Infra => "infra",
        };
        format!("{affinity} {}", self.error.requirement).into()
    }

    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        let fields = &configuration.hco.fields;
        let required = match self.affinity {
            Affinity::Workloads => fields.node_affinity.path().key(REQUIRED),
            Affinity::Infra => fields.infra_required.path(),
        };
        required.join(&self.error.path)
    }

    fn consequence(&self, _: &'f Configuration<'f>) -> Option<Consequence> {
        Some(Consequence::HcoDenies)
    }

    fn fact(&self, _: &'f Configuration<'f>) -> String {
        format!(
            "The requirement {} is not valid ({})",
            quote(&self.error.requirement),
            self.error.reason
        )
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        let example = if self.error.is_about_fields {
            "{key: metadata.name, operator: In, values: [NODE]}"
        } else {
            "{key: kubernetes.io/arch, operator: In, values: [amd64]}"
        };
        vec![Proposal::advice(format!(
            "correct the requirement, for example {example}"
        ))]
    }
}
