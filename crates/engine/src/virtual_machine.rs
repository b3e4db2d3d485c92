//! Evaluates a request about a VirtualMachine, and returns a report.

use kube_objects::text::Foreign;
use operator_models::kubevirt::virtual_machine::Reason;

use crate::cluster::Cluster;
use crate::context::Context;
use crate::evaluate::evaluate_machine;
use crate::finding::Finding;
use crate::machine::Machine;
use crate::proposal::Proposal;
use crate::render;
use crate::repair::Repaired;
use crate::report::{Report, VirtualMachineReport};
use crate::request::VirtualMachineRequest;
use crate::violation::Description;

pub(crate) fn evaluate(request: &VirtualMachineRequest<'_>, cluster: &dyn Cluster) -> Report {
    let settings = &request.settings;
    let old = request.old.as_ref();
    let vms: Vec<_> = [Some(&request.new), old.map(|(_, old)| old)]
        .into_iter()
        .flatten()
        .collect();
    let account = settings.service_account.as_ref();
    let context = Context::read(&vms, request.is_in_file, cluster, account);
    let new = Machine::new(&request.new, request.object, &context);
    let old = old.map(|(json, old)| Machine::new(old, *json, &context));
    // KubeVirt adds the architecture to a VM without one, which is not a change by the user.
    let is_same =
        |old: &Machine<'_>| old.architecture == new.architecture && old.vm.is_placed_like(new.vm);
    if old.as_ref().is_some_and(is_same) {
        return Report::accepted();
    }
    let report = Report {
        virtual_machine: Some(report(&new)),
        ..Report::accepted()
    };
    let detections = evaluate_machine(old.as_ref(), &new, settings);
    let findings = detections.iter().map(|detection| {
        let Description { path, fact, fixes } = (detection.violation.describe)();
        let fixes = fixes.into_iter().filter_map(|proposal| match proposal {
            Proposal::Fix(fix) => Some(fix),
            _ => None,
        });
        Finding::new(detection, &path, fact, fixes.collect())
    });
    let (findings, repaired) = (findings.collect(), Repaired::default());
    render::with_findings(
        report,
        &request.name,
        settings,
        &detections,
        findings,
        repaired,
    )
}

fn report(machine: &Machine<'_>) -> VirtualMachineReport {
    let source = match machine.reason {
        Reason::DataSource(index) => machine.vm.data_sources.get(index),
        Reason::Explicit | Reason::Preference | Reason::Default => None,
    };
    let is_cross_architecture = machine.context.kubevirt.is_cross_architecture;
    let is_preferred = machine.reason == Reason::Preference;
    let preference = machine.preference.as_ref().filter(|_| is_preferred);
    VirtualMachineReport {
        architecture: Some(&*machine.architecture)
            .filter(|name| !name.is_empty())
            .map(Foreign::from),
        reason: machine.reason.into_str().into(),
        preference: preference.map(|(name, _)| name.name.as_str().into()),
        data_source: source.map(|source| format!("{}/{}", source.namespace, source.name).into()),
        node_selector: machine
            .vm
            .launcher_architecture(&machine.architecture, is_cross_architecture)
            .map(Foreign::from),
    }
}
