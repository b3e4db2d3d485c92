//! The changes of `fix` as commands, for objects in a cluster.

use anyhow::{Context, Result, bail};
use cluster::foreign::{self, one_line, shell_word};
use json_patch::{PatchOperation, TestOperation};
use kube_objects::name::{is_dns1123_label, is_dns1123_subdomain};

use super::Fixed;
use crate::failure::{Failure, chain};
use crate::input::apply::json_patch_of;
use crate::kubectl::Kubectl;
use crate::terminal::print_raw;

/// A command that is not printed does not fix anything.
pub(super) fn print(
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

/// Tests come first in the patch, so that the API server rejects it if the object has changed in the meantime. The UID is
/// tested because a new object starts at generation 1 again, and the replaced values because metadata has no generation.
/// The resource version changes with each status that HCO writes.
fn command(fixed: &Fixed, kubectl: &Kubectl) -> Result<String> {
    let mut patch = json_patch_of(fixed.operations())?;
    let paths = patch.0.iter().map(|operation| operation.path().to_string());
    let tests: Vec<PatchOperation> = ["/metadata/uid", "/metadata/generation"]
        .map(str::to_owned)
        .into_iter()
        .chain(paths)
        .filter_map(|path| {
            Some(PatchOperation::Test(TestOperation {
                value: fixed.judged.question.sent.pointer(&path)?.clone(),
                path: path.parse().ok()?,
            }))
        })
        .collect();
    patch.0.splice(0..0, tests);
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
    Ok(format!(
        "kubectl patch {} {name} {namespace}{}--type json -p {}\n",
        shell_word(&resource),
        kubectl.flags,
        shell_word(&foreign::json(serde_json::to_string(&patch)?))
    ))
}
