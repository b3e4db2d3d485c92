//! The jsonpatch annotations, which HCO applies to the resources of other operators.

use kubernetes::json::{Field, Json, with_whole_characters};

/// The fields of SSP that HCO sets from the templates and the nodes.
pub(crate) const IN_SSP: [&str; 3] = [
    "/spec/enableMultipleArchitectures",
    "/spec/cluster",
    "/spec/commonTemplates/dataImportCronTemplates",
];

/// Whether a patch changes one of these fields, or cannot be applied at all.
pub(crate) fn overrides(patch: Option<&str>, fields: &[&str]) -> bool {
    let Some(patch) = patch else { return false };
    let text = with_whole_characters(patch);
    operations(&text).is_none_or(|operations| {
        let mut operations = operations.iter();
        operations.any(|it| !it.is_applicable() || it.touched(fields).is_some())
    })
}

/// An operation of a JSON Patch.
pub(crate) struct Operation<'a> {
    pub(crate) text: &'a str,
    op: Option<String>,
    pub(crate) path: Option<String>,
    from: Option<String>,
}

/// The operations of a patch; `None` if it is not a patch.
pub(crate) fn operations(patch: &str) -> Option<Vec<Operation<'_>>> {
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
    pub(crate) fn is_applicable(&self) -> bool {
        self.path
            .as_ref()
            .is_some_and(|path| path.starts_with("/spec/"))
    }

    /// The pointer to one of these fields, to a parent, or to a child, if the operation changes anything.
    pub(crate) fn touched(&self, fields: &[&str]) -> Option<&str> {
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
