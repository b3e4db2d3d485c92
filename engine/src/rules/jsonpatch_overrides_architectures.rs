//! See `jsonpatch-overrides-architectures.md`.

use crate::facts::Facts;
use crate::hyperconverged::Field;
use crate::json::{self, Raw, Unreadable};
use crate::rule::{Finding, Level, Rule};
use crate::scan::Kind;
use crate::text::quote;

pub(crate) static RULE: Rule = Rule {
    id: "jsonpatch-overrides-architectures",
    level: Level::Warn,
    check,
};

/// The annotations, and where in the resource that each patches the architectures are.
const PATCHES: [(Field, &str, &[&str]); 3] = [
    (
        Field::SspPatch,
        "SSP",
        &[
            "/spec/enableMultipleArchitectures",
            "/spec/cluster",
            "/spec/commonTemplates/dataImportCronTemplates",
        ],
    ),
    (
        Field::KubevirtPatch,
        "KubeVirt",
        &[
            "/spec/workloads",
            "/spec/configuration/architectureConfiguration",
        ],
    ),
    (Field::CdiPatch, "CDI", &["/spec/workload"]),
];

/// MIRRORS: hyperconverged-cluster-operator controllers/operands/operand.go, applyAnnotationPatch: what
/// HCO decides is patched over, so nothing that we say of it holds.
fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for ((field, resource, guarded), patch) in PATCHES.into_iter().zip(&facts.hco.patches) {
        let Some(patch) = patch else {
            continue;
        };
        let path = facts.hco.path(field);
        let finding = |value: String, fact: String| Finding {
            path: path.clone(),
            template: None,
            value: Some(value),
            fact,
            fix: "remove the operation: what it patches, HCO sets by the fields of this object"
                .to_owned(),
        };
        let Some(operations) = operations(patch) else {
            findings.push(finding(
                patch.clone(),
                format!("the patch of {resource} cannot be read, so HCO refuses it"),
            ));
            continue;
        };
        let touching = operations
            .iter()
            .filter_map(|operation| Some((operation, operation.touched(guarded)?)));
        findings.extend(touching.map(|(operation, pointer)| {
            finding(
                operation.text.to_owned(),
                format!(
                    "the patch of {resource} touches {}, which HCO sets from this object and the nodes",
                    quote(pointer)
                ),
            )
        }));
    }
    findings
}

/// An operation of a JSON patch.
struct Operation<'a> {
    text: &'a str,
    op: String,
    /// `path` and `from`, as far as they are strings.
    pointers: [Option<String>; 2],
}

/// The operations of a patch; `None` if it does not parse as one.
fn operations(patch: &str) -> Option<Vec<Operation<'_>>> {
    match Raw::document(patch.as_bytes()).ok()? {
        raw if raw.kind() == Kind::Null => Some(Vec::new()),
        raw => json::each(raw, |_, operation| Operation::parse(operation)).ok(),
    }
}

impl<'a> Operation<'a> {
    fn parse(raw: Raw<'a>) -> Result<Self, Unreadable> {
        let [op, path, from] = json::members(raw, ["op", "path", "from"])?;
        let text = |raw: Option<Raw<'_>>| raw.and_then(|raw| json::string(raw).ok());
        Ok(Self {
            text: raw.text(),
            op: text(op).unwrap_or_default(),
            pointers: [text(path), text(from)],
        })
    }

    /// Where the operation touches something guarded: on it, above it or below it.
    fn touched(&self, guarded: &[&str]) -> Option<&str> {
        if self.op == "test" {
            return None;
        }
        let mut pointers = self.pointers.iter().flatten();
        pointers
            .find(|pointer| guarded.iter().any(|guarded| are_related(pointer, guarded)))
            .map(String::as_str)
    }
}

/// Whether one JSON pointer is the other, or above or below it.
fn are_related(pointer: &str, guarded: &str) -> bool {
    // What stands before the first slash is nothing to HCO's patch library. Nothing is unescaped: no
    // segment that is guarded has a `/` or a `~`.
    let mut segments = pointer.split('/').skip(1);
    guarded
        .split('/')
        .skip(1)
        .all(|guarded| segments.next().is_none_or(|segment| segment == guarded))
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
            let raw = Raw::document(operation.as_bytes()).unwrap();
            let operation = Operation::parse(raw).unwrap();
            operation.touched(&["/spec/cluster"]).map(str::to_owned)
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
    fn what_is_no_list_of_operations_does_not_parse() {
        for patch in ["", "{}", "[1]", "nonsense"] {
            assert!(operations(patch).is_none(), "{patch}");
        }
        assert!(operations("null").is_some_and(|operations| operations.is_empty()));
    }
}
