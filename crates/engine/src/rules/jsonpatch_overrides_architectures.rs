use operator_models::hco::jsonpatch::{IN_SSP, operations};

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("jsonpatch-overrides-architectures", Level::Warn);

const IN_KUBEVIRT: [&str; 2] = [
    "/spec/workloads",
    "/spec/configuration/architectureConfiguration",
];
const IN_CDI: [&str; 1] = ["/spec/workload"];

enum Problem {
    Unreadable,
    /// HCO rejects the path of the operation.
    Inapplicable(Option<String>),
    /// The path of a field that HCO sets.
    Overrides(String),
}

/// HCO rejects a jsonpatch annotation, or it overrides fields that HCO sets. HCO applies the patch to the values that it
/// sets, so the other rules' findings about these values are not certain.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/operands/operand.go, applyAnnotationPatch.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
) -> impl Iterator<Item = Violation<'f>> {
    let (patches, fields) = (
        &configuration.hco.patches,
        &configuration.hco.fields.patches,
    );
    [
        ("SSP", &fields.ssp, &patches.ssp, &IN_SSP[..]),
        (
            "KubeVirt",
            &fields.kubevirt,
            &patches.kubevirt,
            &IN_KUBEVIRT,
        ),
        ("CDI", &fields.cdi, &patches.cdi, &IN_CDI),
    ]
    .into_iter()
    .filter_map(|(resource, field, patch, overridden)| {
        Some((resource, field, patch.as_deref()?, overridden))
    })
    .flat_map(|(resource, field, patch, overridden)| {
        let violation = move |text: &str, problem| Violation {
            value: format!("{resource} {}", normalized(text)).into(),
            ..Violation::new(move || describe(resource, field, &problem))
        };
        let Some(operations) = operations(patch) else {
            return vec![violation(patch, Problem::Unreadable)];
        };
        let problems = operations.into_iter().filter_map(|operation| {
            let problem = if operation.is_applicable() {
                Problem::Overrides(operation.touched(overridden)?.to_owned())
            } else {
                Problem::Inapplicable(operation.path.as_deref().map(str::to_owned))
            };
            Some(violation(operation.text, problem))
        });
        problems.collect()
    })
}

/// An operation, or the whole annotation. The same operation in another patch is a different problem. Formatting does not
/// matter.
fn normalized(text: &str) -> String {
    let parsed: Result<serde_json::Value, _> = serde_json::from_str(text);
    parsed.map_or_else(|_| text.to_owned(), |value| value.to_string())
}

/// `resource` is the kind of the object to which HCO applies the patch.
fn describe<'f>(resource: &str, field: &Field<'_>, problem: &Problem) -> Description<'f> {
    let (fact, advice) = match problem {
        Problem::Unreadable => (
            format!("The {resource} patch is not a valid JSON Patch: HCO rejects it."),
            "correct or remove the annotation",
        ),
        Problem::Inapplicable(path) => {
            let path = match path {
                None => "without a path".to_owned(),
                Some(path) => format!("with path {}", quote(path)),
            };
            (
                format!(
                    "The {resource} patch has an operation {path}, but paths must begin with /spec/: HCO rejects the patch."
                ),
                "correct or remove the operation",
            )
        }
        Problem::Overrides(path) => (
            format!(
                "The {resource} patch overrides {}: HCO's value has no effect.",
                quote(path)
            ),
            "remove the operation, and set the fields of HyperConverged instead",
        ),
    };
    Description {
        path: field.path(),
        fact,
        fixes: vec![Proposal::advice(advice)],
    }
}
