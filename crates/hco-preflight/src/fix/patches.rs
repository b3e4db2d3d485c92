//! The changes of `fix` as JSON Patches and as commands, for objects in a cluster.

use anyhow::{Context, Result, bail};
use cluster::foreign::{self, one_line, shell_word};
use json_patch::{Patch, PatchOperation, TestOperation};
use kube_objects::name::{is_dns1123_label, is_dns1123_subdomain};
use serde_json::{Value, json};

use super::Fixed;
use crate::failure::{Failure, chain};
use crate::input::apply::json_patch_of;
use crate::kubectl::Kubectl;
use crate::report::unexplained;
use crate::terminal::print_raw;

/// Prints a line of JSON with the patch or the error of each object and file.
pub(super) fn print(
    fixed: &[Fixed<'_>],
    context: Option<&str>,
    failures: &[Failure],
) -> Result<()> {
    let mut text = String::new();
    // Only the file and the line are null if they are missing.
    let mut add = |mut record: Value| {
        if let Some(fields) = record.as_object_mut() {
            fields.retain(|name, value| !value.is_null() || name == "file" || name == "line");
        }
        text.push_str(&(foreign::json(record.to_string()) + "\n"));
    };
    for Failure { place, what } in failures {
        let (file, line) = place
            .as_ref()
            .map(|place| (&place.file, place.line))
            .unzip();
        add(json!({"file": file, "line": line, "error": what}));
    }
    for object in fixed {
        let patch = patch(object)?;
        let (identity, place) = (&object.question.identity, object.question.place());
        // An empty patch would mean that the object needs no fix.
        let manual = object.manual.first().map(String::as_str);
        let error = unexplained(&object.report)
            .or(manual)
            .filter(|_| patch.0.is_empty());
        add(json!({
            "context": context,
            "file": place.as_ref().map(|place| &place.file),
            "line": place.as_ref().map(|place| place.line),
            "apiVersion": identity.api_version,
            "namespace": identity.namespace,
            "name": identity.name,
            "patch": error.is_none().then_some(&patch),
            "error": error,
        }));
    }
    print_raw(text.as_bytes())
}

/// Prints a command for each object that changes. A command that is not printed does not fix anything.
pub(super) fn print_commands(
    fixed: &mut [Fixed<'_>],
    kubectl: &Kubectl,
    failures: &mut Vec<Failure>,
) -> Result<()> {
    let mut text = String::new();
    for fixed in fixed.iter_mut().filter(|fixed| !fixed.fixes.is_empty()) {
        match command(fixed, kubectl) {
            Ok(command) => text.push_str(&command),
            Err(error) => {
                failures.push(fixed.question.failure(chain(&error)));
                fixed.reset();
            }
        }
    }
    print_raw(text.as_bytes())
}

/// The patch of a fixed object, in its file or in the cluster. In the cluster, tests come first, so that the API server
/// rejects the patch if the object has changed in the meantime. The UID is tested because the generation starts again when
/// an object is deleted and created again. The replaced values are tested because metadata has no generation. The resource
/// version changes with each status that HCO writes.
fn patch(fixed: &Fixed<'_>) -> Result<Patch> {
    let mut patch = json_patch_of(fixed.operations())?;
    if fixed.question.found.is_some() || patch.0.is_empty() {
        return Ok(patch);
    }
    let base = &fixed.question.sent;
    let mut paths = ["/metadata/uid", "/metadata/generation"]
        .map(str::to_owned)
        .to_vec();
    for operation in &patch.0 {
        let path = operation.path().to_string();
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    let tests = paths
        .iter()
        .filter_map(|path| {
            Some(PatchOperation::Test(TestOperation {
                path: path.parse().ok()?,
                value: base.pointer(path)?.clone(),
            }))
        })
        .collect::<Vec<_>>();
    patch.0.splice(0..0, tests);
    Ok(patch)
}

/// The command that makes the changes in the cluster.
fn command(fixed: &Fixed<'_>, kubectl: &Kubectl) -> Result<String> {
    let identity = &fixed.question.identity;
    let name = identity
        .name
        .as_deref()
        .context("the object has no name, so there is no command for it")?;
    let version = identity.api_version.rsplit('/').next().unwrap_or_default();
    let resource = format!("hyperconvergeds.{version}.hco.kubevirt.io");
    let resource = shell_word(&one_line(&resource));
    // kubectl would read a name such as `--server=URL` as a flag.
    if !is_dns1123_subdomain(name) {
        bail!("the name is not a valid object name, so there is no command for it");
    }
    let namespace = match identity.namespace.as_deref() {
        Some(it) if is_dns1123_label(it) => format!("-n {it} "),
        Some(_) => bail!("the namespace is not a valid object name, so there is no command for it"),
        None => String::new(),
    };
    let flags = &kubectl.flags;
    let patch = shell_word(&foreign::json(serde_json::to_string(&patch(fixed)?)?));
    Ok(format!(
        "kubectl patch {resource} {name} {namespace}{flags}--type json -p {patch}\n"
    ))
}
