use kube_objects::placement::{PREFERRED, REQUIRED, SelectorError};

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("placement-invalid", Level::Deny);

/// A requirement that Kubernetes rejects.
pub(crate) struct InvalidRequirement<'f> {
    /// The placement with the requirement: `workloads` or `infra`.
    placement: &'static str,
    affinity: &'f Field<'f>,
    is_preferred: bool,
    error: &'f SelectorError,
}

/// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/validator/validator.go, validateAffinity, for required terms;
/// kubevirt v1.6.2 to v1.9.0 pkg/virt-operator/webhooks/kubevirt-update-admitter.go, validateWorkloadPlacement and
/// validateInfraPlacement, for preferred terms. No webhook of KubeVirt checks the placement of a new object, so HCO
/// accepts it.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
) -> impl Iterator<Item = InvalidRequirement<'f>> {
    let hco = &configuration.hco;
    let is_update =
        configuration.origin != Origin::Audited && configuration.installation.stored.is_some();
    let workloads = ("workloads", &hco.fields.node_affinity);
    let infra = ("infra", &hco.fields.infra_affinity);
    [
        (workloads, false, hco.placement.errors()),
        (workloads, true, &hco.preferred_errors),
        (infra, false, hco.infra.errors()),
        (infra, true, &hco.infra_preferred_errors),
    ]
    .into_iter()
    .filter(move |(_, is_preferred, _)| is_update || !is_preferred)
    .flat_map(|((placement, affinity), is_preferred, errors)| {
        errors.iter().map(move |error| InvalidRequirement {
            placement,
            affinity,
            is_preferred,
            error,
        })
    })
}

impl<'f> Violation<'f> for InvalidRequirement<'f> {
    /// The same requirement in the other affinity is a different problem.
    fn value(&self) -> Cow<'_, str> {
        format!("{} {}", self.placement, self.error.requirement).into()
    }

    fn path(&self, _: &'f Configuration<'f>) -> FieldPath {
        let terms = if self.is_preferred {
            PREFERRED
        } else {
            REQUIRED
        };
        self.affinity.path().key(terms).join(&self.error.path)
    }

    /// For preferred terms: in an update, HCO's webhook updates KubeVirt as a dry run.
    fn consequence(&self, _: &'f Configuration<'f>) -> Option<Consequence> {
        Some(Consequence::HcoDenies)
    }

    fn fact(&self, _: &'f Configuration<'f>) -> String {
        let kind = if self.is_preferred {
            "preferred requirement"
        } else {
            "requirement"
        };
        format!(
            "The {kind} {} is not valid ({})",
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
