use operator_models::hco::jsonpatch::{IN_SSP, operations};

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("jsonpatch-overrides-architectures", Level::Warn);

const IN_KUBEVIRT: [&str; 2] = [
    "/spec/workloads",
    "/spec/configuration/architectureConfiguration",
];
const IN_CDI: [&str; 1] = ["/spec/workload"];

/// A jsonpatch annotation that HCO rejects, or that overrides fields that HCO sets.
struct OverridingPatch {
    /// The kind of the resource to which HCO applies the patch.
    resource: &'static str,
    reason: Reason,
}

enum Reason {
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
) -> impl Iterator<Item = Violation<'f>> {
    let patches = &configuration.hco.patches;
    let fields = &configuration.hco.fields.patches;
    let (kubevirt, cdi) = (&patches.kubevirt, &patches.cdi);
    [
        ("SSP", &fields.ssp, &patches.ssp, &IN_SSP[..]),
        ("KubeVirt", &fields.kubevirt, kubevirt, &IN_KUBEVIRT),
        ("CDI", &fields.cdi, cdi, &IN_CDI),
    ]
    .into_iter()
    .filter_map(|(resource, field, patch, overridden)| {
        Some((resource, field, patch.as_deref()?, overridden))
    })
    .flat_map(|(resource, field, patch, overridden)| {
        let violation = |text: &str, reason| {
            // The same operation in another patch is a different problem. Formatting does not matter.
            let parsed: Result<serde_json::Value, _> = serde_json::from_str(text);
            let operation = parsed.map_or_else(|_| text.to_owned(), |value| value.to_string());
            Violation::new(field.path(), OverridingPatch { resource, reason })
                .with_value(format!("{resource} {operation}"))
        };
        let Some(operations) = operations(patch) else {
            return vec![violation(patch, Reason::Unreadable)];
        };
        let violations = operations.into_iter().filter_map(|operation| {
            let reason = if operation.is_applicable() {
                Reason::Overrides(operation.touched(overridden)?.to_owned())
            } else {
                Reason::Inapplicable(operation.path.as_deref().map(str::to_owned))
            };
            Some(violation(operation.text, reason))
        });
        violations.collect()
    })
}

impl<'f> Problem<'f> for OverridingPatch {
    fn fact(&self, _: &'f Configuration<'f>) -> String {
        let resource = self.resource;
        match &self.reason {
            Reason::Unreadable => {
                format!("The {resource} patch is not a valid JSON Patch: HCO rejects it.")
            }
            Reason::Inapplicable(path) => {
                let path = match path {
                    None => "without a path".to_owned(),
                    Some(path) => format!("with path {}", quote(path)),
                };
                format!(
                    "The {resource} patch has an operation {path}, but paths must begin with /spec/: HCO rejects the patch."
                )
            }
            Reason::Overrides(path) => format!(
                "The {resource} patch overrides {}: HCO's value has no effect.",
                quote(path)
            ),
        }
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        vec![Proposal::advice(match self.reason {
            Reason::Unreadable => "correct or remove the annotation",
            Reason::Inapplicable(_) => "correct or remove the operation",
            Reason::Overrides(_) => {
                "remove the operation, and set the fields of HyperConverged instead"
            }
        })]
    }
}
