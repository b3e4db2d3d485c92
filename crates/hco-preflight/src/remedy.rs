//! Applies fixes as edits of files.

use std::sync::Arc;

use anyhow::{Context, Result};
use engine::PatchOperation;
use manifest::{EditError, Edited, Object, TextEdit, edited};
use serde_json::Value;

use crate::files::{InFile, Source};
use crate::report::Remedy;

/// Operations as a patch.
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

/// The edits of a file for one fix; `None` if it cannot be applied alone, or the editor does not support it.
pub(crate) fn edits(written: &InFile, remedy: &Remedy) -> Option<Vec<TextEdit>> {
    let InFile { source, object } = written;
    let mut value = object.value.clone();
    patch(&mut value, remedy).ok()?;
    let value_of = |it: &Arc<Object>| Arc::ptr_eq(it, object).then_some(&value);
    Some(edit(source, value_of).ok()?.edits)
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
