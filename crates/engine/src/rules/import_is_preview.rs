//! See `import-is-preview.md`.

use operator_models::hco::import::Import;

use super::prelude::*;
use crate::configuration::Origin;

pub(crate) static RULE: Rule =
    Rule::about_object("import-is-preview", Level::Warn).only(Condition::ImportOn).exempt_from_ratchet();

/// The request enables the import, which this version of HCO offers as a preview.
pub(crate) struct ImportIsPreview;

pub(crate) fn check(
    before: Option<&Configuration<'_>>,
    after: &Configuration<'_>,
) -> Option<ImportIsPreview> {
    let version = after.version();
    let is_preview = !version.is_known || !version.number.has_finished_import();
    let was_off = match before {
        Some(before) => before.import == Import::Disabled,
        // The audit scanner sends stored objects as new ones.
        None => after.origin == Origin::Sent,
    };
    (is_preview && was_off).then_some(ImportIsPreview)
}

impl<'f> Violation<'f> for ImportIsPreview {
    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        configuration.import_path()
    }

    fn fact(&self, configuration: &'f Configuration<'f>) -> String {
        format!(
            "The request enables the multi-architecture import, which HCO {} has as a preview: Alpha upstream, Technology Preview in OpenShift Virtualization.",
            configuration.version().number
        )
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        vec![
            Proposal::advice("leave it enabled, if your cluster may use preview features"),
            Proposal::advice(
                "leave it off until HCO 1.19, and keep the workloads on one architecture",
            ),
        ]
    }
}
