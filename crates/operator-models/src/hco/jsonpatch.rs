//! The jsonpatch annotations, which HCO applies to the resources of other operators.

use std::borrow::Cow;

use kube_objects::json::{Json, Kind};
use kube_objects::text::folds_to;

/// The fields of SSP that HCO sets from the templates and the nodes.
pub const IN_SSP: [&str; 3] = [SSP_IMPORT, "/spec/cluster", SSP_TEMPLATES];

/// The field of SSP with the templates.
pub const SSP_TEMPLATES: &str = "/spec/commonTemplates/dataImportCronTemplates";
/// The field of SSP with the multi-architecture import.
const SSP_IMPORT: &str = "/spec/enableMultipleArchitectures";

/// The multi-architecture import that a patch of SSP sets, if it sets a literal value.
pub fn patched_import(patch: Option<&str>) -> Option<bool> {
    let operations = operations(patch?)?;
    let last = operations
        .iter()
        .rfind(|operation| operation.touched(&[SSP_IMPORT]).is_some())?;
    let is_set = matches!(last.op.as_deref(), Some("add" | "replace"));
    let is_whole = |path: &str| path.split('/').count() == SSP_IMPORT.split('/').count();
    last.value
        .filter(|_| is_set && last.path.as_deref().is_some_and(is_whole))
}

/// Whether a patch changes one of these fields, or cannot be applied at all.
pub fn overrides(patch: Option<&str>, fields: &[&str]) -> bool {
    let Some(patch) = patch else { return false };
    operations(patch).is_none_or(|operations| {
        let mut operations = operations.iter();
        operations.any(|it| !it.is_applicable() || it.touched(fields).is_some())
    })
}

/// An operation of a JSON Patch.
pub struct AnnotationOperation<'a> {
    /// The operation as it was written.
    pub text: &'a str,
    op: Option<Cow<'a, str>>,
    /// The field that it changes.
    pub path: Option<Cow<'a, str>>,
    from: Option<Cow<'a, str>>,
    /// The value that it sets, if that is a boolean.
    value: Option<bool>,
}

/// The operations of a patch; `None` if it is not a patch.
pub fn operations(patch: &str) -> Option<Vec<AnnotationOperation<'_>>> {
    let patch = Json::parse(patch.as_bytes()).ok()?;
    if patch.kind() == Kind::Null {
        return Some(Vec::new());
    }
    let items = patch.items()?;
    let mut operations = Vec::with_capacity(items.len());
    for item in items {
        let members = match item.kind() {
            Kind::Null => Vec::new(),
            _ => item.members()?,
        };
        let string = |key| {
            let mut members = members.iter().rev();
            members.find(|(name, _)| name == key)?.1.string()
        };
        let boolean = |key| {
            let mut members = members.iter().rev();
            match members.find(|(name, _)| name == key)?.1.text() {
                "true" => Some(true),
                "false" => Some(false),
                _ => None,
            }
        };
        operations.push(AnnotationOperation {
            text: item.text(),
            op: string("op"),
            path: string("path"),
            from: string("from"),
            value: boolean("value"),
        });
    }
    Some(operations)
}

impl AnnotationOperation<'_> {
    /// Whether HCO accepts the path.
    pub fn is_applicable(&self) -> bool {
        self.path
            .as_ref()
            .is_some_and(|path| path.starts_with("/spec/"))
    }

    /// The pointer to one of these fields, to a parent, or to a child, if the operation changes anything.
    pub fn touched(&self, fields: &[&str]) -> Option<&str> {
        if self.op.as_deref() == Some("test") {
            return None;
        }
        let mut pointers = [&self.path, &self.from].into_iter().flatten();
        pointers
            .find(|pointer| fields.iter().any(|field| are_related(pointer, field)))
            .map(|pointer| &**pointer)
    }
}

/// Whether two JSON pointers are equal, or one is a parent of the other. HCO unmarshals the patched resource, so Go
/// decides which segments are equal.
fn are_related(pointer: &str, field: &str) -> bool {
    // HCO's patch library ignores everything before the first slash. No segment of the fields needs an escape.
    let mut segments = pointer.split('/').skip(1);
    field.split('/').skip(1).all(|of_field| {
        segments
            .next()
            .is_none_or(|segment| folds_to(segment, of_field))
    })
}
