use operator_models::kubevirt::machine_type;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_virtual_machines("vm-machine-type-contradicts", Level::Deny);

/// The machine type is for another architecture than the VM.
pub(crate) fn check<'f>(machine: &'f Machine<'f>) -> Option<Violation<'f>> {
    let architecture = machine.architecture.as_str();
    let machine_type = machine.vm.machine_type.as_str();
    let kubevirt = &machine.context.kubevirt;
    let is_rejected = machine.context.is_in_file
        && !architecture.is_empty()
        && !kubevirt.allows_machine_type(architecture, machine_type);
    let owner = machine_type::architecture_of(machine_type)
        .filter(|owner| is_rejected && *owner != architecture)?;
    let describe = move || {
        let shown = machine.shown();
        let path = Machine::machine_type_path();
        let removed = [PatchOperation::remove(&path)];
        let summary = format!("remove the machine type, so that KubeVirt sets the one for {shown}");
        let mut fixes = vec![Proposal::edits(summary, removed)];
        if machine.can_start_as(owner) {
            fixes.push(machine.set_architecture(owner));
        }
        Description {
            path,
            fact: format!(
                "The machine type {} is for {owner}, but the VM's architecture is {shown}: KubeVirt rejects the VM.",
                quote(machine_type)
            ),
            fixes,
        }
    };
    Some(Violation {
        value: format!("{machine_type} {architecture}").into(),
        ..Violation::new(describe)
    })
}
