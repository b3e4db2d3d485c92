//! See `default-architecture-changes.md`.

use operator_models::hco::jsonpatch;
use operator_models::kubevirt::default_architecture::default_architecture;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_object("default-architecture-changes", Level::Warn).exempt_from_ratchet();

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
pub(crate) fn check<'f>(facts: &'f Facts<'f>) -> Option<DefaultChanges<'f>> {
    let old = facts.old?;
    let patches = [&old.hco.patches, &facts.hco.patches];
    let is_patched = patches
        .iter()
        .any(|patches| jsonpatch::overrides(patches.kubevirt.as_deref(), &[DEFAULT]));
    let is_affected = facts.version.hco.sets_defaults()
        && old.hco.placement != facts.hco.placement
        && !is_patched;
    let before = default_architecture(old.census().filter(|_| is_affected)?)?;
    let after = default_architecture(facts.census()?)?;
    (before != after).then_some(DefaultChanges { before, after })
}

impl<'f> Violation<'f> for DefaultChanges<'f> {
    fn path(&self, facts: &'f Facts<'f>) -> FieldPath {
        facts.placement_path()
    }

    fn fact(&self, _: &'f Facts<'f>) -> String {
        let after = escape(self.after, 32);
        format!(
            "KubeVirt's default architecture changes from {} to {after}: new VMs without an architecture get {after}.",
            escape(self.before, 32)
        )
    }

    fn fixes(&self, _: &'f Facts<'f>) -> Vec<Proposal<'f>> {
        vec![Proposal::advice(
            "set spec.template.spec.architecture in VMs that need a certain architecture",
        )]
    }
}
