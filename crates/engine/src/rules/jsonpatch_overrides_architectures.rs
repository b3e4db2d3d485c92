use operator_models::hco::jsonpatch::{AnnotationOperation, IN_SSP, operations};

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("jsonpatch-overrides-architectures", Level::Warn);

const IN_KUBEVIRT: [&str; 2] = [
    "/spec/workloads",
    "/spec/configuration/architectureConfiguration",
];
const IN_CDI: [&str; 1] = ["/spec/workload"];

/// HCO rejects a jsonpatch annotation, or it overrides fields that HCO sets. HCO applies the patch to the values that it
/// sets, so the other rules' findings about these values are not certain.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/operands/operand.go, applyAnnotationPatch.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
) -> impl Iterator<Item = Violation<'f>> {
    let hco = configuration.hco;
    let fields = &hco.fields;
    [
        ("SSP", &fields.ssp_patch, &hco.ssp_patch, &IN_SSP[..]),
        (
            "KubeVirt",
            &fields.kubevirt_patch,
            &hco.kubevirt_patch,
            &IN_KUBEVIRT,
        ),
        ("CDI", &fields.cdi_patch, &hco.cdi_patch, &IN_CDI),
    ]
    .into_iter()
    .filter_map(|(resource, field, patch, overridden)| {
        Some((resource, field, patch.as_deref()?, overridden))
    })
    .flat_map(|(resource, field, patch, overridden)| {
        let violation = move |operation: Option<AnnotationOperation<'f>>| {
            let text = operation.as_ref().map_or(patch, |operation| operation.text);
            let is_rejected = operation
                .as_ref()
                .is_none_or(|operation| !operation.is_applicable());
            Violation {
                consequence: is_rejected.then_some(Consequence::HcoDenies),
                value: format!("{resource} {}", normalized(text)).into(),
                ..Violation::new(move || describe(resource, field, operation.as_ref(), overridden))
            }
        };
        let Some(operations) = operations(patch) else {
            return vec![violation(None)];
        };
        let overriding = operations
            .into_iter()
            .filter(|operation| operation.overrides(overridden));
        overriding
            .map(|operation| violation(Some(operation)))
            .collect()
    })
}

/// An operation, or the whole annotation. The same operation in another patch is a different problem. Formatting does not
/// matter.
fn normalized(text: &str) -> String {
    let parsed: Result<serde_json::Value, _> = serde_json::from_str(text);
    parsed.map_or_else(|_| text.to_owned(), |value| value.to_string())
}

/// `resource` is the kind of the object to which HCO applies the patch. Without an operation, the patch cannot be read.
fn describe<'f>(
    resource: &str,
    field: &Field<'_>,
    operation: Option<&AnnotationOperation<'_>>,
    overridden: &[&str],
) -> Description<'f> {
    let (fact, advice) = match operation {
        None => (
            format!("The {resource} patch is not a valid JSON Patch"),
            "correct or remove the annotation",
        ),
        Some(operation) if operation.is_applicable() => (
            format!(
                "The {resource} patch overrides {}: HCO's value has no effect.",
                quote(operation.touched(overridden).unwrap_or_default())
            ),
            "remove the operation, and set the fields of HyperConverged instead",
        ),
        Some(operation) if operation.is_in_spec() => (
            format!(
                "The {resource} patch has an operation with an unknown `op`, or without the `value` or `from` that it needs"
            ),
            "correct or remove the operation",
        ),
        Some(operation) => {
            let path = match operation.path.as_deref() {
                None => "without a path".to_owned(),
                Some(path) => format!("with path {}", quote(path)),
            };
            (
                format!(
                    "The {resource} patch has an operation {path}, but paths must begin with /spec/"
                ),
                "correct or remove the operation",
            )
        }
    };
    Description {
        path: field.path(),
        fact,
        fixes: vec![Proposal::advice(advice)],
    }
}
