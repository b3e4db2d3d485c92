use super::prelude::*;
use crate::cluster::{ServiceAccount, Unreadable};

pub(crate) static RULE: Rule =
    Rule::about_object("nodes-unreadable", Level::Deny).about_the_policy();

pub(crate) fn check(nodes: &Unreadable) -> [Violation<'_>; 1] {
    [Violation::new(|| describe(nodes))]
}

fn describe<'f>(nodes: &Unreadable) -> Description<'f> {
    let (reason, fix) = match nodes {
        Unreadable::Forbidden { account, verb, .. } => (
            format!(": the service account {account} of the policy-server cannot {verb} nodes"),
            grant(Some(account), ""),
        ),
        Unreadable::Host { account, error, .. } => {
            // The causes and, if backtraces are on, a backtrace follow on the next lines.
            let first_line = error.lines().next().unwrap_or_default();
            let error = escape(first_line.trim_end_matches('.'), 160);
            let colon = if error.is_empty() { "" } else { ": " };
            (
                format!(", because it cannot read the nodes{colon}{error}"),
                resolve(first_line, account.as_ref()),
            )
        }
        Unreadable::List { error, .. } => (
            format!(", because the node list is invalid: {}", escape(error, 160)),
            Proposal::advice(
                "see the log of the policy-server, which reads the list from the API server",
            ),
        ),
    };
    Description {
        path: FieldPath::new(&["nodes"]),
        fact: format!("The policy cannot check the object against the nodes{reason}."),
        fixes: vec![fix],
    }
}

/// Grants the service account access to nodes.
///
/// It does not use the manifest, which binds another account.
fn grant(account: Option<&ServiceAccount>, condition: &str) -> Proposal<'static> {
    const ROLE: &str = "hco-architecture-guard-nodes";
    let account = match account {
        Some(ServiceAccount { namespace, name }) => &format!("{namespace}:{name}"),
        None => "NAMESPACE:NAME",
    };
    Proposal::command(
        format!(
            "{condition}grant the policy-server's service account permission to list and watch nodes, as deploy/base/rbac.yaml does for kubewarden/policy-server"
        ),
        format!(
            "kubectl create clusterrole {ROLE} --verb=list,watch --resource=nodes\n  \
             kubectl create clusterrolebinding {ROLE} --clusterrole={ROLE} --serviceaccount={account}"
        ),
    )
}

/// How to fix a host's error.
///
/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/runtimes/callback.rs and
/// `src/callback_handler/mod.rs`, for the words that identify the errors.
fn resolve(error: &str, account: Option<&ServiceAccount>) -> Proposal<'static> {
    Proposal::advice(if error.contains("access to Kubernetes") {
        "add {apiVersion: v1, kind: Node} to spec.contextAwareResources of the ClusterAdmissionPolicy"
    } else if error.contains("granted access to the") {
        "allow the host capability kubernetes/list_resources_all: in hostCapabilities of policies.yml, or with --allowed-host-capabilities of kwctl"
    } else if error.contains("not initialized") {
        "connect the policy-server to a cluster: it needs a service account or a kubeconfig"
    } else if error.contains("(Connect)") {
        "make the API server reachable from the policy-server; the log of the policy-server has the cause"
    } else {
        let condition =
            "see the log of the policy-server; if the policy-server does not have permission, ";
        return grant(account, condition);
    })
}
