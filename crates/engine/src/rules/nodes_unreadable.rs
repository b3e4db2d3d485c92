//! See `nodes-unreadable.md`.

use kube_objects::path::FieldPath;
use kube_objects::text::{behind, escape};

use crate::cluster::ServiceAccount;
use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;
use crate::nodes::NodesError;

pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let Some(error) = facts.nodes.error() else {
        return;
    };
    let account = facts.nodes.account();
    findings.add(Identity::only(), || {
        let (reason, fix) = match (error, account) {
            (NodesError::Forbidden { account, verb }, _) => (
                format!(
                    ": the service account {} of the policy-server cannot {verb} nodes",
                    name(account)
                ),
                grant(Some(account), ""),
            ),
            (NodesError::Host(error), account) => {
                // The causes and, if backtraces are on, a backtrace follow on the next lines.
                let first = error.lines().next().unwrap_or_default();
                let error = escape(first.trim_end_matches('.'), 160);
                let colon = if error.is_empty() { "" } else { ": " };
                (
                    format!(", because it cannot read the nodes{colon}{error}"),
                    resolve(first, account),
                )
            }
            (NodesError::List(error), _) => (
                format!(", because the node list is invalid: {}", escape(error, 160)),
                Fix::advice(
                    "see the log of the policy-server, which reads the list from the API server",
                ),
            ),
        };
        Finding {
            path: FieldPath::of(&["nodes"]),
            fact: format!("The policy cannot check the object against the nodes{reason}."),
            fixes: vec![fix],
        }
    });
}

fn name(account: &ServiceAccount) -> String {
    format!("{}/{}", account.namespace, account.name)
}

/// Grant the service account access to nodes.
///
/// Not with the manifest: it binds one account, and applying it for another account would replace the binding of an
/// overlay.
fn grant(account: Option<&ServiceAccount>, condition: &str) -> Fix<'static> {
    let account = account.map_or_else(|| "NAMESPACE/NAME".to_owned(), name);
    Fix::Command {
        advice: format!(
            "{condition}grant the policy-server's service account permission to list and watch nodes, as deploy/base/rbac.yaml does for kubewarden/policy-server"
        ),
        command: format!("hco-preflight rbac --service-account {account} | kubectl apply -f -"),
    }
}

/// How to fix a host's error.
///
/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/runtimes/callback.rs and
/// `src/callback_handler/mod.rs`, for the words that identify the errors.
fn resolve(error: &str, account: Option<&ServiceAccount>) -> Fix<'static> {
    if behind(error, "access to Kubernetes").is_some() {
        Fix::advice(
            "add {apiVersion: v1, kind: Node} to spec.contextAwareResources of the ClusterAdmissionPolicy",
        )
    } else if behind(error, "granted access to the").is_some() {
        Fix::advice(
            "allow the host capability kubernetes/list_resources_all: in hostCapabilities of policies.yml, or with --allowed-host-capabilities of kwctl",
        )
    } else if behind(error, "not initialized").is_some() {
        Fix::advice(
            "connect the policy-server to a cluster: it needs a service account or a kubeconfig",
        )
    } else if behind(error, "(Connect)").is_some() {
        Fix::advice(
            "make the API server reachable from the policy-server; the log of the policy-server has the cause",
        )
    } else {
        grant(
            account,
            "see the log of the policy-server; if the policy-server does not have permission, ",
        )
    }
}
