//! Enable the import.

use kube_objects::edit::{PatchOperation, extend, set};
use kube_objects::json::Kind;
use kube_objects::text;
use operator_models::hco::api_version::ApiVersion;
use operator_models::hco::golden_image::{Annotation, GoldenImage};
use operator_models::hco::import::{GATE, Gate};
use operator_models::hco::template::{ARCHITECTURES, Template};
use serde_json::json;

use super::Fixes;
use super::annotation::ImageAgreement;
use super::consequences::Consequences;
use crate::architecture::corrected;
use crate::configuration::Configuration;
use crate::fix::{Fix, merge_command};
use crate::rule::Repair;
use crate::rules::architectures_missing;
use crate::words::boot_sources;

impl<'a> Fixes<'_, 'a> {
    /// The edits that enable the import, and that correct the annotations that HCO then reads.
    pub(super) fn import_edits(
        &self,
        corrections: Option<&[(&'a Template<'a>, Option<String>)]>,
    ) -> Vec<PatchOperation> {
        let configuration = self.configuration();
        let mut patch = set_import(configuration);
        for (template, value) in corrections.into_iter().flatten() {
            let path = configuration.architectures_path(template);
            let corrected = match value {
                Some(value) => self.set_annotation(template, ARCHITECTURES, value.clone()),
                None => vec![PatchOperation::remove(&path)],
            };
            extend(&mut patch, corrected);
        }
        patch
    }

    /// Enable the import with these edits, which have these consequences; `None` if they are not known.
    pub(super) fn enable_import(
        &self,
        corrections: Option<&[(&'a Template<'a>, Option<String>)]>,
        patch: Vec<PatchOperation>,
        consequences: Option<Consequences>,
    ) -> Fix {
        const ADVICE: &str = "enable the multi-architecture import";
        let Some(Consequences { revealed, lost, .. }) = consequences else {
            return Fix::advice(ADVICE);
        };
        let configuration = self.configuration();
        let hco = configuration.hco;
        if !lost.is_empty() && revealed.is_empty() {
            return Fix::advice(format!(
                "before you enable the multi-architecture import, which would leave {} without a disk, move what uses these boot sources to others",
                boot_sources(&lost)
            ));
        }
        let is_flag_alone = corrections.is_some_and(<[_]>::is_empty) && revealed.is_empty();
        let mut summary = ADVICE.to_owned();
        let (version, is_known) = (configuration.version(), configuration.is_version_known());
        let is_preview = !is_known || !version.has_finished_import();
        let is_field_alone = match hco.fields.version {
            ApiVersion::V1beta1 => true,
            ApiVersion::V1 if is_known => version.has_import_field(),
            ApiVersion::V1 => hco.import.field.is_some(),
        };
        if !is_field_alone && !is_known {
            summary += " (HCO 1.19 and later read the field; before, it is a preview, and HCO reads the feature gate)";
        } else if is_preview {
            summary += " (a preview before HCO 1.19)";
        }
        if revealed.contains(architectures_missing::RULE.id) {
            summary += ", and in the same change add the architectures annotation to ";
            summary += &self.without_annotation();
        } else if !revealed.is_empty() {
            let rules: Vec<&str> = revealed.iter().copied().collect();
            let rules = text::list(&rules, rules.len());
            summary += ", and in the same change fix the problems that this reveals (";
            summary += &rules;
            summary += ")";
        }
        let command = (is_flag_alone && is_field_alone)
            .then(|| merge_command(hco, &hco.fields.import.path(), true));
        let mut corrected = corrections.into_iter().flatten();
        let is_skipped = self.change.images.are_skipped
            || corrected.any(|(template, _)| self.is_image_skipped(template));
        // Whether to use a preview feature is the user's decision.
        let fix = Fix::edits(summary, patch)
            .complete_if(!is_preview && corrections.is_some() && revealed.is_empty() && !is_skipped)
            .with_command(command);
        if lost.is_empty() {
            fix.with_repair(Repair::EnableImport)
        } else {
            fix
        }
    }

    fn without_annotation(&self) -> String {
        const SHOWN: usize = 3;
        let without = self
            .configuration()
            .golden_images
            .iter()
            .filter(|image| image.annotation.is_of_spec())
            .filter(|image| image.annotation.stated().is_none_or(str::is_empty));
        let names = without.filter_map(|image| Some(text::quote(&image.template?.name)));
        text::list(&names.collect::<Vec<_>>(), SHOWN)
    }

    /// The annotations that HCO reads, may read, or ignores with the import on: corrected if the intended value is clear,
    /// and removed if HCO ignores them. `None` if there are more than fit into a message: then a person has to check them.
    pub(super) fn corrections(&self) -> Option<Vec<(&'a Template<'a>, Option<String>)>> {
        const MOST: usize = 32;
        let workload = self.workload();
        let correction = |image: &GoldenImage<'a>| {
            let template = image.template?;
            let value = template.architectures.as_deref();
            match image.annotation {
                Annotation::Spec(_) | Annotation::Unknown(_) => {
                    let stated = template.stated_architectures();
                    let (corrected, is_certain) = corrected(stated, workload);
                    let is_clear = is_certain && !corrected.is_empty();
                    let wanted = match self.fit(template, &corrected) {
                        Some(
                            ImageAgreement::Wrong(by_image) | ImageAgreement::Partial(by_image),
                        ) => by_image,
                        Some(ImageAgreement::Right) | None if is_clear => corrected,
                        Some(ImageAgreement::Right | ImageAgreement::Unusable) | None => {
                            return None;
                        }
                    };
                    (value != Some(&wanted)).then_some((template, Some(wanted)))
                }
                Annotation::Shipped(shipped) => {
                    (value.is_some() && shipped != value).then_some((template, None))
                }
                Annotation::ShippedUnknown => None,
            }
        };
        let corrections: Vec<_> = self
            .configuration()
            .golden_images
            .iter()
            .filter_map(correction)
            .take(MOST + 1)
            .collect();
        (corrections.len() <= MOST).then_some(corrections)
    }
}

/// Sets the field for the import, or in v1 the feature gate, whichever the version of HCO reads. If the version is
/// unknown, both: HCO 1.18 drops the field silently, HCO 1.19 accepts both if they agree.
pub(crate) fn set_import(configuration: &Configuration<'_>) -> Vec<PatchOperation> {
    let (hco, version) = (configuration.hco, configuration.version());
    let gate = |name: &str| json!({"name": name, "state": "Enabled"});
    let list = &hco.fields.gates;
    let reads_field = hco.fields.version == ApiVersion::V1beta1 || version.has_import_field();
    let mut patch = if reads_field {
        set(&hco.fields.import, true)
    } else {
        Vec::new()
    };
    let is_gate = |gate: &Gate| gate.is_known(version);
    let is_listed = hco.import.gates.iter().any(is_gate);
    let needs_gate =
        !reads_field || (!configuration.is_version_known() && hco.import.field.is_none());
    // HCO reads the first entry; after HCO has dropped it, the second entry takes effect. Only these two entries are
    // edited, because a hundred findings can propose the edits.
    let gates = hco.import.gates.iter().enumerate();
    for (index, entry) in gates.filter(|(_, entry)| is_gate(entry)).take(2) {
        if !entry.enabled {
            let path = list.path().index(index);
            patch.push(PatchOperation::replace(&path, gate(&entry.name)));
        }
    }
    // Before 1.19, HCO ignores a gate in another letter case. This edit replaces it with the correct gate, because
    // `import-gate-misspelled` also corrects its name.
    let misspelled = hco.import.gates.iter().position(|gate| gate.is_import);
    if let Some(index) = misspelled.filter(|_| needs_gate && !is_listed) {
        let path = list.path().index(index);
        patch.push(PatchOperation::replace(&path, gate(GATE)));
        return patch;
    }
    if hco.fields.version == ApiVersion::V1 && needs_gate && !is_listed {
        // The empty object that an upgrade from HCO 1.18 leaves is not a list.
        if list.json().is_none_or(|json| json.kind() == Kind::Object) {
            extend(&mut patch, set(list, json!([])));
        }
        let path = list.path().index(hco.import.gates.len());
        patch.push(PatchOperation::add(&path, gate(GATE)));
    }
    patch
}
