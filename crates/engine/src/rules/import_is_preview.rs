//! See `import-is-preview.md`.

use operator_models::hco::import::Import;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_object("import-is-preview", Level::Warn).exempt_from_ratchet();

/// The request enables the import, which this version of HCO offers as a preview.
pub(crate) struct ImportIsPreview;

pub(crate) fn check<'f>(facts: &'f Facts<'f>) -> Option<ImportIsPreview> {
    let version = &facts.version;
    let is_preview = version.is_known && !version.hco.has_finished_import();
    let was_off = match facts.before {
        Some(before) => before.import == Import::Disabled,
        // The audit scanner sends stored objects as new ones.
        None => !facts.hco.is_stored && !facts.is_before,
    };
    (is_preview && was_off && facts.import == Import::Enabled).then_some(ImportIsPreview)
}

impl<'f> Violation<'f> for ImportIsPreview {
    fn path(&self, facts: &'f Facts<'f>) -> FieldPath {
        facts.import_path()
    }

    fn fact(&self, facts: &'f Facts<'f>) -> String {
        format!(
            "The request enables the multi-architecture import, which HCO {} has as a preview: Alpha upstream, Technology Preview in OpenShift Virtualization.",
            facts.version.hco
        )
    }

    fn fixes(&self, _: &'f Facts<'f>) -> Vec<Proposal<'f>> {
        vec![
            Proposal::advice("leave it enabled, if your cluster may use preview features"),
            Proposal::advice(
                "leave it off until HCO 1.19, and keep the workloads on one architecture",
            ),
        ]
    }
}
