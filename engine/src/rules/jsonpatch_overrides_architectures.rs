//! See `jsonpatch-overrides-architectures.md`.

use kubernetes::json::{Field, Json, with_whole_characters};
use kubernetes::path::FieldPath;
use kubernetes::text::quote;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;

const IN_SSP: [&str; 3] = [
    "/spec/enableMultipleArchitectures",
    "/spec/cluster",
    "/spec/commonTemplates/dataImportCronTemplates",
];
const IN_KUBEVIRT: [&str; 2] = [
    "/spec/workloads",
    "/spec/configuration/architectureConfiguration",
];
const IN_CDI: [&str; 1] = ["/spec/workload"];

/// HCO applies the patch to the values that it sets, so the other rules' findings about these values are not certain.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/operands/operand.go, applyAnnotationPatch.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let sent = &facts.hco.fields.patches;
    let patches = &facts.hco.patches;
    for (field, patch, resource, fields) in [
        (&sent.ssp, &patches.ssp, "SSP", &IN_SSP[..]),
        (&sent.kubevirt, &patches.kubevirt, "KubeVirt", &IN_KUBEVIRT),
        (&sent.cdi, &patches.cdi, "CDI", &IN_CDI),
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
    let text = with_whole_characters(patch);
    let Some(operations) = operations(&text) else {
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
                        "The {resource} patch changes {}, which HCO sets from this object and the nodes.",
                        quote(touched)
                    ),
                    "remove the operation, and set the fields of HyperConverged instead",
                )
            });
        }
    }
}

/// An operation of a JSON Patch.
struct Operation<'a> {
    text: &'a str,
    op: Option<String>,
    path: Option<String>,
    from: Option<String>,
}

/// The operations of a patch; `None` if it is not a patch.
fn operations(patch: &str) -> Option<Vec<Operation<'_>>> {
    let patch = Field::root(Json::parse(patch.as_bytes()).ok()?);
    let operations = patch.list(|_, item| {
        let text = item.json().map_or("null", Json::text);
        let operation = item.object();
        // This also fails for anything that is not an object.
        operation.fields()?;
        let string = |key| operation.field(key).string().ok().flatten();
        Ok(Operation {
            text,
            op: string("op"),
            path: string("path"),
            from: string("from"),
        })
    });
    operations.ok().map(Option::unwrap_or_default)
}

impl Operation<'_> {
    /// Whether HCO accepts the path.
    fn is_applicable(&self) -> bool {
        self.path
            .as_ref()
            .is_some_and(|path| path.starts_with("/spec/"))
    }

    /// The pointer to one of these fields, to a parent, or to a child, if the operation changes anything.
    fn touched(&self, fields: &[&str]) -> Option<&str> {
        if self.op.as_deref() == Some("test") {
            return None;
        }
        let mut pointers = [&self.path, &self.from].into_iter().flatten();
        pointers
            .find(|pointer| fields.iter().any(|field| are_related(pointer, field)))
            .map(String::as_str)
    }
}

/// Whether two JSON pointers are equal, or one is a parent of the other.
fn are_related(pointer: &str, field: &str) -> bool {
    // HCO's patch library ignores everything before the first slash. No segment of the fields needs an escape.
    let mut segments = pointer.split('/').skip(1);
    field
        .split('/')
        .skip(1)
        .all(|of_field| segments.next().is_none_or(|segment| segment == of_field))
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn a_pointer_on_above_or_below_is_related() {
        for pointer in [
            "",
            "/spec",
            "/spec/cluster",
            "/spec/cluster/workloadArchitectures/0",
            "x/spec",
        ] {
            assert!(are_related(pointer, "/spec/cluster"), "{pointer}");
        }
        for pointer in [
            "/spec/clusterX",
            "/metadata",
            "/spec/",
            "/spec/commonTemplates",
        ] {
            assert!(!are_related(pointer, "/spec/cluster"), "{pointer}");
        }
    }

    #[test]
    fn a_test_changes_nothing_and_a_from_does() {
        let touched = |operation: &str| {
            let patch = format!("[{operation}]");
            let operations = operations(&patch).unwrap();
            operations[0].touched(&["/spec/cluster"]).map(str::to_owned)
        };
        assert_eq!(
            touched(r#"{"op":"test","path":"/spec/cluster","value":1}"#),
            None
        );
        assert_eq!(
            touched(r#"{"op":"move","path":"/spec/x","from":"/spec/cluster"}"#).as_deref(),
            Some("/spec/cluster")
        );
    }

    #[test]
    fn hco_applies_only_operations_below_the_spec() {
        for (operation, applies) in [
            (r#"{"op":"add","path":"/spec/x","value":1}"#, true),
            (r#"{"op":"test","path":"/metadata/name","value":1}"#, false),
            (r#"{"op":"add","path":"/spec","value":1}"#, false),
            (r#"{"op":"add","path":1}"#, false),
            (r#"{"op":"add"}"#, false),
            ("null", false),
        ] {
            let patch = format!("[{operation}]");
            let operations = operations(&patch).unwrap();
            assert_eq!(operations[0].is_applicable(), applies, "{operation}");
        }
    }

    #[test]
    fn what_is_no_list_of_operations_is_invalid() {
        for patch in ["", "{}", "[1]", "nonsense"] {
            assert!(operations(patch).is_none(), "{patch}");
        }
        assert!(operations("null").is_some_and(|operations| operations.is_empty()));
    }
}
