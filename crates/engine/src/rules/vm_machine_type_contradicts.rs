use operator_models::kubevirt::machine_type;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_virtual_machines("vm-machine-type-contradicts", Level::Deny);

/// The machine type is for another architecture than the VM.
pub(crate) struct ContradictingMachineType<'f> {
    machine_type: &'f str,
    owner: &'static str,
    architecture: &'f str,
}

pub(crate) fn check<'f>(machine: &'f Machine<'f>) -> Option<ContradictingMachineType<'f>> {
    let architecture = machine.architecture.as_str();
    let machine_type = machine.vm.machine_type.as_str();
    let kubevirt = &machine.context.kubevirt;
    let is_rejected = machine.context.is_in_file
        && !architecture.is_empty()
        && !kubevirt.allows_machine_type(architecture, machine_type);
    machine_type::architecture_of(machine_type)
        .filter(|owner| is_rejected && *owner != architecture)
        .map(|owner| ContradictingMachineType {
            machine_type,
            owner,
            architecture,
        })
}

impl<'f> Violation<'f, Machine<'f>> for ContradictingMachineType<'f> {
    fn value(&self) -> Cow<'_, str> {
        format!("{} {}", self.machine_type, self.architecture).into()
    }

    fn path(&self, _: &'f Machine<'f>) -> FieldPath {
        Machine::machine_type_path()
    }

    fn fact(&self, machine: &'f Machine<'f>) -> String {
        format!(
            "The machine type {} is for {}, but the VM's architecture is {}: KubeVirt rejects the VM.",
            quote(self.machine_type),
            self.owner,
            machine.shown()
        )
    }

    fn fixes(&self, machine: &'f Machine<'f>) -> Vec<Proposal<'f>> {
        let removed = Edits::default()
            .remove(Machine::machine_type_path())
            .finish();
        let shown = machine.shown();
        let summary = format!("remove the machine type, so that KubeVirt sets the one for {shown}");
        let mut fixes = vec![Proposal::edits(summary, &removed)];
        if machine.can_start_as(self.owner) {
            fixes.push(machine.set_architecture(self.owner));
        }
        fixes
    }
}
