//! `rbac`: asks the cluster what the policy-server's service account may do, because a grant that is missing makes
//! requests hang instead of failing.

use std::fmt::Write as _;

use anyhow::{Result, bail};

use super::args;
use super::exit::Exit;
use super::nodes;
use super::output::Terminal;
use super::progress::Progress;

/// What the policy needs, and which manifest grants it.
const NEEDED: [(&str, &str); 4] = [
    ("get", "nodes"),
    ("list", "nodes"),
    ("watch", "nodes"),
    ("create", "subjectaccessreviews.authorization.k8s.io"),
];

/// Exits 1 if a grant is missing, 2 if that could not be asked.
pub(crate) fn run(args: &args::Rbac, terminal: &Terminal) -> Result<Exit> {
    let account = &args.service_account;
    let Some((namespace, name)) = account.split_once('/').filter(|(namespace, name)| {
        !namespace.is_empty() && !name.is_empty() && !name.contains('/')
    }) else {
        bail!(
            "--service-account {account}: must be NAMESPACE/NAME, as in kubewarden/policy-server"
        );
    };
    let progress = Progress::start("asking the cluster");
    let cluster = nodes::connect(args.context.as_deref())?;
    let mut missing = Vec::new();
    let mut text = String::new();
    for (verb, resource) in NEEDED {
        let may = cluster.may(Some(account), verb, resource)?;
        let word = if may { "✔ yes" } else { "✘ no" };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{word:<7}{verb:<8}{resource}");
        if !may {
            missing.push(resource);
        }
    }
    drop(progress);
    terminal.print(&text)?;
    if missing.is_empty() {
        return Ok(Exit::Accepted);
    }
    terminal.note(&format!(
        "what {account} may not do makes the policy's requests hang until the webhook's timeout; apply this"
    ));
    terminal.print(&manifest(namespace, name, &missing))?;
    Ok(Exit::Denied)
}

/// The missing grants, as `deploy/rbac.yaml` has them.
fn manifest(namespace: &str, name: &str, missing: &[&str]) -> String {
    let mut rules = String::new();
    let mut granted: Vec<&str> = Vec::new();
    for resource in missing {
        if granted.contains(resource) {
            continue;
        }
        granted.push(resource);
        let of_resource = NEEDED.iter().filter(|(_, of)| of == resource);
        let verbs: Vec<&str> = of_resource.map(|(verb, _)| *verb).collect();
        let verbs = verbs.join(", ");
        let (name, group) = resource.split_once('.').unwrap_or((resource, ""));
        // Writing to a String cannot fail.
        let _ = write!(
            rules,
            "  - apiGroups: [\"{group}\"]\n    resources: [{name}]\n    verbs: [{verbs}]\n"
        );
    }
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: hco-architecture-guard-nodes
rules:
{rules}---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: hco-architecture-guard-nodes
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: hco-architecture-guard-nodes
subjects:
  - kind: ServiceAccount
    name: {name}
    namespace: {namespace}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_is_that_of_deploy() {
        let deployed = include_str!("../../../deploy/rbac.yaml");
        let deployed: Vec<&str> = deployed
            .lines()
            .filter(|line| !line.starts_with('#'))
            .collect();
        let printed = manifest("kubewarden", "policy-server", &["nodes", "nodes"]);
        assert_eq!(printed.lines().collect::<Vec<_>>(), deployed);
    }
}
