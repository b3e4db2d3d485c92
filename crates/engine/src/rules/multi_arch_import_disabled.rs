use operator_models::ssp::architecture::knows_all;

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("multi-arch-import-disabled", Level::Deny)
    .about_golden_images()
    .only(Condition::ImportOff)
    .repaired_by(RepairKind::Import)
    .alerted_by("HCOMultiArchGoldenImagesDisabled");

/// The import is off, although the workload nodes have several architectures.
pub(crate) struct ImportDisabled<'f>(&'f Census);

/// MIRRORS: hyperconverged-cluster-operator `pkg/monitoring/hyperconverged/collectors/operator_collectors.go`,
/// getMultiArchBootImagesStatusCallback, for the alert `HCOMultiArchGoldenImagesDisabled`: several workload
/// architectures and at least one golden image.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> Option<ImportDisabled<'f>> {
    let is_violation = census.workload.len() > 1 && !configuration.golden_images.is_empty();
    is_violation.then_some(ImportDisabled(census))
}

impl<'f> Violation<'f> for ImportDisabled<'f> {
    fn architectures(&self) -> BTreeSet<&str> {
        self.0.workload.keys().map(String::as_str).collect()
    }

    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        if configuration.version().number.has_import() {
            configuration.import_path()
        } else {
            configuration.placement_path()
        }
    }

    fn fact(&self, _: &'f Configuration<'f>) -> String {
        format!(
            "The import is off, but the workload nodes have {} architectures ({}): each golden image is for one of them, and a VM from it on the other architecture does not start.",
            self.0.workload.len(),
            names(self.0.workload.keys())
        )
    }

    fn fixes(&self, configuration: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        let place = Proposal::Place {
            summary: "keep the workloads on one architecture, if no VM runs on the other nodes",
            otherwise: Some(
                "keep the workloads on one architecture: correct the workloads' node placement",
            ),
        };
        // The SSP operator rejects architectures that it does not know, and HCO before 1.16 has no import.
        if knows_all(self.0) && configuration.version().number.has_import() {
            vec![Proposal::EnableImport, place]
        } else {
            vec![place]
        }
    }
}
