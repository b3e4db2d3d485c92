use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_object("virtual-machines-rejected", Level::Deny).only(Condition::VmsRestricted);

pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> Option<Violation<'f>> {
    let accepted = configuration.accepted_by_kubevirt(census)?;
    let rejected: BTreeSet<&str> = census
        .workload
        .keys()
        .filter(|name| !accepted.contains(*name))
        .map(String::as_str)
        .collect();
    let version = configuration.version();
    (!rejected.is_empty()).then(|| Violation {
        parts: rejected.clone(),
        ..Violation::new(move || {
            let place = Proposal::Place {
                summary: "keep the workloads on an architecture of the control plane, if no VM runs on the other nodes",
                otherwise: "add workload nodes of an architecture that the control plane has, or upgrade to HCO 1.18",
            };
            Description {
                path: configuration.import_or_placement_path(),
                fact: format!(
                    "With HCO {version} and the import off, KubeVirt rejects VMs for {}, because virt-api runs on control-plane nodes ({}): they cannot be created, changed, or started; existing ones can only be deleted.",
                    names(&rejected),
                    names(&census.control_plane)
                ),
                fixes: vec![Proposal::EnableImport, place],
            }
        })
    })
}
