use super::prelude::*;
use crate::context::Unreadable;

pub(crate) static RULE: Rule =
    Rule::about_virtual_machines("vm-context-unreadable", Level::Warn).about_the_policy();

/// Something that is needed to evaluate the VM cannot be read.
pub(crate) struct UnreadableContext<'f>(&'f Unreadable);

pub(crate) fn check<'f>(machine: &'f Machine<'f>) -> Option<UnreadableContext<'f>> {
    machine.context.unreadable.as_ref().map(UnreadableContext)
}

impl<'f> Violation<'f, Machine<'f>> for UnreadableContext<'f> {
    fn path(&self, _: &'f Machine<'f>) -> FieldPath {
        FieldPath::new(&["cluster"])
    }

    fn fact(&self, _: &'f Machine<'f>) -> String {
        match self.0 {
            Unreadable::Forbidden(resource, account, verb) => format!(
                "The service account {account} of the policy-server cannot {verb} {}: the VM is not checked completely.",
                resource.plural()
            ),
            Unreadable::Error(resource, reason) => {
                // The causes and, if backtraces are on, a backtrace follow on the next lines.
                let error = escape(reason.lines().next().unwrap_or_default(), 120);
                let end = if error.ends_with('.') { "" } else { "." };
                format!(
                    "The VM is not checked completely, because {} cannot be read: {error}{end}",
                    resource.kind()
                )
            }
        }
    }

    fn fixes(&self, _: &'f Machine<'f>) -> Vec<Proposal<'f>> {
        vec![Proposal::advice(
            "give the policy-server and the policy what deploy/components/virtual-machines grants: permission to list and watch hyperconvergeds and kubevirts, and to get datasources",
        )]
    }
}
