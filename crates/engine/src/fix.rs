//! What a rule proposes to resolve a finding. The remedies work it out: the edits, and whether a person has to decide.

use kube_objects::edit::Edit;
use operator_models::hco::template::Template;

/// A way to resolve a finding, as the rule proposes it.
#[derive(Debug, Clone)]
pub(crate) enum Fix<'a> {
    /// Something that only a person can do.
    Advice(String),
    /// The same, with a command to paste.
    Command { advice: String, command: String },
    /// Edits that the rule knows.
    Edits {
        summary: String,
        edits: Vec<Edit>,
        /// Whether they need nobody's decision.
        complete: bool,
    },
    /// Enable the import, and correct the annotations that HCO then reads.
    EnableImport,
    /// The same for a rule that does not need the import: complete only if another rule needs it.
    EnableImportIfNeeded,
    /// Place the workloads on one architecture: a remedy for each architecture that can be selected.
    Place {
        summary: &'static str,
        /// What to do if none can be selected.
        otherwise: Option<&'static str>,
    },
    /// Correct the entries of a template's annotation.
    Correct(&'a Template<'a>),
    /// List the architectures of the image in a template's annotation.
    List {
        template: &'a Template<'a>,
        summary: &'static str,
    },
    /// Add the missing architectures of the nodes to a template's annotation.
    AddMissing(&'a Template<'a>),
    /// Remove a template's architectures annotation.
    RemoveAnnotation {
        template: &'a Template<'a>,
        complete: bool,
    },
    /// Enable a template of the spec.
    Enable(&'a Template<'a>),
    /// Disable a template of the spec.
    Disable(&'a Template<'a>),
    /// Disable a common template that is not in the spec.
    DisableCommon(&'a str),
}

impl Fix<'_> {
    /// Something that only a person can do.
    pub(crate) fn advice(text: impl Into<String>) -> Self {
        Self::Advice(text.into())
    }

    /// Edits that a person has to confirm.
    pub(crate) fn edits(summary: impl Into<String>, edits: Vec<Edit>) -> Self {
        Self::Edits {
            summary: summary.into(),
            edits,
            complete: false,
        }
    }
}
