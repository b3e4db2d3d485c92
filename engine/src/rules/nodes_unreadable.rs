//! See `nodes-unreadable.md`.

use crate::facts::{Facts, NodesError};
use crate::rule::{Finding, Level, Rule};
use crate::text::{contains, plain};

pub(crate) static RULE: Rule = Rule {
    id: "nodes-unreadable",
    level: Level::Deny,
    check,
};

/// The manifest that brings the grant.
const MANIFEST: &str = "deploy/rbac.yaml";

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(error) = facts.nodes_error() else {
        return Vec::new();
    };
    let (fact, fix) = match error {
        NodesError::Forbidden { account, verb } => {
            let (namespace, name) = (plain(&account.namespace, 63), plain(&account.name, 63));
            (
                format!("the service account {namespace}/{name} of the policy-server may not {verb} nodes"),
                format!(
                    "bind it to a ClusterRole with get, list and watch of nodes: kubectl apply -f {MANIFEST}, with this account \
                     as its subject; to check: kubectl auth can-i {verb} nodes --as=system:serviceaccount:{namespace}:{name}"
                ),
            )
        }
        NodesError::Host(error) => {
            // The causes and, where backtraces are on, a backtrace follow on lines of their own.
            let first = error.lines().next().unwrap_or_default();
            (
                format!("the nodes cannot be read: {}", plain(first.trim_end_matches('.'), 160)),
                remedy(first),
            )
        }
        NodesError::List(error) => (
            format!("the list of nodes cannot be read: {}", plain(error, 160)),
            "look at the policy-server's log; the list comes from the API server by its Kubernetes cache".to_owned(),
        ),
    };
    vec![Finding {
        path: "nodes".to_owned(),
        fact,
        fix,
        ..Finding::default()
    }]
}

/// What to do about a host's error, told by the host's own words.
///
/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/runtimes/callback.rs and
/// `src/callback_handler/mod.rs`.
fn remedy(error: &str) -> String {
    if contains(error, "access to Kubernetes") {
        "add {apiVersion: v1, kind: Node} to spec.contextAwareResources of the ClusterAdmissionPolicy".to_owned()
    } else if contains(error, "granted access to the") {
        "allow the policy kubernetes/list_resources_all: hostCapabilities in policy-server's policies.yml, or kwctl's --allowed-host-capabilities".to_owned()
    } else if contains(error, "not initialized") {
        "the policy-server has no connection to a cluster: give it a kubeconfig or a service account".to_owned()
    } else if contains(error, "(Connect)") {
        "the policy-server does not reach the API server: look at its log and at the network"
            .to_owned()
    } else {
        format!(
            "grant the policy-server's service account get, list and watch of nodes: kubectl apply -f {MANIFEST}"
        )
    }
}
