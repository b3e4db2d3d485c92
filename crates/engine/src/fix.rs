//! A way to resolve a finding, as data. The text of `fix:`, the command, and the JSON Patch follow from the same edits.

mod text;

use kube_objects::edit::PatchOperation;
use kube_objects::name::{is_dns1123_label, is_dns1123_subdomain};
use kube_objects::path::{FieldPath, Segment};
use operator_models::hco::hyperconverged::HyperConverged;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::rule::Repair;

/// One way to resolve a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// An imperative on one line, without a period.
    pub summary: String,
    /// Whether the patch resolves the finding without a human decision.
    pub complete: bool,
    /// A JSON Patch of the object in the version that was sent. Each patch can be applied alone.
    pub patch: Vec<PatchOperation>,
    pub command: Option<String>,
    /// The repair in the settings that makes these edits.
    #[serde(skip)]
    pub(crate) repair: Option<Repair>,
}

impl Fix {
    pub(crate) fn advice(summary: impl Into<String>) -> Self {
        Self::edits(summary, [])
    }

    /// Edits that a person has to confirm.
    pub(crate) fn edits(summary: impl Into<String>, patch: impl Into<Vec<PatchOperation>>) -> Self {
        Self {
            summary: summary.into(),
            complete: false,
            patch: patch.into(),
            command: None,
            repair: None,
        }
    }

    pub(crate) fn complete_if(self, complete: bool) -> Self {
        Self { complete, ..self }
    }

    pub(crate) fn with_command(self, command: Option<String>) -> Self {
        Self { command, ..self }
    }

    pub(crate) fn with_repair(self, repair: Repair) -> Self {
        Self {
            repair: Some(repair),
            ..self
        }
    }
}

/// The `kubectl` command that merges a patch into the live object.
///
/// It names the version: from HCO 1.18 on, the preferred version is v1, which does not have the v1beta1 fields.
pub(crate) fn merge_command(
    hco: &HyperConverged<'_>,
    path: &FieldPath,
    value: impl Into<Value>,
) -> String {
    let keys = path
        .segments()
        .into_iter()
        .filter_map(|segment| match segment {
            Segment::Key(key) => Some(key.as_ref()),
            Segment::Index(_) => None,
        });
    let keys: Vec<&str> = keys.collect();
    let patch = keys
        .iter()
        .rfold(value.into(), |patch, key| json!({ (*key): patch }));
    let name = Some(hco.name.as_str()).filter(|name| is_dns1123_subdomain(name));
    let namespace = Some(hco.namespace.as_str()).filter(|name| is_dns1123_label(name));
    let (name, namespace) = (name.unwrap_or("NAME"), namespace.unwrap_or("NAMESPACE"));
    let version = hco.fields.version.into_str();
    format!(
        "kubectl patch hyperconvergeds.{version}.hco.kubevirt.io {name} -n {namespace} --type merge -p {}",
        shell_word(&patch.to_string())
    )
}

/// A text as one word of a shell command. Texts from nodes and objects can contain anything.
pub(crate) fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
