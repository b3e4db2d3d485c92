use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("multi-arch-import-disabled", Level::Deny)
    .about_golden_images()
    .only(Condition::ImportOff)
    .repaired_by(Repair::EnableImport)
    .alerted_by("HCOMultiArchGoldenImagesDisabled");

/// The import is off, although the workload nodes have several architectures.
///
/// MIRRORS: hyperconverged-cluster-operator `pkg/monitoring/hyperconverged/collectors/operator_collectors.go`,
/// getMultiArchBootImagesStatusCallback, for the alert `HCOMultiArchGoldenImagesDisabled`: several workload
/// architectures and at least one golden image.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> Option<Violation<'f>> {
    let workload = &census.workload;
    let is_violation = workload.len() > 1 && !configuration.golden_images.is_empty();
    let describe = move || {
        let place = Proposal::Place {
            summary: "keep the workloads on one architecture, if no VM runs on the other nodes",
            otherwise: "keep the workloads on one architecture: correct the workloads' node placement",
        };
        let other = if workload.len() == 2 {
            "the other architecture"
        } else {
            "another one"
        };
        Description {
            path: configuration.import_or_placement_path(),
            fact: format!(
                "The import is off, but the workload nodes have {} architectures ({}): each golden image is for one of them, and a VM from it on {other} does not start.",
                workload.len(),
                names(workload.keys())
            ),
            fixes: vec![Proposal::EnableImport, place],
        }
    };
    is_violation.then(|| Violation {
        parts: workload.keys().map(String::as_str).collect(),
        ..Violation::new(describe)
    })
}
