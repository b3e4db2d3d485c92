//! Scenario 8: the manifests in `deploy/` are accepted, and their RBAC grants the documented permissions and nothing
//! more.

use std::collections::BTreeSet;

use e2e_tests::Page;
use e2e_tests::module::ROOT;
use serde_json::{Value, json};

use crate::policy::{Policy, documents};
use crate::waiting::until;
use crate::world::World;

const POLICY: &str = "clusteradmissionpolicy.policies.kubewarden.io/hco-architecture-guard created";

pub(crate) fn run(world: &World<'_>) {
    world.serves_all(&[
        "kubewarden-clusteradmissionpolicies",
        "kubewarden-policyservers",
    ]);
    let overlays = std::fs::read_dir(format!("{ROOT}/deploy/overlays")).expect("overlays");
    let mut folders: Vec<String> = overlays
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| format!("overlays/{}", name.to_string_lossy()))
        .collect();
    folders.push("base".to_owned());
    folders.sort();
    assert_eq!(folders.len(), 4, "{folders:?}");
    let job = format!("{ROOT}/deploy/preflight-job");
    is_accepted(world, &job, "job.batch/hco-preflight created");
    the_page_about_images_is_accepted(world);
    let before = Rules::of(world);
    for folder in &folders {
        let path = format!("{ROOT}/deploy/{folder}");
        is_accepted(world, &path, POLICY);
        let rendered = world.admin.run(&["kustomize", &path]);
        assert_eq!(rendered.code, Some(0), "{rendered:?}");
        let manifests = documents(&rendered.stdout);
        the_controller_makes_a_webhook_of_it(world, folder, &Policy::among(manifests.clone()));
        has_the_grants_that_it_needs(world, &before, folder, &manifests);
    }
    super::combinations::run(world);
}

/// As in docs/operate.md, but as a dry run, because there is no controller.
pub(super) fn is_accepted(world: &World<'_>, path: &str, wanted: &str) {
    let output = world.admin.run(&["apply", "--dry-run=server", "-k", path]);
    assert!(
        output.code == Some(0) && output.stderr.is_empty(),
        "{path}: {output:?}"
    );
    for line in output.stdout.lines() {
        assert!(
            line.ends_with(" created (server dry run)"),
            "{path}: {line}"
        );
    }
    assert!(output.stdout.contains(wanted), "{path}: {}", output.stdout);
}

/// The `PolicyServer` in docs/options.md, and the settings.
fn the_page_about_images_is_accepted(world: &World<'_>) {
    let text = std::fs::read_to_string(format!("{ROOT}/docs/options.md")).expect("the page");
    let page = Page {
        id: "options".to_owned(),
        text,
    };
    let mut kinds = Vec::new();
    let blocks = page.blocks();
    let blocks = blocks.iter().filter(|(info, block)| {
        // The test of the commands renders kustomizations.
        *info == "yaml" && !block.contains("kind: Kustomization")
    });
    for (_, block) in blocks {
        for manifest in documents(block) {
            let Some(kind) = manifest["kind"].as_str() else {
                // The settings at the top of the page.
                assert_eq!(
                    engine::validate_settings(manifest.to_string().as_bytes()),
                    Ok(())
                );
                continue;
            };
            world.admin.file("options.yaml", &manifest.to_string());
            let apply = ["apply", "--dry-run=server", "-f", "options.yaml"];
            let output = world.admin.run(&apply);
            assert!(
                output.code == Some(0) && output.stderr.is_empty(),
                "{kind}: {output:?}"
            );
            kinds.push(kind.to_owned());
        }
    }
    assert_eq!(kinds, ["PolicyServer"]);
}

/// The API server compiles the expressions of the webhook that Kubewarden's controller would create, and
/// no field of the overlay is lost.
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

/// Applied for real: the accounts of the policy-server and of the audit scanner can do this and nothing else.
fn has_the_grants_that_it_needs(
    world: &World<'_>,
    before: &Rules,
    folder: &str,
    manifests: &[Value],
) {
    let account = Policy::among(manifests.to_vec()).spec("settings")["serviceAccount"].clone();
    let account = account.as_str().unwrap_or_default();
    let account = account.trim_start_matches("kubewarden/");
    let applied = Applied::new(world, folder, manifests);

    let nodes = ["list /nodes", "watch /nodes"];
    let mut wanted = BTreeSet::from(nodes.map(str::to_owned));
    // The chart's account can already create reviews, and has more permissions for other policies.
    if account != "policy-server" {
        wanted.insert("create authorization.k8s.io/subjectaccessreviews".to_owned());
    }
    let audited = ["get", "list"].map(|verb| format!("{verb} hco.kubevirt.io/hyperconvergeds"));
    for (account, wanted) in [
        (account, wanted),
        ("audit-scanner", BTreeSet::from(audited)),
        ("anybody", BTreeSet::new()),
    ] {
        let added = before.plus(world, account, &applied.marker);
        assert_eq!(added, wanted, "{folder}: {account}");
    }

    for (who, verb, group, resource, may) in [
        (account, "list", "", "nodes", true),
        (account, "watch", "", "nodes", true),
        (account, "get", "", "nodes", false),
        (account, "patch", "", "nodes", false),
        (account, "get", "", "nodes/proxy", false),
        (account, "get", "", "secrets", false),
        (account, "list", "hco.kubevirt.io", "hyperconvergeds", false),
        (
            "audit-scanner",
            "list",
            "hco.kubevirt.io",
            "hyperconvergeds",
            true,
        ),
        (
            "audit-scanner",
            "delete",
            "hco.kubevirt.io",
            "hyperconvergeds",
            false,
        ),
        ("audit-scanner", "list", "", "nodes", false),
    ] {
        let asked = format!("{folder}: {who}: {verb} {resource}");
        assert_eq!(allowed(world, who, verb, group, resource), may, "{asked}");
    }
    applied.delete(world, before, account);
}

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const ACCOUNTS: &str = "/api/v1/namespaces/kubewarden/serviceaccounts";

/// The objects of an overlay that were applied and that the API server's authorizer uses.
struct Applied {
    accounts: Vec<String>,
    grants: Vec<String>,
    /// A permission of all accounts in Kubewarden's namespace, granted last.
    marker: String,
}

impl Applied {
    fn new(world: &World<'_>, folder: &str, manifests: &[Value]) -> Self {
        let (mut accounts, mut grants) = (Vec::new(), Vec::new());
        let mut create = |manifest: &Value| {
            let kind = manifest["kind"].as_str().unwrap_or_default();
            let group = manifest["apiVersion"].as_str().unwrap_or_default();
            let (path, created) = match kind {
                "ServiceAccount" => (ACCOUNTS.to_owned(), &mut accounts),
                "ClusterRole" | "ClusterRoleBinding" => {
                    (format!("{RBAC}/{}s", kind.to_lowercase()), &mut grants)
                }
                _ => {
                    assert!(!group.starts_with("rbac."), "{folder}: a {kind} too");
                    return;
                }
            };
            world.api().must("POST", &path, Some(manifest));
            let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
            created.push(format!("{path}/{name}"));
        };
        manifests.iter().for_each(&mut create);
        // Each kind is read from a separate watch, in the order in which its objects were written: when the last
        // object of both kinds is seen, all objects are.
        let name = format!("marker-{}", folder.replace('/', "-"));
        let header = |kind: &str| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}});
        let mut role = header("ClusterRole");
        role["rules"] = json!([{"apiGroups": ["e2e.test"], "resources": [name], "verbs": ["get"]}]);
        let mut binding = header("ClusterRoleBinding");
        binding["roleRef"] =
            json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
        binding["subjects"] = json!([
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:serviceaccounts:kubewarden"},
        ]);
        create(&role);
        create(&binding);
        Self {
            accounts,
            grants,
            marker: format!("get e2e.test/{name}"),
        }
    }

    /// The next overlay starts from the same state.
    fn delete(self, world: &World<'_>, before: &Rules, account: &str) {
        for path in self.grants {
            world.api().must("DELETE", &path, None);
        }
        for account in [account, "policy-server", "audit-scanner", "anybody"] {
            until("nothing is granted any more", || {
                let now = rules(world, account)?;
                let seen = format!("{account}: {now:?}");
                (now == *before.of_account(account))
                    .then_some(())
                    .ok_or(seen)
            });
        }
        for path in self.accounts {
            world.api().must("DELETE", &path, None);
        }
    }
}

/// The permissions of accounts.
struct Rules {
    policy_server: BTreeSet<String>,
    anybody: BTreeSet<String>,
}

impl Rules {
    fn of(world: &World<'_>) -> Self {
        let account = |name: &str| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
        for name in ["audit-scanner", "anybody"] {
            world.api().must("POST", ACCOUNTS, Some(&account(name)));
        }
        let rules = |account| until("the account is known", || rules(world, account));
        Self {
            policy_server: rules("policy-server"),
            anybody: rules("anybody"),
        }
    }

    fn of_account(&self, account: &str) -> &BTreeSet<String> {
        match account {
            "policy-server" => &self.policy_server,
            _ => &self.anybody,
        }
    }

    /// The permissions that an account has gained, once it has the permission of the marker.
    fn plus(&self, world: &World<'_>, account: &str, marker: &str) -> BTreeSet<String> {
        let mut now = until("the grants are in effect", || {
            let now = rules(world, account)?;
            let seen = format!("{account}: {now:?}");
            now.contains(marker).then_some(now).ok_or(seen)
        });
        now.remove(marker);
        now.difference(self.of_account(account)).cloned().collect()
    }
}

/// The permissions of an account, as the API server reports them: a verb, and a resource.
fn rules(world: &World<'_>, account: &str) -> Result<BTreeSet<String>, String> {
    let api = world.api().with_token(&world.token_of(account));
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "kubewarden"},
    });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let (_, review) = api.try_to("POST", path, Some(&review))?;
    let status = &review["status"];
    // The API server may not know a new account yet.
    if status["incomplete"] != false {
        return Err(review.to_string());
    }
    let mut rules = BTreeSet::new();
    for rule in status["resourceRules"].as_array().expect("rules") {
        for verb in texts(&rule["verbs"]) {
            for group in texts(&rule["apiGroups"]) {
                for resource in texts(&rule["resources"]) {
                    let names: Vec<&str> = texts(&rule["resourceNames"]).collect();
                    let names = match names.join(", ") {
                        none if none.is_empty() => none,
                        names => format!(" named {names}"),
                    };
                    rules.insert(format!("{verb} {group}/{resource}{names}"));
                }
            }
        }
    }
    for rule in status["nonResourceRules"].as_array().expect("rules") {
        for verb in texts(&rule["verbs"]) {
            let urls = texts(&rule["nonResourceURLs"]);
            rules.extend(urls.map(|url| format!("{verb} {url}")));
        }
    }
    Ok(rules)
}

/// Whether a service account can do something in all namespaces, as an administrator checks it.
fn allowed(world: &World<'_>, account: &str, verb: &str, group: &str, resource: &str) -> bool {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": format!("system:serviceaccount:kubewarden:{account}"),
            "groups": ["system:serviceaccounts", "system:serviceaccounts:kubewarden", "system:authenticated"],
            "resourceAttributes": {"verb": verb, "group": group, "resource": resource, "subresource": subresource},
        },
    });
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let review = world.api().must("POST", path, Some(&review));
    review["status"]["allowed"] == true
}

fn texts(values: &Value) -> impl Iterator<Item = &str> {
    values
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}
