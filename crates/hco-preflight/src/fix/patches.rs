//! The changes of `fix` as JSON Patches and as commands, for objects in a cluster.

use anyhow::{Context, Result, bail};
use cluster::foreign::{self, one_line, shell_word};
use json_patch::{Patch, PatchOperation, TestOperation};
use kube_objects::name::{is_dns1123_label, is_dns1123_subdomain};
use serde_json::{Value, json};

use super::Fixed;
use crate::failure::{Failure, Place, chain};
use crate::input::apply::json_patch_of;
use crate::kubectl::Kubectl;
use crate::report::unexplained;
use crate::terminal::print_raw;

/// Prints a line of JSON with the patch or the error of each object and file.
pub(super) fn print(fixed: &[Fixed], context: Option<&str>, failures: &[Failure]) -> Result<()> {
    let mut text = String::new();
    let mut add = |place: Option<&Place>, mut record: Value| {
        if let Some(fields) = record.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
            fields.insert("file".to_owned(), json!(place.map(|place| &place.file)));
            fields.insert("line".to_owned(), json!(place.and_then(|place| place.line)));
        }
        text.push_str(&(foreign::json(record.to_string()) + "\n"));
    };
    for Failure { place, what } in failures {
        add(place.as_ref(), json!({"error": what}));
    }
    for object in fixed {
        let patch = patch(object)?;
        let identity = &object.judged.question.identity;
        // An empty patch would mean that the object needs no fix.
        let manual = object.manual.first().map(|failure| &*failure.what);
        let error = unexplained(&object.judged.report).or(manual);
        let error = error.filter(|_| patch.0.is_empty());
        let record = json!({
            "context": context,
            "apiVersion": identity.api_version,
            "namespace": identity.namespace,
            "name": identity.name,
            "patch": error.is_none().then_some(&patch),
            "error": error,
        });
        add(object.judged.question.place().as_ref(), record);
    }
    print_raw(text.as_bytes())
}

/// Prints a command for each object that changes. A command that is not printed does not fix anything.
pub(super) fn print_commands(
    fixed: &mut [Fixed],
    kubectl: &Kubectl,
    failures: &mut Vec<Failure>,
) -> Result<()> {
    let mut text = String::new();
    for fixed in fixed.iter_mut().filter(|fixed| !fixed.fixes.is_empty()) {
        match command(fixed, kubectl) {
            Ok(command) => text.push_str(&command),
            Err(error) => {
                failures.push(fixed.judged.question.failure(chain(&error)));
                fixed.fixes.clear();
            }
        }
    }
    print_raw(text.as_bytes())
}

/// The patch of a fixed object, in its file or in the cluster. In the cluster, tests come first, so that the API server
/// rejects the patch if the object has changed in the meantime. The UID is tested because the generation starts again when
/// an object is deleted and created again. The replaced values are tested because metadata has no generation. The resource
/// version changes with each status that HCO writes.
fn patch(fixed: &Fixed) -> Result<Patch> {
    let mut patch = json_patch_of(fixed.operations())?;
    let question = &fixed.judged.question;
    if question.found.is_some() || patch.0.is_empty() {
        return Ok(patch);
    }
    let tests: Vec<PatchOperation> = ["/metadata/uid", "/metadata/generation"]
        .map(str::to_owned)
        .into_iter()
        .chain(patch.0.iter().map(|operation| operation.path().to_string()))
        .filter_map(|path| {
            Some(PatchOperation::Test(TestOperation {
                value: question.sent.pointer(&path)?.clone(),
                path: path.parse().ok()?,
            }))
        })
        .collect();
    patch.0.splice(0..0, tests);
    Ok(patch)
}

/// The command that makes the changes in the cluster.
fn command(fixed: &Fixed, kubectl: &Kubectl) -> Result<String> {
    let identity = &fixed.judged.question.identity;
    let version = identity.api_version.rsplit('/').next().unwrap_or_default();
    let resource = one_line(&format!("hyperconvergeds.{version}.hco.kubevirt.io"));
    // kubectl would read a name such as `--server=URL` as a flag.
    let name = identity
        .name
        .as_deref()
        .filter(|name| is_dns1123_subdomain(name))
        .context("the name is not a valid object name, so there is no command for it")?;
    let namespace = match identity.namespace.as_deref() {
        Some(name) if is_dns1123_label(name) => format!("-n {name} "),
        Some(_) => bail!("the namespace is not a valid object name, so there is no command for it"),
        None => String::new(),
    };
    let flags = &kubectl.flags;
    let patch = shell_word(&foreign::json(serde_json::to_string(&patch(fixed)?)?));
    Ok(format!(
        "kubectl patch {} {name} {namespace}{flags}--type json -p {patch}\n",
        shell_word(&resource)
    ))
}
