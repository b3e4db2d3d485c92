use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("import-is-preview", Level::Warn)
    .only(Condition::ImportOn)
    .exempt_from_ratchet();

/// The same sentence as in the pages.
const PREVIEW: &str = "Before HCO 1.19, the import is a preview: Alpha upstream, and in OpenShift Virtualization 4.20 to 4.22 a Technology Preview, which Red Hat does not support in production.";

/// The request enables the import, which this version of HCO offers as a preview.
pub(crate) fn check<'f>(
    before: Option<&'f Configuration<'f>>,
    after: &'f Configuration<'f>,
) -> Option<Violation<'f>> {
    let is_preview = !after.is_version_known() || !after.version().has_finished_import();
    let was_off = match before {
        Some(before) => before.import == Import::Disabled,
        // The audit scanner sends stored objects as new ones.
        None => after.origin == Origin::Sent,
    };
    let describe = || {
        let mut fact = PREVIEW.to_owned();
        let mut fixes = vec![
            Proposal::advice("leave it enabled, if your cluster may use preview features"),
            Proposal::advice(
                "leave it off until HCO 1.19, and keep the workloads on one architecture",
            ),
        ];
        if !after.is_version_known() {
            fact = format!("The version of HCO is unknown. {PREVIEW}");
            let state_version = "state the version of HCO with the setting hcoVersion, for example hcoVersion: \"1.19\"";
            fixes.insert(0, Proposal::advice(state_version));
        }
        Description {
            path: after.import_path(),
            fact,
            fixes,
        }
    };
    (is_preview && was_off).then(|| Violation::new(describe))
}
