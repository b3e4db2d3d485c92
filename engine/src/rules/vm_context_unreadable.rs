//! See `vm-context-unreadable.md`.

use kubernetes::path::FieldPath;
use kubernetes::text::escape;

use crate::context::Reason;
use crate::machine::{Machine, MachineFinding};
use crate::remedy::Remedy;

pub(crate) fn check(machine: &Machine<'_>) -> Option<MachineFinding> {
    let unreadable = machine.context.unreadable()?;
    let resource = unreadable.resource;
    let account = machine.context.account();
    let account = account.map(|it| [&it.namespace, "/", &it.name].concat());
    let account = account.as_deref().unwrap_or("NAMESPACE/NAME");
    let reason = match unreadable.reason {
        Reason::Forbidden(verb) => format!(
            "the service account {} of the policy-server cannot {verb} {}",
            escape(account, 64),
            resource.plural()
        ),
        Reason::Error(error) => {
            // The causes and, if backtraces are on, a backtrace follow on the next lines.
            let first = error.lines().next().unwrap_or_default();
            let first = escape(first.trim_end_matches('.'), 120);
            format!("it cannot read {}: {first}", resource.kind())
        }
    };
    let (group, version) = resource.group_version();
    let kind = resource.kind();
    let remedy = Remedy::advice(format!(
        "grant the policy-server's service account permission to list and watch hyperconvergeds and kubevirts, and to get datasources, and add {{apiVersion: {group}/{version}, kind: {kind}}} to spec.contextAwareResources of the policy, as deploy/components/virtual-machines does"
    ));
    Some(MachineFinding::new(
        "",
        FieldPath::of(&["cluster"]),
        format!("The policy cannot check the VM completely: {reason}."),
        vec![remedy],
    ))
}
