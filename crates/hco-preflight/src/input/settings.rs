//! The settings in a file.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use cluster::Notes;
use cluster::field::text;
use cluster::foreign::{self, one_line};
use manifest::{Object, objects};
use serde_json::{Value, json};

use super::policies::{covers, is_mutating};
use crate::input::module::{Module, mistakes};

/// The settings of a file, in the format of kwctl or in a policy manifest, or the defaults, unless there are mistakes in
/// them.
pub(crate) fn validated(
    path: Option<&Path>,
    module: Option<&Module>,
    notes: &mut Notes,
) -> Result<Value> {
    let Some(path) = path else {
        return Ok(json!({}));
    };
    let file = foreign::path(path);
    let documents = objects(&cluster::files::text(path)?)
        .map_err(|error| anyhow!("{file}:{}: {}", error.line, one_line(&error.what)))?;
    let policy = policy(&documents).map_err(|what| anyhow!("{file}: {what}"))?;
    let stated = match (policy, documents.as_slice()) {
        (Some(policy), _) => policy.value.pointer("/spec/settings"),
        (None, []) => None,
        (None, [only]) => Some(&only.value),
        (None, several) => bail!(
            "{file}: {} documents, but no ClusterAdmissionPolicy; keep only the settings in the file",
            several.len()
        ),
    };
    let settings = stated
        .filter(|settings| !settings.is_null())
        .cloned()
        .unwrap_or_else(|| json!({}));
    if let Some(mistakes) = mistakes(module, &settings)? {
        bail!("{file}: {mistakes}");
    }
    if let Some(note) = policy.and_then(|policy| without_effect(&policy.value)) {
        notes.push(&format!("{file}: {note}"));
    }
    Ok(settings)
}

/// Why the repairs of a policy have no effect.
pub(crate) fn without_effect(policy: &Value) -> Option<&'static str> {
    const VALIDATING: &str = "the policy has `repair`, but not `mutating: true`: policy-server rejects the requests that the policy would repair";
    const MONITORING: &str = "the policy has `repair`, but also the mode `monitor`, in which Kubewarden discards the changes";
    let repairs = policy.pointer("/spec/settings/repair")?.as_object()?;
    let is_monitoring = text(policy, "/spec/mode") == Some("monitor");
    let why = if is_mutating(policy) {
        is_monitoring.then_some(MONITORING)
    } else {
        Some(VALIDATING)
    };
    why.filter(|_| !repairs.is_empty())
}

/// The policy in a list of manifests: the only one, or the only one that validates HyperConverged objects. The component
/// `repair` adds a policy that only changes them.
fn policy(documents: &[Object]) -> Result<Option<&Object>, String> {
    let is_policy = |document: &&Object| {
        let kind = text(&document.value, "/kind");
        matches!(kind, Some("ClusterAdmissionPolicy" | "AdmissionPolicy"))
    };
    let is_ours =
        |policy: &&Object| !is_mutating(&policy.value) && covers(&policy.value, "hyperconvergeds");
    let all: Vec<&Object> = documents.iter().filter(is_policy).collect();
    let ours: Vec<&Object> = all.iter().copied().filter(is_ours).collect();
    match (all.as_slice(), ours.as_slice()) {
        ([], _) => Ok(None),
        ([policy], _) | (_, [policy]) => Ok(Some(policy)),
        (several, _) => Err(format!(
            "the file has {} policies, but exactly one of them must be for hyperconvergeds; keep only one policy in the file",
            several.len()
        )),
    }
}
