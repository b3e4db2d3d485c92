//! See `jsonpatch-overrides-architectures.md`.

use kube_objects::path::FieldPath;
use kube_objects::text::quote;
use operator_models::hco::jsonpatch::{IN_SSP, operations};

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;

const IN_KUBEVIRT: [&str; 2] = [
    "/spec/workloads",
    "/spec/configuration/architectureConfiguration",
];
const IN_CDI: [&str; 1] = ["/spec/workload"];

/// HCO applies the patch to the values that it sets, so the other rules' findings about these values are not certain.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/operands/operand.go, applyAnnotationPatch.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let fields = &facts.hco.fields.patches;
    let patches = &facts.hco.patches;
    for (field, patch, resource, fields) in [
        (&fields.ssp, &patches.ssp, "SSP", &IN_SSP[..]),
        (
            &fields.kubevirt,
            &patches.kubevirt,
            "KubeVirt",
            &IN_KUBEVIRT,
        ),
        (&fields.cdi, &patches.cdi, "CDI", &IN_CDI),
    ] {
        if let Some(patch) = patch {
            check_patch(findings, &field.path(), patch, resource, fields);
        }
    }
}

fn check_patch(
    findings: &mut Findings<'_, '_>,
    path: &FieldPath,
    patch: &str,
    resource: &str,
    fields: &[&str],
) {
    let finding = |fact: String, advice: &str| Finding {
        path: path.clone(),
        fact,
        fixes: vec![Fix::advice(advice)],
    };
    let Some(operations) = operations(patch) else {
        findings.add(Identity::value(format!("{resource} {patch}")), || {
            finding(
                format!("The {resource} patch is not a valid JSON Patch: HCO rejects it."),
                "correct or remove the annotation",
            )
        });
        return;
    };
    for operation in operations {
        // The same operation in another patch is a different problem.
        let value = || Identity::value(format!("{resource} {}", operation.text));
        if !operation.is_applicable() {
            findings.add(value(), || {
                let path = operation.path.as_deref();
                finding(
                    format!(
                        "The {resource} patch has an operation {}, but paths must begin with /spec/: HCO rejects the patch.",
                        path.map_or("without a path".to_owned(), |path| format!("with path {}", quote(path)))
                    ),
                    "correct or remove the operation",
                )
            });
        } else if let Some(touched) = operation.touched(fields) {
            findings.add(value(), || {
                finding(
                    format!(
                        "The {resource} patch overrides {}: HCO's value has no effect.",
                        quote(touched)
                    ),
                    "remove the operation, and set the fields of HyperConverged instead",
                )
            });
        }
    }
}
