//! See `vm-context-unreadable.md`.

use kube_objects::path::FieldPath;
use kube_objects::text::escape;

use crate::context::Reason;
use crate::finding::{Finding, Identity};
use crate::fix::Fix;
use crate::machine::{Machine, finding};

pub(crate) fn check(machine: &Machine<'_>) -> Option<(Identity<'static>, Finding<'static>)> {
    let unreadable = machine.context.unreadable()?;
    let (kind, plural) = (unreadable.resource.kind(), unreadable.resource.plural());
    let error;
    let fact: &[&str] = match (&unreadable.reason, machine.context.account()) {
        (Reason::Forbidden(verb), Some(account)) => &[
            "The service account ",
            &account.namespace,
            "/",
            &account.name,
            " of the policy-server cannot ",
            verb,
            " ",
            plural,
            ": the VM is not checked completely.",
        ],
        (Reason::Forbidden(reason), None) => &["The VM is not checked completely: ", reason, "."],
        (Reason::Error(reason), _) => {
            // The causes and, if backtraces are on, a backtrace follow on the next lines.
            error = escape(reason.lines().next().unwrap_or_default(), 120);
            let end = if error.ends_with('.') { "" } else { "." };
            &[
                "The VM is not checked completely, because ",
                kind,
                " cannot be read: ",
                &error,
                end,
            ]
        }
    };
    let fix = Fix::advice(
        "give the policy-server and the policy what deploy/components/virtual-machines grants: permission to list and watch hyperconvergeds and kubevirts, and to get datasources",
    );
    let path = FieldPath::of(&["cluster"]);
    Some(finding(&[], path, fact, vec![fix]))
}
