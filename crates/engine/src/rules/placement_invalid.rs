use kube_objects::placement::{PREFERRED, REQUIRED, SelectorError};

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("placement-invalid", Level::Deny);

/// Kubernetes rejects a requirement.
///
/// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/validator/validator.go, validateAffinity, for required terms;
/// kubevirt v1.6.2 to v1.9.0 pkg/virt-operator/webhooks/kubevirt-update-admitter.go, validateWorkloadPlacement and
/// validateInfraPlacement, for preferred terms. No webhook of KubeVirt checks the placement of a new object, so HCO
/// accepts it.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
) -> impl Iterator<Item = Violation<'f>> {
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
        errors.iter().map(move |error| Violation {
            // The same requirement in the other affinity is a different problem.
            value: format!("{placement} {}", error.requirement).into(),
            // For preferred terms: in an update, HCO's webhook updates KubeVirt as a dry run.
            consequence: Some(Consequence::HcoDenies),
            ..Violation::new(move || describe(affinity, is_preferred, error))
        })
    })
}

fn describe<'f>(
    affinity: &Field<'_>,
    is_preferred: bool,
    error: &SelectorError,
) -> Description<'f> {
    let (terms, kind) = if is_preferred {
        (PREFERRED, "preferred requirement")
    } else {
        (REQUIRED, "requirement")
    };
    let example = if error.is_about_fields {
        "{key: metadata.name, operator: In, values: [NODE]}"
    } else {
        "{key: kubernetes.io/arch, operator: In, values: [amd64]}"
    };
    Description {
        path: affinity.path().key(terms).join(&error.path),
        fact: format!(
            "The {kind} {} is not valid ({})",
            quote(&error.requirement),
            error.reason
        ),
        fixes: vec![Proposal::advice(format!(
            "correct the requirement, for example {example}"
        ))],
    }
}
