//! See `vm-architecture-unavailable.md`.

use kubernetes::text::{escape, list};
use operators::kubevirt::virtual_machine::is_refused;
use operators::ssp::architecture::KNOWN;

use crate::machine::{Machine, MachineFinding};
use crate::remedy::Remedy;
use crate::words::names;

pub(crate) fn check(machine: &Machine<'_>) -> Option<MachineFinding> {
    let architecture = &machine.architecture;
    if architecture.is_empty() {
        return None;
    }
    let workload = machine.context.workload.as_ref()?;
    let is_refused = is_refused(architecture);
    if machine.is_available(architecture)? && !is_refused {
        return None;
    }
    let shown = escape(architecture, 32);
    let fact = if is_refused {
        let known = list(&KNOWN, KNOWN.len());
        format!(
            "KubeVirt supports {known}, but the VM's architecture is {shown}: the VM does not start."
        )
    } else {
        let have = names(workload);
        format!(
            "No workload node has the VM's architecture {shown} (they have {have}): the VM does not start until one has it."
        )
    };
    let others = machine.others();
    let mut remedies: Vec<Remedy> = others
        .iter()
        .map(|other| machine.set_architecture(other))
        .collect();
    // A disk for another architecture would not boot.
    if let Some((_, label)) = machine.boot_source()
        && let Some(place) = others.iter().position(|other| **other == label)
    {
        remedies.rotate_left(place);
    }
    if !is_refused {
        remedies.push(Remedy::advice(format!("add a workload node with {shown}")));
    } else if remedies.is_empty() {
        remedies.push(Remedy::advice("use an architecture that KubeVirt supports"));
    }
    let path = Machine::path(&["architecture"]);
    Some(MachineFinding::new(architecture, path, fact, remedies))
}
