//! Scenario 8: the manifests of `deploy/` are accepted, and the RBAC among them grants what it says and nothing
//! more.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::module::ROOT;
use crate::policy::{Policy, documents};
use crate::waiting::until;
use crate::world::World;

/// Beside HCO's: those of Kubewarden, if somebody has put them there.
const CRDS: [&str; 2] = [
    "kubewarden-clusteradmissionpolicies.yaml",
    "kubewarden-policyservers.yaml",
];

pub(crate) fn run(world: &World<'_>) {
    let kubewarden = install_kubewarden(world);
    let overlays = std::fs::read_dir(format!("{ROOT}/deploy/overlays")).expect("overlays");
    let mut folders: Vec<String> = overlays
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| format!("overlays/{}", name.to_string_lossy()))
        .collect();
    folders.push("base".to_owned());
    folders.sort();
    assert!(folders.len() > 3, "{folders:?}");
    let before = Rules::of(world);
    for folder in &folders {
        let path = format!("{ROOT}/deploy/{folder}");
        if kubewarden {
            is_accepted(world, &path);
        }
        let rendered = world.admin.run(&["kustomize", &path]);
        assert_eq!(rendered.code, Some(0), "{rendered:?}");
        let manifests = documents(&rendered.stdout);
        the_controller_makes_a_webhook_of_it(world, folder, &Policy::among(manifests.clone()));
        grants_what_it_says(world, &before, folder, &manifests);
    }
}

/// Whether Kubewarden's `CustomResourceDefinitions` are there to be installed.
fn install_kubewarden(world: &World<'_>) -> bool {
    let files = CRDS.map(|name| Path::new(ROOT).join("../shared/crds").join(name));
    if !files.iter().all(|file| file.is_file()) {
        println!("scenario 8 leaves out Kubewarden's own resources: ../shared/crds is not there");
        return false;
    }
    for file in &files {
        let said = world
            .admin
            .run(&["create", "-f", &file.display().to_string()]);
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    for resource in ["clusteradmissionpolicies", "policyservers"] {
        let path = format!("/apis/policies.kubewarden.io/v1/{resource}");
        until("Kubewarden's resources are served", || {
            match world.api().text(&path)? {
                (status, _) if status.is_success() => Ok(()),
                (status, body) => Err(format!("{status}: {body}")),
            }
        });
    }
    true
}

/// As docs/rollout.md tells users to apply it; in a dry run, since here is no controller.
fn is_accepted(world: &World<'_>, path: &str) {
    let said = world.admin.run(&["apply", "--dry-run=server", "-k", path]);
    assert!(
        said.code == Some(0) && said.stderr.is_empty(),
        "{path}: {said:?}"
    );
    for line in said.stdout.lines() {
        assert!(
            line.ends_with(" created (server dry run)"),
            "{path}: {line}"
        );
    }
    let policy = "clusteradmissionpolicy.policies.kubewarden.io/hco-architecture-guard created";
    assert!(said.stdout.contains(policy), "{path}: {}", said.stdout);
}

/// The API server compiles the expressions of the webhook that Kubewarden's controller would make of it, and
/// nothing that the overlay says gets lost on the way.
fn the_controller_makes_a_webhook_of_it(world: &World<'_>, folder: &str, policy: &Policy) {
    let authority = &world.control_plane.certificates.authority;
    let mut webhook = policy.webhook("https://127.0.0.1:1", authority, &json!({}));
    webhook["webhooks"].as_array_mut().expect("webhooks").pop();
    world.api().must(
        "POST",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?dryRun=All",
        Some(&webhook),
    );
    let selector = policy.spec("namespaceSelector");
    let taken_over = &webhook["webhooks"][0]["namespaceSelector"]["matchExpressions"];
    let expressions = taken_over.as_array().expect("expressions").len();
    let fields = selector.as_object().map_or(0, serde_json::Map::len);
    assert_eq!(expressions, 1 + fields, "{folder}: {selector}");
}

/// Applied for real: the account of the policy-server, and that of the audit scanner, may do this and no more.
fn grants_what_it_says(world: &World<'_>, before: &Rules, folder: &str, manifests: &[Value]) {
    let mut applied = Vec::new();
    for manifest in manifests {
        let kind = manifest["kind"].as_str().unwrap_or_default();
        let path = match kind {
            "ServiceAccount" => "/api/v1/namespaces/kubewarden/serviceaccounts".to_owned(),
            "ClusterRole" | "ClusterRoleBinding" => {
                format!(
                    "/apis/rbac.authorization.k8s.io/v1/{}s",
                    kind.to_lowercase()
                )
            }
            _ => continue,
        };
        world.api().must("POST", &path, Some(manifest));
        let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
        applied.push(format!("{path}/{name}"));
    }
    let account = Policy::among(manifests.to_vec()).spec("settings")["serviceAccount"].clone();
    let account = account.as_str().unwrap_or_default();
    let account = account.trim_start_matches("kubewarden/");
    let nodes = ["get nodes", "list nodes", "watch nodes"];
    let mut wanted = BTreeSet::from(nodes.map(str::to_owned));
    // The chart's account may ask for reviews already, and more that it needs for others.
    if account != "policy-server" {
        wanted.insert("create subjectaccessreviews".to_owned());
    }
    before.plus(world, account, &wanted, folder);
    let audited = ["get hyperconvergeds", "list hyperconvergeds"];
    let audited = BTreeSet::from(audited.map(str::to_owned));
    before.plus(world, "audit-scanner", &audited, folder);
    // The next overlay begins where this one did.
    for path in applied {
        world.api().must("DELETE", &path, None);
    }
}

/// What accounts may do.
struct Rules {
    policy_server: BTreeSet<String>,
    anybody: BTreeSet<String>,
}

impl Rules {
    fn of(world: &World<'_>) -> Self {
        let account = |name: &str| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
        for name in ["audit-scanner", "anybody"] {
            let accounts = "/api/v1/namespaces/kubewarden/serviceaccounts";
            world.api().must("POST", accounts, Some(&account(name)));
        }
        Self {
            policy_server: rules(world, "policy-server"),
            anybody: rules(world, "anybody"),
        }
    }

    /// An account may do this beyond what it, or anybody, could before. RBAC is read from a watch: what is
    /// asked for is what the API server says in the end.
    fn plus(&self, world: &World<'_>, account: &str, wanted: &BTreeSet<String>, folder: &str) {
        let before = match account {
            "policy-server" => &self.policy_server,
            _ => &self.anybody,
        };
        until(
            &format!("{folder} grants what it says to {account}"),
            || {
                let now = rules(world, account);
                let added: BTreeSet<String> = now.difference(before).cloned().collect();
                let seen = format!("{added:?}");
                (added == *wanted).then_some(()).ok_or(seen)
            },
        );
    }
}

/// What an account may do, as the API server tells it.
fn rules(world: &World<'_>, account: &str) -> BTreeSet<String> {
    let api = world.api().with_token(&world.token_of(account));
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "kubewarden"},
    });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let review = api.must("POST", path, Some(&review));
    assert_eq!(review["status"]["incomplete"], false, "{review}");
    let mut rules = BTreeSet::new();
    for rule in review["status"]["resourceRules"].as_array().expect("rules") {
        for verb in texts(&rule["verbs"]) {
            rules.extend(texts(&rule["resources"]).map(|resource| format!("{verb} {resource}")));
        }
    }
    rules
}

fn texts(values: &Value) -> impl Iterator<Item = &str> {
    values
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}
