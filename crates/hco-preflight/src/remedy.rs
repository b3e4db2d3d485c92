//! Applies fixes as edits of files.

use std::sync::Arc;

use anyhow::{Context, Result};
use engine::PatchOperation;
use manifest::{EditError, Edited, Object, edited};
use serde_json::Value;

use crate::files::Source;
use crate::report::Remedy;

pub(crate) fn json_patch_of(operations: &[PatchOperation]) -> Result<json_patch::Patch> {
    serde_json::to_value(operations)
        .and_then(serde_json::from_value)
        .context("a fix from the module is not a valid JSON Patch")
}

/// Applies a fix to an object.
pub(crate) fn patch(object: &mut Value, remedy: &Remedy) -> Result<()> {
    json_patch::patch(object, &json_patch_of(&remedy.patch)?)
        .context("a fix from the module cannot be applied to the object")
}

/// Edits a file so that some of its objects have other values.
pub(crate) fn edit<'v>(
    source: &'v Source,
    value_of: impl Fn(&Arc<Object>) -> Option<&'v Value>,
) -> Result<Edited, EditError> {
    let objects = source.objects.iter();
    let objects = objects.map(|it| (&**it, value_of(it).unwrap_or(&it.value)));
    edited(&source.text, &objects.collect::<Vec<_>>())
}
