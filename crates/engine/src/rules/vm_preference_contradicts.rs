use operator_models::kubevirt::virtual_machine::{InferenceError, PreferenceMatcher};

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_virtual_machines("vm-preference-contradicts", Level::Deny);

/// KubeVirt rejects the VM because of its preference.
pub(crate) enum RejectedPreference<'f> {
    /// It requires another architecture than the VM gets.
    Contradicting {
        name: &'f str,
        required: &'f str,
        architecture: &'f str,
    },
    NotInferable(InferenceError),
}

/// MIRRORS: kubevirt pkg/instancetype/preference/requirements/arch.go, checkArch.
pub(crate) fn check<'f>(machine: &'f Machine<'f>) -> Option<RejectedPreference<'f>> {
    if let Some(error) = machine.context.inference_error(machine.vm) {
        return Some(RejectedPreference::NotInferable(error));
    }
    let (name, preference) = machine.preference.as_ref()?;
    let required = preference.required.as_deref()?;
    let architecture = machine.architecture.as_str();
    let differs = !architecture.is_empty() && required != architecture;
    differs.then_some(RejectedPreference::Contradicting {
        name: &name.name,
        required,
        architecture,
    })
}

impl<'f> Violation<'f, Machine<'f>> for RejectedPreference<'f> {
    fn value(&self) -> Cow<'_, str> {
        match self {
            Self::Contradicting {
                name, architecture, ..
            } => format!("{name} {architecture}").into(),
            Self::NotInferable(
                InferenceError::Volume(name)
                | InferenceError::NoDataSource(name)
                | InferenceError::Pointer(name),
            ) => name.into(),
        }
    }

    /// A DataSource that was not read can exist.
    fn is_doubtful(&self, _: &'f Machine<'f>) -> bool {
        matches!(self, Self::NotInferable(InferenceError::NoDataSource(_)))
    }

    fn path(&self, machine: &'f Machine<'f>) -> FieldPath {
        let preference = FieldPath::new(&["spec", "preference"]);
        match machine.vm.preference {
            Some(PreferenceMatcher::Named(_)) | None => preference.key("name"),
            Some(_) => preference.key("inferFromVolume"),
        }
    }

    fn fact(&self, machine: &'f Machine<'f>) -> String {
        match self {
            Self::Contradicting { name, required, .. } => format!(
                "Preference {} requires {}, but the VM's architecture is {}: KubeVirt rejects the VM.",
                quote(name),
                escape(required, 32),
                machine.shown()
            ),
            Self::NotInferable(InferenceError::Volume(name)) => format!(
                "The VM has no volume {} from which its preference can be inferred: KubeVirt rejects the VM.",
                quote(name)
            ),
            Self::NotInferable(InferenceError::NoDataSource(name)) => format!(
                "The preference is inferred from DataSource {}, which is not among the objects that were read: if it does not exist, KubeVirt rejects the VM.",
                quote(name)
            ),
            Self::NotInferable(InferenceError::Pointer(name)) => format!(
                "The preference is inferred from DataSource {}, which has no label for it and points to another one: KubeVirt rejects the VM.",
                quote(name)
            ),
        }
    }

    fn fixes(&self, machine: &'f Machine<'f>) -> Vec<Proposal<'f>> {
        let Self::Contradicting { required, .. } = self else {
            return vec![Proposal::advice(
                "name the preference in spec.preference.name instead of inferring it",
            )];
        };
        let mut fixes = vec![Proposal::advice(format!(
            "use a preference for {}, or one without an architecture",
            machine.shown()
        ))];
        if machine.can_start_as(required) {
            fixes.insert(0, machine.set_architecture(required));
        }
        fixes
    }
}
