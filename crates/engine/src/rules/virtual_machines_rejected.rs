use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_object("virtual-machines-rejected", Level::Deny).only(Condition::VmsRestricted);

/// KubeVirt rejects VMs of these architectures.
pub(crate) struct RejectedMachines<'f> {
    rejected: BTreeSet<&'f str>,
    census: &'f Census,
}

pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> Option<RejectedMachines<'f>> {
    let accepted = configuration.accepted_by_kubevirt(census)?;
    let rejected: BTreeSet<&str> = census
        .workload
        .keys()
        .filter(|name| !accepted.contains(*name))
        .map(String::as_str)
        .collect();
    (!rejected.is_empty()).then_some(RejectedMachines { rejected, census })
}

impl<'f> Violation<'f> for RejectedMachines<'f> {
    fn architectures(&self) -> BTreeSet<&str> {
        self.rejected.clone()
    }

    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        if configuration.version().number.has_import() {
            configuration.import_path()
        } else {
            configuration.placement_path()
        }
    }

    fn fact(&self, configuration: &'f Configuration<'f>) -> String {
        format!(
            "With HCO {} and the import off, KubeVirt rejects VMs for {}, because virt-api runs on control-plane nodes ({}): they cannot be created, changed, or started; existing ones can only be deleted.",
            configuration.version().number,
            names(&self.rejected),
            names(&self.census.control_plane)
        )
    }

    fn fixes(&self, configuration: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        let place = Proposal::Place {
            summary: "keep the workloads on an architecture of the control plane, if no VM runs on the other nodes",
            otherwise: Some(
                "add workload nodes of an architecture that the control plane has, or upgrade to HCO 1.18",
            ),
        };
        if configuration.version().number.has_import() {
            vec![Proposal::EnableImport, place]
        } else {
            vec![place]
        }
    }
}
