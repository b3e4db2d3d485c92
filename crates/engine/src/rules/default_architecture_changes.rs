//! See `default-architecture-changes.md`.

use kube_objects::text::escape;
use operator_models::hco::jsonpatch;
use operator_models::kubevirt::default_architecture::default_architecture;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;

/// The field that HCO sets in the KubeVirt object.
const DEFAULT: &str = "/spec/configuration/architectureConfiguration/defaultArchitecture";

/// The nodes are the same on both sides, so only another placement can change the architecture.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/kubevirt.go, `NewKubeVirt`; kubevirt
/// pkg/virt-operator/util/config.go, `SetDefaultArchitecture`: without a workload architecture, KubeVirt keeps what it had.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let Some(old) = facts.old else { return };
    if !facts.version.hco.sets_defaults() || old.hco.placement == facts.hco.placement {
        return;
    }
    let patches = [&old.hco.patches, &facts.hco.patches];
    let mut patches = patches.iter().map(|patches| patches.kubevirt.as_deref());
    if patches.any(|patch| jsonpatch::overrides(patch, &[DEFAULT])) {
        return;
    }
    let Some(census) = facts.try_census() else {
        return;
    };
    let before = old.nodes.peek(old.slot).and_then(default_architecture);
    let Some((before, after)) = before.zip(default_architecture(census)) else {
        return;
    };
    if before == after {
        return;
    }
    findings.add(Identity::only(), || Finding {
        path: facts.placement_path(),
        fact: format!(
            "KubeVirt's default architecture changes from {} to {}: new VMs without an architecture get {}.",
            escape(before, 32),
            escape(after, 32),
            escape(after, 32)
        ),
        fixes: vec![Fix::advice(
            "set spec.template.spec.architecture in VMs that need a certain architecture",
        )],
    });
}
