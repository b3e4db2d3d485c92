use operator_models::hco::jsonpatch;

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("default-architecture-changes", Level::Warn)
    .only(Condition::PlacementChanges)
    .exempt_from_ratchet();

/// The field that HCO sets in the KubeVirt object.
const DEFAULT: &str = "/spec/configuration/architectureConfiguration/defaultArchitecture";

/// An update changes KubeVirt's default architecture. In a request, only another placement can change it.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/kubevirt.go, `NewKubeVirt`; kubevirt
/// pkg/virt-operator/util/config.go, `SetDefaultArchitecture`: without a workload architecture, KubeVirt keeps its
/// current default.
pub(crate) fn check<'f>(
    before: Option<&'f Side<'f>>,
    after: &'f Side<'f>,
) -> Option<Violation<'f>> {
    let before = before?;
    let configuration = &after.configuration;
    let is_patched = [before, after].iter().any(|side| {
        let patch = side.configuration.hco.kubevirt_patch.as_deref();
        jsonpatch::overrides(patch, &[DEFAULT])
    });
    let [old, new] = [
        before.census?.default_architecture()?,
        after.census?.default_architecture()?,
    ];
    let sets_defaults = configuration.version().sets_defaults();
    let describe = move || Description {
        path: configuration.placement_path(),
        fact: format!(
            "KubeVirt's default architecture changes from {} to {new}: new VMs without an architecture get {new}.",
            escape(old, 32),
            new = escape(new, 32)
        ),
        fixes: vec![Proposal::advice(
            "set spec.template.spec.architecture in VMs that need a certain architecture",
        )],
    };
    (sets_defaults && !is_patched && old != new).then(|| Violation::new(describe))
}
