use operator_models::hco::jsonpatch;

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("default-architecture-changes", Level::Warn)
    .only(Condition::PlacementChanges)
    .exempt_from_ratchet();

/// The field that HCO sets in the KubeVirt object.
const DEFAULT: &str = "/spec/configuration/architectureConfiguration/defaultArchitecture";

/// KubeVirt's default architecture before and after the update.
pub(crate) struct DefaultChanges<'f> {
    before: &'f str,
    after: &'f str,
}

/// In a request, only another placement can change the architecture.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/kubevirt.go, `NewKubeVirt`; kubevirt
/// pkg/virt-operator/util/config.go, `SetDefaultArchitecture`: without a workload architecture, KubeVirt keeps its
/// current default.
pub(crate) fn check<'f>(
    before: Option<&'f Side<'f>>,
    after: &'f Side<'f>,
) -> Option<DefaultChanges<'f>> {
    let (before, sets_defaults) = (
        before?,
        after.configuration.version().number.sets_defaults(),
    );
    let is_patched = [before, after].iter().any(|side| {
        let patches = &side.configuration.hco.patches;
        jsonpatch::overrides(patches.kubevirt.as_deref(), &[DEFAULT])
    });
    let [before, after] = [
        before.census?.default_architecture()?,
        after.census?.default_architecture()?,
    ];
    let is_violation = sets_defaults && !is_patched && before != after;
    is_violation.then_some(DefaultChanges { before, after })
}

impl<'f> Violation<'f> for DefaultChanges<'f> {
    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        configuration.placement_path()
    }

    fn fact(&self, _: &'f Configuration<'f>) -> String {
        let after = escape(self.after, 32);
        format!(
            "KubeVirt's default architecture changes from {} to {after}: new VMs without an architecture get {after}.",
            escape(self.before, 32)
        )
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        vec![Proposal::advice(
            "set spec.template.spec.architecture in VMs that need a certain architecture",
        )]
    }
}
