//! A cluster with everything that a scenario needs at the start: HCO's `CustomResourceDefinition`, its namespace, an
//! administrator and a developer with kubectl, and the policy as a webhook.

use std::cell::RefCell;
use std::collections::BTreeSet;

use e2e_tests::ClusterOf;
use serde_json::{Value, json};

use crate::admission;
use crate::api::Api;
use crate::control_plane::{ControlPlane, Programs, User};
use crate::crd::Crd;
use crate::kubectl::{Kubectl, KubectlOutput};
use crate::policy::{Policy, manifests};
use crate::waiting::until;
use crate::webhook::{Kind, Webhook};

/// The namespace of HCO upstream.
pub(crate) const NAMESPACE: &str = "kubevirt-hyperconverged";

/// The name of the policy's webhook in all messages.
pub(crate) const WEBHOOK: &str = "clusterwide-hco-architecture-guard.kubewarden.admission";

/// A cluster for a scenario.
pub(crate) struct World<'w> {
    pub(crate) kind: &'w Kind,
    pub(crate) crd: &'w Crd,
    /// The webhooks: the policy, and other policies that are deployed with it.
    webhooks: RefCell<Vec<Webhook>>,
    pub(crate) admin: Kubectl,
    pub(crate) developer: Kubectl,
    pub(crate) control_plane: ControlPlane,
}

/// The permissions of the developer.
const DEVELOPER: [(&str, &str, &[&str]); 3] = [
    ("", "nodes", &["get", "list"]),
    ("hco.kubevirt.io", "hyperconvergeds", &["*"]),
    ("hco.kubevirt.io", "hyperconvergeds/status", &["*"]),
];

/// The permissions that Kubewarden's chart grants to the policy-server.
///
/// MIRRORS: kubewarden-controller `charts/kubewarden-defaults/values.yaml`, `policyServer.permissions`.
const POLICY_SERVER: [(&str, &str, &[&str]); 5] = [
    ("", "namespaces", &["get", "list", "watch"]),
    ("", "pods", &["get", "list", "watch"]),
    ("", "services", &["get", "list", "watch"]),
    ("networking.k8s.io", "ingresses", &["get", "list", "watch"]),
    ("authorization.k8s.io", "subjectaccessreviews", &["create"]),
];

impl<'w> World<'w> {
    /// A cluster without nodes and webhooks.
    pub(crate) fn new(programs: &Programs, kind: &'w Kind, crd: &'w Crd) -> Self {
        let control_plane = ControlPlane::start(programs);
        let api = &control_plane.api;
        api.must(
            "POST",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            Some(&crd.object),
        );
        for name in [NAMESPACE, "kubewarden"] {
            let namespace =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            api.must("POST", "/api/v1/namespaces", Some(&namespace));
        }
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "policy-server"}});
        let accounts = "/api/v1/namespaces/kubewarden/serviceaccounts";
        api.must("POST", accounts, Some(&account));
        let account =
            json!({"kind": "ServiceAccount", "name": "policy-server", "namespace": "kubewarden"});
        grant(api, "kubewarden-context-watcher", &POLICY_SERVER, &account);
        let developers =
            json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "developers"});
        grant(api, "developers", &DEVELOPER, &developers);

        let kubectl = |user| Kubectl::new(&programs.kubectl, &control_plane, user);
        let (admin, developer) = (kubectl(User::Admin), kubectl(User::Developer));
        let list = format!(
            "/apis/hco.kubevirt.io/{}/hyperconvergeds?resourceVersion=0",
            crd.version
        );
        until("HyperConvergeds are served", || match api.text(&list)? {
            (status, _) if status.is_success() => Ok(()),
            (status, body) => Err(format!("{status}: {body}")),
        });
        // kubectl caches for hours what it discovers first.
        until("HyperConvergeds are in the discovery", || {
            let (_, found) = api.try_to("GET", "/apis/hco.kubevirt.io", None)?;
            let found = found["preferredVersion"]["version"].to_string();
            (found == format!("{:?}", crd.version))
                .then_some(())
                .ok_or(found)
        });
        Self {
            kind,
            crd,
            webhooks: RefCell::default(),
            admin,
            developer,
            control_plane,
        }
    }

    pub(crate) fn api(&self) -> &Api {
        &self.control_plane.api
    }

    /// Creates these `CustomResourceDefinition`s of other projects, and waits until their objects can be read.
    pub(crate) fn serves_all(&self, names: &[&str]) {
        for name in names {
            let definition = yaml_serde::from_str(&e2e_tests::crd(name)).expect("a manifest");
            self.serves(&definition);
        }
    }

    /// The same for one that a scenario writes itself.
    pub(crate) fn serves(&self, definition: &Value) {
        let api = self.api();
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        api.must("POST", definitions, Some(definition));
        let spec = &definition["spec"];
        let versions = spec["versions"].as_array().expect("versions");
        let served = versions.iter().find(|it| it["served"] == true);
        let version = served.and_then(|it| it["name"].as_str());
        let path = format!(
            "/apis/{}/{}/{}",
            spec["group"].as_str().expect("a group"),
            version.expect("a version"),
            spec["names"]["plural"].as_str().expect("a name")
        );
        until("the objects are served", || match api.text(&path)? {
            (status, _) if status.is_success() => Ok(()),
            (status, body) => Err(format!("{status}: {body}")),
        });
    }

    /// Allows policy-server to read nodes, as `deploy/` does.
    pub(crate) fn grant_nodes(&self) {
        for manifest in manifests("deploy/base/rbac.yaml") {
            let kind = manifest["kind"].as_str().unwrap_or_default().to_lowercase();
            let path = format!("/apis/rbac.authorization.k8s.io/v1/{kind}s");
            self.api().must("POST", &path, Some(&manifest));
        }
    }

    /// Deploys the policy as in `deploy/`, with the permissions that it needs.
    pub(crate) fn deploy(&self, cluster: &str) {
        self.grant_nodes();
        self.deploy_policy(&Policy::of_deploy());
        self.nodes(cluster);
    }

    /// Deploys a policy, in place of the previous ones.
    pub(crate) fn deploy_policy(&self, policy: &Policy) {
        // The previous webhooks are no longer needed, but use ports and files.
        self.webhooks.take();
        self.deploy_beside(policy);
    }

    /// Deploys a policy, in addition to the previous ones.
    pub(crate) fn deploy_beside(&self, policy: &Policy) {
        let token = self.token_of("policy-server");
        let webhook = Webhook::start(self.kind, policy, &self.control_plane, &token);
        self.configure(policy, webhook.url());
        self.webhooks.borrow_mut().push(webhook);
    }

    /// Registers a webhook with the API server.
    pub(crate) fn configure(&self, policy: &Policy, url: &str) {
        let authority = &self.control_plane.certificates.authority;
        admission::configure(self.api(), policy, url, authority);
    }

    /// The address of the webhook.
    pub(crate) fn url(&self) -> String {
        let webhooks = self.webhooks.borrow();
        webhooks
            .first()
            .expect("a webhook is deployed")
            .url()
            .to_owned()
    }

    /// Sends an object to the webhook directly, as the API server would; returns its response.
    pub(crate) fn ask(&self, object: &Value) -> Result<Value, String> {
        let webhooks = self.webhooks.borrow();
        let webhook = webhooks.first().ok_or("no webhook is deployed")?;
        let authority = &self.control_plane.certificates.authority;
        let policy = Policy::of_deploy().unique_name();
        let (status, answer) = Api::new(webhook.url(), "", authority).try_to(
            "POST",
            &format!("/validate/{policy}"),
            Some(&admission::review(object)),
        )?;
        if status.is_success() {
            Ok(answer["response"].clone())
        } else {
            Err(format!("{status}: {answer}"))
        }
    }

    /// Makes the nodes of a file in `e2e-tests/cases/clusters/` the only nodes, and waits until the webhook sees them.
    pub(crate) fn nodes(&self, cluster: &str) {
        self.wait_until_seen(&self.set_nodes(cluster));
    }

    /// Makes the nodes of a file in `e2e-tests/cases/clusters/` the only nodes.
    pub(crate) fn set_nodes(&self, cluster: &str) -> Vec<Value> {
        let list = ClusterOf::Name(cluster.to_owned()).list_of_api_server();
        let list = list.expect("a cluster")["items"].take();
        let wanted: Vec<Value> = list.as_array().expect("nodes").clone();
        let there = self.api().get("/api/v1/nodes");
        let there = there["items"].as_array().expect("nodes");
        for gone in there.iter().filter(|&node| !has(&wanted, node)) {
            let name = gone["metadata"]["name"].as_str().unwrap_or_default();
            let path = format!("/api/v1/nodes/{name}");
            self.api().must("DELETE", &path, None);
        }
        for new in wanted.iter().filter(|&node| !has(there, node)) {
            self.api().must("POST", "/api/v1/nodes", Some(new));
        }
        wanted
    }

    /// Waits until the webhook sees these architectures: policy-server reads nodes from a watch.
    pub(crate) fn wait_until_seen(&self, nodes: &[Value]) {
        let of = |roles: &[&str]| {
            let is = |node: &&Value| {
                let labels = &node["metadata"]["labels"];
                let label = |role: &&str| labels.get(format!("node-role.kubernetes.io/{role}"));
                roles.iter().find_map(label).is_some()
            };
            let architectures: BTreeSet<&str> = nodes
                .iter()
                .filter(is)
                .filter_map(|node| node["status"]["nodeInfo"]["architecture"].as_str())
                .collect();
            let architectures: Vec<&str> = architectures.into_iter().collect();
            match architectures.join(",").as_str() {
                "" => json!("none"),
                architectures => json!(architectures),
            }
        };
        let wanted = (of(&["worker"]), of(&["control-plane", "master"]));
        let probe = self.hyperconverged(&json!({}));
        until("the webhook sees the nodes", || {
            let answer = self.ask(&probe)?;
            let seen = &answer["auditAnnotations"];
            let seen = (
                seen["workload-architectures"].clone(),
                seen["control-plane-architectures"].clone(),
            );
            if seen == wanted {
                Ok(())
            } else {
                Err(format!("wanted {wanted:?}, came to {answer}"))
            }
        });
    }

    /// A HyperConverged of the version that the cluster has.
    pub(crate) fn hyperconverged(&self, spec: &Value) -> Value {
        json!({
            "apiVersion": format!("hco.kubevirt.io/{}", self.crd.version),
            "kind": "HyperConverged",
            "metadata": {"name": "kubevirt-hyperconverged", "namespace": NAMESPACE},
            "spec": spec,
        })
    }

    /// The developer creates it, without a warning.
    #[track_caller]
    pub(crate) fn creates(&self, spec: &Value) {
        self.write("create", spec)
            .prints("hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged created\n");
    }

    /// The developer replaces it, with a warning that begins with each of these.
    #[track_caller]
    pub(crate) fn replaces(&self, spec: &Value, warnings: &[&str]) {
        let replaced = "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged replaced\n";
        self.write("replace", spec)
            .prints_with_warnings(replaced, warnings);
    }

    /// The developer's replacement is denied: see [`KubectlOutput::is_denied`].
    #[track_caller]
    pub(crate) fn replaces_not(&self, spec: &Value, warnings: &[&str], problems: &[(&str, &str)]) {
        self.write("replace", spec).is_denied(warnings, problems);
    }

    /// The developer writes it with this verb.
    pub(crate) fn write(&self, verb: &str, spec: &Value) -> KubectlOutput {
        let object = self.hyperconverged(spec).to_string();
        self.developer.file("hyperconverged.yaml", &object);
        self.developer.run(&[verb, "-f", "hyperconverged.yaml"])
    }

    /// The path of the collection in the API.
    pub(crate) fn collection(&self) -> String {
        let version = self.crd.version;
        format!("/apis/hco.kubevirt.io/{version}/namespaces/{NAMESPACE}/hyperconvergeds")
    }

    /// The path of the object in the API.
    pub(crate) fn path(&self) -> String {
        format!("{}/kubevirt-hyperconverged", self.collection())
    }

    /// A token of a service account in Kubewarden's namespace, as its Pod has one.
    pub(crate) fn token_of(&self, account: &str) -> String {
        let request =
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        let path = format!("/api/v1/namespaces/kubewarden/serviceaccounts/{account}/token");
        let answer = self.api().must("POST", &path, Some(&request));
        let token = answer["status"]["token"].as_str();
        token.expect("a token").to_owned()
    }
}

/// The verbs on a resource for an account, in the whole cluster.
pub(crate) fn grant(api: &Api, name: &str, rules: &[(&str, &str, &[&str])], subject: &Value) {
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let rules: Vec<Value> = rules
        .iter()
        .map(|(group, resource, verbs)| {
            json!({"apiGroups": [group], "resources": [resource], "verbs": verbs})
        })
        .collect();
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules,
    });
    api.must("POST", &format!("{rbac}/clusterroles"), Some(&role));
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [subject],
    });
    api.must(
        "POST",
        &format!("{rbac}/clusterrolebindings"),
        Some(&binding),
    );
}

/// Whether this node is in the list: a node with the same name can have another architecture.
fn has(nodes: &[Value], node: &Value) -> bool {
    let is = |node: &Value| {
        let (metadata, info) = (&node["metadata"], &node["status"]["nodeInfo"]);
        let (name, labels) = (&metadata["name"], &metadata["labels"]);
        [name, labels, &info["architecture"]].map(Value::clone)
    };
    nodes.iter().any(|other| is(other) == is(node))
}
