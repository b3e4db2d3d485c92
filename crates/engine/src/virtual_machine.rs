//! From a request about a VirtualMachine to a report.

use kube_objects::json::{Field, Json};
use kube_objects::request::{Operation, Request};
use operator_models::kubevirt::virtual_machine::{Reason, VirtualMachine};

use crate::checks;
use crate::cluster::Cluster;
use crate::context::Context;
use crate::machine::Machine;
use crate::remedies;
use crate::render::{self, ObjectName};
use crate::report::{Report, VirtualMachineReport};
use crate::settings::Settings;

/// Judges a VirtualMachine. An update that changes nothing that is judged is accepted without a call to the host.
pub(crate) fn judge(request: &Request<'_>, settings: &Field<'_>, cluster: &dyn Cluster) -> Report {
    let name = ObjectName {
        kind: "VirtualMachine",
        namespace: &request.namespace,
        name: &request.name,
    };
    let Some(object) = request.object.json() else {
        return render::unreadable_payload("the request has no object");
    };
    let old_object = request
        .old_object
        .json()
        .filter(|_| request.operation == Operation::Update);
    let read = VirtualMachine::read(object);
    let old = old_object.map(|old| (old, VirtualMachine::read(old)));
    let is_unchanged = match (&read, &old) {
        (Ok(new), Some((_, Ok(old)))) => new.is_judged_like(old),
        (Err(new), Some((_, Err(old)))) => new == old,
        _ => false,
    };
    if is_unchanged || read.as_ref().is_ok_and(|new| new.is_being_deleted) {
        return Report::accepted();
    }
    let settings = match Settings::read(settings.json()) {
        Ok(settings) => settings,
        Err(problems) => return render::invalid_settings(&name, &problems),
    };
    let new = match read {
        Ok(new) => new,
        Err(error) => {
            let types = "virtualmachines --recursive --api-version=kubevirt.io/v1";
            return render::undecodable(&name, types, &error.to_string(), &settings);
        }
    };
    // If the old object cannot be read, the new one is still judged.
    let old = old.and_then(|(json, old)| Some((json, old.ok()?)));
    let old = old.as_ref().map(|(json, old)| (*json, old));
    let name = name.or(&new.namespace, &new.name);
    judge_read(&name, (object, &new), old, &settings, cluster)
}

fn judge_read(
    name: &ObjectName<'_>,
    (object, new): (Json<'_>, &VirtualMachine),
    old: Option<(Json<'_>, &VirtualMachine)>,
    settings: &Settings,
    cluster: &dyn Cluster,
) -> Report {
    let context = Context::read(cluster, settings.service_account.as_ref());
    let new = Machine::new(new, object, &context);
    let old = old.map(|(json, old)| Machine::new(old, json, &context));
    // KubeVirt writes the architecture into a VM that does not have it: nothing has changed.
    let is_same =
        |old: &Machine<'_>| old.architecture == new.architecture && old.vm.is_placed_like(new.vm);
    if old.as_ref().is_some_and(is_same) {
        return Report::accepted();
    }
    let mut checked = checks::run_on_machine(&new, old.as_ref(), settings);
    for checked in &mut checked {
        let shown = checked.found.shown.iter();
        let worked_out = |fixes: &[_]| fixes.iter().filter_map(remedies::as_proposed).collect();
        checked.remedies = shown.map(|it| worked_out(&it.finding.fixes)).collect();
    }
    let report = Report {
        virtual_machine: Some(report(&new)),
        ..Report::accepted()
    };
    render::with_findings(report, name, settings, &checked, &[], None)
}

fn report(machine: &Machine<'_>) -> VirtualMachineReport {
    let source = match machine.reason {
        Reason::DataSource(index) => machine.vm.data_sources.get(index),
        Reason::Explicit | Reason::Default => None,
    };
    VirtualMachineReport {
        architecture: Some(machine.architecture.clone()).filter(|name| !name.is_empty()),
        reason: machine.reason.name(),
        data_source: source.map(|source| [&source.namespace, "/", &source.name].concat()),
        node_selector: machine.launcher.architecture.clone(),
    }
}
