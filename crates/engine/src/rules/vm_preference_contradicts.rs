//! See `vm-preference-contradicts.md`.

use operator_models::kubevirt::virtual_machine::PreferenceMatcher;

use super::prelude::*;
use crate::machine::Machine;

pub(crate) static RULE: Rule =
    Rule::about_virtual_machines("vm-preference-contradicts", Level::Deny);

/// The preference requires another architecture than the VM gets.
pub(crate) struct ContradictingPreference<'f> {
    name: &'f str,
    required: &'f str,
    architecture: &'f str,
}

/// MIRRORS: kubevirt pkg/instancetype/preference/requirements/arch.go, checkArch.
pub(crate) fn check<'f>(machine: &'f Machine<'f>) -> Option<ContradictingPreference<'f>> {
    let (name, preference) = machine.preference.as_ref()?;
    let required = preference.required.as_deref()?;
    let architecture = machine.architecture.as_str();
    let differs = !architecture.is_empty() && required != architecture;
    differs.then_some(ContradictingPreference {
        name: &name.name,
        required,
        architecture,
    })
}

impl<'f> Violation<'f, Machine<'f>> for ContradictingPreference<'f> {
    fn value(&self) -> Cow<'_, str> {
        format!("{} {}", self.name, self.architecture).into()
    }

    fn path(&self, machine: &'f Machine<'f>) -> FieldPath {
        let preference = FieldPath::new(&["spec", "preference"]);
        match machine.vm.preference {
            Some(PreferenceMatcher::Inferred(_)) => preference.key("inferFromVolume"),
            _ => preference.key("name"),
        }
    }

    fn fact(&self, machine: &'f Machine<'f>) -> String {
        format!(
            "Preference {} requires {}, but the VM's architecture is {}: KubeVirt rejects the VM.",
            quote(self.name),
            escape(self.required, 32),
            machine.shown()
        )
    }

    fn fixes(&self, machine: &'f Machine<'f>) -> Vec<Proposal<'f>> {
        let mut fixes = vec![Proposal::advice(format!(
            "use a preference for {}, or one without an architecture",
            machine.shown()
        ))];
        if machine.can_start_as(self.required) {
            fixes.insert(0, machine.set_architecture(self.required));
        }
        fixes
    }
}
