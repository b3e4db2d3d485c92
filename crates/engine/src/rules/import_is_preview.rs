use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("import-is-preview", Level::Warn)
    .only(Condition::ImportOn)
    .exempt_from_ratchet();

/// The same sentence as in the pages.
const PREVIEW: &str = "Before HCO 1.19, the import is a preview: Alpha upstream, and in OpenShift Virtualization 4.20 to 4.22 a Technology Preview, which Red Hat does not support in production.";

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
        let version = configuration.version();
        if version.is_known {
            PREVIEW.to_owned()
        } else {
            format!("The version of HCO is unknown. {PREVIEW}")
        }
    }

    fn fixes(&self, configuration: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        let mut fixes = vec![
            Proposal::advice("leave it enabled, if your cluster may use preview features"),
            Proposal::advice(
                "leave it off until HCO 1.19, and keep the workloads on one architecture",
            ),
        ];
        if !configuration.version().is_known {
            let state_version = "state the version of HCO with the setting hcoVersion, for example hcoVersion: \"1.19\"";
            fixes.insert(0, Proposal::advice(state_version));
        }
        fixes
    }
}
