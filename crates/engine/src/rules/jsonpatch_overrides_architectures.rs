use operator_models::hco::jsonpatch::{IN_SSP, operations};

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("jsonpatch-overrides-architectures", Level::Warn);

const IN_KUBEVIRT: [&str; 2] = [
    "/spec/workloads",
    "/spec/configuration/architectureConfiguration",
];
const IN_CDI: [&str; 1] = ["/spec/workload"];

/// A jsonpatch annotation that HCO rejects, or that overrides fields that HCO sets.
pub(crate) struct OverridingPatch<'f> {
    /// The kind of the resource to which HCO applies the patch.
    resource: &'static str,
    field: &'f Field<'f>,
    /// The operation as it was written, or the whole annotation.
    text: &'f str,
    problem: Problem,
}

enum Problem {
    Unreadable,
    /// HCO rejects the path of the operation.
    Inapplicable(Option<String>),
    /// The path of a field that HCO sets.
    Overrides(String),
}

/// HCO applies the patch to the values that it sets, so the other rules' findings about these values are not certain.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/operands/operand.go, applyAnnotationPatch.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
) -> impl Iterator<Item = OverridingPatch<'f>> {
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
        let violation = move |text, problem| OverridingPatch {
            resource,
            field,
            text,
            problem,
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

impl<'f> Violation<'f> for OverridingPatch<'f> {
    /// The same operation in another patch is a different problem. Formatting does not matter.
    fn value(&self) -> Cow<'_, str> {
        let parsed: Result<serde_json::Value, _> = serde_json::from_str(self.text);
        let operation = parsed.map_or_else(|_| self.text.to_owned(), |value| value.to_string());
        format!("{} {operation}", self.resource).into()
    }

    fn path(&self, _: &'f Configuration<'f>) -> FieldPath {
        self.field.path()
    }

    fn fact(&self, _: &'f Configuration<'f>) -> String {
        let resource = self.resource;
        match &self.problem {
            Problem::Unreadable => {
                format!("The {resource} patch is not a valid JSON Patch: HCO rejects it.")
            }
            Problem::Inapplicable(path) => {
                let path = match path {
                    None => "without a path".to_owned(),
                    Some(path) => format!("with path {}", quote(path)),
                };
                format!(
                    "The {resource} patch has an operation {path}, but paths must begin with /spec/: HCO rejects the patch."
                )
            }
            Problem::Overrides(path) => format!(
                "The {resource} patch overrides {}: HCO's value has no effect.",
                quote(path)
            ),
        }
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        vec![Proposal::advice(match self.problem {
            Problem::Unreadable => "correct or remove the annotation",
            Problem::Inapplicable(_) => "correct or remove the operation",
            Problem::Overrides(_) => {
                "remove the operation, and set the fields of HyperConverged instead"
            }
        })]
    }
}
