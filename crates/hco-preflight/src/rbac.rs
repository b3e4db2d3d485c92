//! `rbac`: asks the cluster what the policy-server's service account may do, because a grant that is missing makes
//! requests hang instead of failing. The standard output has only the manifests of what is missing, so that
//! `| kubectl apply -f -` works; on a terminal and in a pipe alike. With `--for`, it is the role that a command needs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Result, bail};
use kube_objects::name::{is_dns1123_label, is_dns1123_subdomain};

use crate::args::{self, Connection, RbacFor};
use crate::exit::Exit;
use crate::foreign::one_line;
use crate::notes::Notes;
use crate::progress::Progress;
use crate::stage::{self, Kind, Reader};
use crate::terminal::Terminal;

/// Where Kubewarden is installed, unless the user chooses another namespace.
const NAMESPACE: &str = "kubewarden";

/// What the policy needs, as `deploy/` grants it.
const NEEDED: [Grant; 2] = [
    Grant {
        role: "hco-architecture-guard-nodes",
        group: "",
        resource: "nodes",
        // policy-server answers from a watch, which lists first.
        verbs: &["list", "watch"],
        without: "every request that needs the nodes hangs until the webhook times out",
    },
    Grant {
        role: "hco-architecture-guard-reviews",
        group: "authorization.k8s.io",
        resource: "subjectaccessreviews",
        verbs: &["create"],
        without: "the setting `serviceAccount` has no effect, because the policy cannot check its permission to read nodes",
    },
];

/// A grant for a resource of the whole cluster.
struct Grant {
    /// The name of the role in `deploy/`.
    role: &'static str,
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
    /// What happens without it.
    without: &'static str,
}

/// Exits 1 if a grant is missing, 2 if that could not be asked.
pub(crate) fn run(args: &args::Rbac, terminal: &Terminal) -> Result<Exit> {
    if let Some(command) = args.command {
        if args.connection != Connection::default() {
            bail!(
                "--for prints a role without reading a cluster: remove --kubeconfig, --context, -n, --as, --as-group, --token, --server, --user, and --request-timeout"
            );
        }
        let (_, name) = of_command(command);
        terminal.print(&role(command))?;
        terminal.note(&format!(
            "to bind the role, run for example `kubectl create clusterrolebinding {name} --clusterrole {name} --user NAME`"
        ));
        return Ok(Exit::Accepted);
    }
    let account = &args.service_account;
    let chosen = args.connection.namespace.as_deref();
    let (namespace, name) = account
        .split_once('/')
        .unwrap_or((chosen.unwrap_or(NAMESPACE), account));
    if let Some(chosen) = chosen.filter(|chosen| !is_dns1123_label(chosen)) {
        bail!(one_line(&format!(
            "-n {chosen} is not a valid name of a namespace"
        )));
    }
    // They become a part of a manifest.
    if !is_dns1123_label(namespace) || !is_dns1123_subdomain(name) {
        bail!(one_line(&format!(
            "--service-account {account}: must be NAMESPACE/NAME or NAME with valid names, for example kubewarden/policy-server"
        )));
    }
    if let Some(chosen) = chosen.filter(|chosen| *chosen != namespace) {
        bail!("--service-account {account} specifies a namespace, but -n is {chosen}: remove -n");
    }
    let account = &format!("{namespace}/{name}");
    let mut notes = Notes::default();
    let cluster = stage::cluster(&args.connection, &mut notes)?;
    terminal.notes(&notes);
    let progress = Progress::start("checking the permissions");
    let mut missing = Vec::new();
    let mut text = String::new();
    for grant in &NEEDED {
        let resource = grant.named();
        let mut has_all = true;
        for verb in grant.verbs {
            let may = cluster.may(Some(account), verb, &resource)?;
            let word = if may { "✔ yes" } else { "✘ no" };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{word:<7}{verb:<8}{resource}");
            has_all &= may;
        }
        if !has_all {
            missing.push(grant);
        }
    }
    drop(progress);
    terminal.table(&text);
    if missing.is_empty() {
        return Ok(Exit::Accepted);
    }
    for grant in &missing {
        terminal.note(&format!("{}; apply the manifest", grant.missing(account)));
    }
    let manifests = missing.iter().map(|grant| grant.manifest(namespace, name));
    terminal.print(&manifests.collect::<Vec<_>>().join("---\n"))?;
    Ok(Exit::Denied)
}

/// What a command reads beside the kinds of [`Kind`]: the nodes, the HyperConverged, the policies for their settings, and the
/// labels of its namespace, which select policies.
const READ: [(&str, &str, &[&str]); 7] = [
    ("", "nodes", LIST),
    ("", "namespaces", GET),
    ("hco.kubevirt.io", "hyperconvergeds", LIST),
    (KUBEWARDEN, "admissionpolicies", LIST),
    (KUBEWARDEN, "admissionpolicygroups", LIST),
    (KUBEWARDEN, "clusteradmissionpolicies", LIST),
    (KUBEWARDEN, "clusteradmissionpolicygroups", LIST),
];

const GET: &[&str] = &["get"];
const LIST: &[&str] = &["list"];

const KUBEWARDEN: &str = "policies.kubewarden.io";

/// What reads for a command, and the name of its role.
fn of_command(command: RbacFor) -> (Reader, &'static str) {
    match command {
        RbacFor::Check => (Reader::Check, "hco-preflight-check"),
        RbacFor::Plan => (Reader::Plan, "hco-preflight-plan"),
        RbacFor::Status => (Reader::Status, "hco-preflight-status"),
    }
}

/// The role that a command needs.
fn role(command: RbacFor) -> String {
    let (reader, name) = of_command(command);
    let kinds = Kind::read_by(reader).map(|kind| {
        let (group, resource) = kind.resource();
        (group, resource, LIST)
    });
    let mut added = BTreeSet::new();
    // By group and verbs.
    let mut rules: BTreeMap<(&str, &[&str]), BTreeSet<&str>> = BTreeMap::new();
    for (group, resource, verbs) in READ.into_iter().chain(kinds) {
        if !added.insert((group, resource)) {
            continue;
        }
        let verbs = match (command, resource) {
            // The object that a file changes is read by its name.
            (RbacFor::Check | RbacFor::Plan, "hyperconvergeds") => &["get", "list"],
            (RbacFor::Check, "virtualmachines") => GET,
            _ => verbs,
        };
        rules.entry((group, verbs)).or_default().insert(resource);
    }
    let rules = rules.into_iter().map(|((group, verbs), resources)| {
        let resources: Vec<&str> = resources.into_iter().collect();
        rule(group, &resources, verbs)
    });
    manifest(name, &rules.collect::<String>())
}

/// The manifest of a role with these rules.
fn manifest(name: &str, rules: &str) -> String {
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: {name}\nrules:\n{rules}"
    )
}

/// A rule in the manifest of a role.
fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> String {
    let group = if group.is_empty() { "\"\"" } else { group };
    let (resources, verbs) = (resources.join(", "), verbs.join(", "));
    format!("  - apiGroups: [{group}]\n    resources: [{resources}]\n    verbs: [{verbs}]\n")
}

impl Grant {
    /// The resource as kubectl names it.
    fn named(&self) -> String {
        match self.group {
            "" => self.resource.to_owned(),
            group => format!("{}.{group}", self.resource),
        }
    }

    fn missing(&self, account: &str) -> String {
        format!(
            "{account} is not allowed to {} {}: {}",
            self.verbs.join(" and "),
            self.named(),
            self.without
        )
    }

    /// The role whole, since `kubectl apply` replaces the rules of one that is there. The binding is of this account
    /// alone: the one in `deploy/` may bind another account, and would lose it.
    fn manifest(&self, namespace: &str, name: &str) -> String {
        let role = self.role;
        let rule = rule(self.group, &[self.resource], self.verbs);
        let manifest = manifest(role, &rule);
        format!(
            "{manifest}---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {role}:{namespace}:{name}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {role}
subjects:
  - kind: ServiceAccount
    name: {name}
    namespace: {namespace}
"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands in a manifest of `deploy/`, but for the names of bindings.
    fn deployed(manifest: &str, role: &str, account: &str) -> String {
        let lines = manifest.lines().filter(|line| !line.starts_with('#'));
        let deployed = lines.collect::<Vec<_>>().join("\n") + "\n";
        let (before, binding) = deployed.split_once("kind: ClusterRoleBinding").unwrap();
        let named = format!("  name: {role}:{account}\n");
        let binding = binding.replacen(&format!("  name: {role}\n"), &named, 1);
        format!("{before}kind: ClusterRoleBinding{binding}")
    }

    #[test]
    fn the_job_that_plans_has_the_role_of_plan() {
        let text = include_str!("../../../deploy/preflight-plan/kustomization.yaml");
        let kustomization: serde_json::Value = yaml_serde::from_str(text).unwrap();
        let patches = kustomization["patches"].as_array().unwrap();
        let patch = patches
            .iter()
            .find(|it| it["target"]["kind"] == "ClusterRole");
        let patch = patch.unwrap()["patch"].as_str().unwrap();
        let patch: serde_json::Value = yaml_serde::from_str(patch).unwrap();
        let role: serde_json::Value = yaml_serde::from_str(&role(RbacFor::Plan)).unwrap();
        assert_eq!(patch[0]["value"], role["rules"]);
    }

    #[test]
    fn the_manifests_are_those_of_deploy() {
        let nodes = include_str!("../../../deploy/base/rbac.yaml");
        let [of_nodes, of_reviews] = &NEEDED;
        assert_eq!(
            of_nodes.manifest("kubewarden", "policy-server"),
            deployed(nodes, of_nodes.role, "kubewarden:policy-server")
        );
        let reviews =
            include_str!("../../../deploy/components/dedicated-policy-server/policy-server.yaml");
        let reviews = reviews.split("---\n").skip(1).take(2);
        let reviews = reviews.collect::<Vec<_>>().join("---\n");
        assert_eq!(
            of_reviews.manifest("kubewarden", "hco-architecture-guard"),
            deployed(
                &reviews,
                of_reviews.role,
                "kubewarden:hco-architecture-guard"
            )
        );
    }
}
