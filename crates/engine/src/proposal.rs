//! A way to resolve a violation, as its rule proposes it.

use kube_objects::edit::PatchOperation;
use operator_models::hco::template::Template;

use crate::fix::Fix;

/// A way to resolve a violation. [`Fixes`](crate::fixes::Fixes) determines the edits, and whether a person has to decide.
#[derive(Debug, Clone)]
pub(crate) enum Proposal<'a> {
    Fix(Fix),
    /// Enable the import, and correct the annotations that take effect then.
    EnableImport,
    /// The same for a rule that does not need the import. The fix is complete only if another rule needs the import.
    EnableImportIfNeeded,
    /// Place the workloads on one architecture: a fix for each architecture that can be selected.
    Place {
        summary: &'static str,
        /// The advice if no architecture can be selected.
        otherwise: &'static str,
    },
    Correct(&'a Template<'a>),
    /// List the architectures of the image in a template's annotation.
    List {
        template: &'a Template<'a>,
        summary: &'static str,
    },
    /// Add the missing architectures of the nodes to a template's annotation.
    AddMissing(&'a Template<'a>),
    Enable(&'a Template<'a>),
    Disable(&'a Template<'a>),
    /// Disable a common template that is not in the spec.
    DisableCommon(&'a str),
}

impl Proposal<'_> {
    pub(crate) fn advice(summary: impl Into<String>) -> Self {
        Self::Fix(Fix::advice(summary))
    }

    /// An action that only a person can take, with a command to paste.
    pub(crate) fn command(summary: impl Into<String>, command: impl Into<String>) -> Self {
        Self::Fix(Fix::advice(summary).with_command(Some(command.into())))
    }

    /// Edits that a person has to confirm.
    pub(crate) fn edits(summary: impl Into<String>, patch: impl Into<Vec<PatchOperation>>) -> Self {
        Self::Fix(Fix::edits(summary, patch))
    }
}
