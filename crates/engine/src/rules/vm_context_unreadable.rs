use super::prelude::*;
use crate::cluster::Unreadable;

pub(crate) static RULE: Rule =
    Rule::about_virtual_machines("vm-context-unreadable", Level::Warn).about_the_policy();

/// Something that is needed to evaluate the VM cannot be read.
pub(crate) fn check<'f>(machine: &'f Machine<'f>) -> Option<Violation<'f>> {
    let unreadable = machine.context.unreadable.as_ref()?;
    Some(Violation::new(|| Description {
        path: FieldPath::new(&["cluster"]),
        fact: fact(unreadable),
        fixes: vec![Proposal::advice(
            "give the policy-server and the policy what deploy/components/virtual-machines grants: permission to list and watch hyperconvergeds and kubevirts, and to get datasources",
        )],
    }))
}

fn fact(unreadable: &Unreadable) -> String {
    match unreadable {
        Unreadable::Forbidden {
            resource,
            account,
            verb,
        } => format!(
            "The service account {account} of the policy-server cannot {verb} {}: the VM is not checked completely.",
            resource.plural()
        ),
        Unreadable::Host {
            resource, error, ..
        }
        | Unreadable::List { resource, error } => {
            // The causes and, if backtraces are on, a backtrace follow on the next lines.
            let error = escape(error.lines().next().unwrap_or_default(), 120);
            let end = if error.ends_with('.') { "" } else { "." };
            format!(
                "The VM is not checked completely, because {} cannot be read: {error}{end}",
                resource.kind()
            )
        }
    }
}
