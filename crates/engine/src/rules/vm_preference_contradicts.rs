use operator_models::kubevirt::virtual_machine::{InferenceError, PreferenceMatcher};

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_virtual_machines("vm-preference-contradicts", Level::Deny);

/// KubeVirt rejects the VM, because its preference requires another architecture than the VM gets, or cannot be inferred.
///
/// MIRRORS: kubevirt pkg/instancetype/preference/requirements/arch.go, checkArch.
pub(crate) fn check<'f>(machine: &'f Machine<'f>) -> Option<Violation<'f>> {
    if let Some(error) = machine.context.inference_error(machine.vm) {
        return Some(not_inferable(machine, error));
    }
    let (name, preference) = machine.preference.as_ref()?;
    let required = preference.required.as_deref()?;
    let architecture = machine.architecture.as_str();
    let describe = move || {
        let shown = machine.shown();
        let mut fixes = vec![Proposal::advice(format!(
            "use a preference for {shown}, or one without an architecture"
        ))];
        if machine.can_start_as(required) {
            fixes.insert(0, machine.set_architecture(required));
        }
        Description {
            path: path(machine),
            fact: format!(
                "Preference {} requires {}, but the VM's architecture is {shown}: KubeVirt rejects the VM.",
                quote(&name.name),
                escape(required, 32)
            ),
            fixes,
        }
    };
    (!architecture.is_empty() && required != architecture).then(|| Violation {
        value: format!("{} {architecture}", name.name).into(),
        ..Violation::new(describe)
    })
}

fn not_inferable<'f>(machine: &'f Machine<'f>, error: InferenceError) -> Violation<'f> {
    let name = match &error {
        InferenceError::Volume(name)
        | InferenceError::NoDataSource(name)
        | InferenceError::NoLabel(name)
        | InferenceError::Snapshot(name) => name.as_str(),
        InferenceError::Matcher => "",
    };
    Violation {
        value: name.to_owned().into(),
        // A DataSource that was not read can exist.
        is_doubtful: matches!(error, InferenceError::NoDataSource(_)),
        ..Violation::new(move || {
            Description {
            path: path(machine),
            fact: match &error {
                InferenceError::Volume(name) => format!(
                    "The VM has no volume {} from which its preference can be inferred: KubeVirt rejects the VM.",
                    quote(name)
                ),
                InferenceError::NoDataSource(name) => format!(
                    "The preference is inferred from DataSource {}, which is not among the objects that were read: if it does not exist, KubeVirt rejects the VM.",
                    quote(name)
                ),
                InferenceError::NoLabel(name) | InferenceError::Snapshot(name) => format!(
                    "The preference is inferred from {}, which has neither a label for it nor a disk whose labels KubeVirt reads: KubeVirt rejects the VM.",
                    quote(name)
                ),
                InferenceError::Matcher => {
                    "The preference has neither a name nor inferFromVolume, or both, or inferFromVolume with a kind, or an unknown failure policy: KubeVirt rejects the VM.".to_owned()
                }
            },
            fixes: vec![Proposal::advice(
                "name the preference in spec.preference.name instead of inferring it",
            )],
        }
        })
    }
}

fn path(machine: &Machine<'_>) -> FieldPath {
    let preference = FieldPath::new(&["spec", "preference"]);
    match machine.vm.preference {
        Some(PreferenceMatcher::Rejected(InferenceError::Matcher)) => preference,
        Some(PreferenceMatcher::Named(_)) | None => preference.key("name"),
        Some(_) => preference.key("inferFromVolume"),
    }
}
