//! The ClusterAdmissionPolicy that we ship, and the webhook that Kubewarden's controller creates from it.

use e2e_tests::module::ROOT;
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

/// A ClusterAdmissionPolicy.
#[derive(Clone)]
pub(crate) struct Policy {
    manifest: Value,
}

impl Policy {
    /// The policy in `deploy/base`, which is in monitor mode.
    pub(crate) fn in_monitor_mode() -> Self {
        Self::among(manifests("deploy/base/policy.yaml"))
    }

    /// The policy in `deploy/` with `components/protect` and `components/fail-closed`: without them, nothing is denied.
    pub(crate) fn of_deploy() -> Self {
        let policy = Self::in_monitor_mode();
        let mut settings = policy.spec("settings").clone();
        let fields = settings.as_object_mut().expect("settings");
        fields.remove("denialsAsWarnings");
        policy
            .with("settings", settings)
            .with("mode", json!("protect"))
            .with("failurePolicy", json!("Fail"))
    }

    /// The policy that `components/repair` adds: a copy of the one in `deploy/` with the component's patch.
    pub(crate) fn that_repairs() -> Self {
        let component = &manifests("deploy/components/repair/kustomization.yaml")[0];
        let patch = component["patches"][0]["patch"].as_str().expect("a patch");
        let patch = &documents(patch)[0];
        let mut policy = Self::of_deploy();
        policy.manifest["metadata"]["name"] = patch["metadata"]["name"].clone();
        for (field, value) in patch["spec"].as_object().expect("a spec") {
            let value = match value.as_object() {
                None => value.clone(),
                Some(changes) => {
                    let mut fields = policy.spec(field).clone();
                    for (key, value) in changes.iter().filter(|(_, value)| !value.is_null()) {
                        fields[key] = value.clone();
                    }
                    fields
                }
            };
            policy = policy.with(field, value);
        }
        policy
    }

    /// The policy among these manifests.
    pub(crate) fn among(manifests: Vec<Value>) -> Self {
        let mut policies = manifests
            .into_iter()
            .filter(|manifest| manifest["kind"] == "ClusterAdmissionPolicy");
        let manifest = policies.next().expect("a ClusterAdmissionPolicy");
        Self { manifest }
    }

    /// The policy with another value in its spec; null removes the field.
    pub(crate) fn with(mut self, field: &str, value: Value) -> Self {
        let spec = self.manifest["spec"].as_object_mut().expect("a spec");
        spec.remove(field);
        if !value.is_null() {
            spec.insert(field.to_owned(), value);
        }
        self
    }

    pub(crate) fn is_mutating(&self) -> bool {
        self.spec("mutating") == &json!(true)
    }

    /// The API path of the webhook configurations that Kubewarden's controller creates for such policies.
    pub(crate) fn configurations(&self) -> &'static str {
        if self.is_mutating() {
            "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
        } else {
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        }
    }

    pub(crate) fn spec(&self, field: &str) -> &Value {
        &self.manifest["spec"][field]
    }

    /// Its unique name, which is used everywhere except in its manifest.
    ///
    /// MIRRORS: kubewarden-controller `api/policies/v1/clusteradmissionpolicy_types.go`, `GetUniqueName`.
    pub(crate) fn unique_name(&self) -> String {
        let name = self.manifest["metadata"]["name"].as_str();
        format!("clusterwide-{}", name.expect("a name"))
    }

    /// Its entry in policy-server's `policies.yml`, with our module.
    ///
    /// MIRRORS: kubewarden-controller `internal/controller/policyserver_controller_configmap.go`.
    pub(crate) fn entry(&self, module: &str) -> Value {
        let mut entry = json!({
            "module": module,
            "policyMode": self.spec("mode"),
            "allowedToMutate": self.spec("mutating"),
            "settings": self.spec("settings"),
            "contextAwareResources": self.spec("contextAwareResources"),
            "hostCapabilities": ["*"],
        });
        if let Some(timeout) = self.manifest["spec"].get("timeoutEvalSeconds") {
            entry["timeoutEvalSeconds"] = timeout.clone();
        }
        entry
    }

    /// The webhook configuration in the API server. The responses of `marker`, a second webhook, show
    /// whether the configuration is in effect.
    ///
    /// MIRRORS: kubewarden-controller `internal/controller/policy_subreconciler_webhook.go`,
    /// `reconcileValidatingWebhookConfiguration`, with the defaults of the CRD.
    /// DIVERGES: the address is a URL, because services have no routes here.
    pub(crate) fn webhook(&self, url: &str, authority: &str, marker: &Value) -> Value {
        use base64::Engine as _;
        let or = |field: &str, default: Value| match self.spec(field) {
            Value::Null => default,
            output => output.clone(),
        };
        let name = self.unique_name();
        let mut webhook = Map::from_iter([
            (
                "name".to_owned(),
                json!(format!("{name}.kubewarden.admission")),
            ),
            (
                "clientConfig".to_owned(),
                json!({
                    "url": format!("{url}/validate/{name}"),
                    "caBundle": base64::engine::general_purpose::STANDARD.encode(authority),
                }),
            ),
            ("rules".to_owned(), self.spec("rules").clone()),
            (
                "failurePolicy".to_owned(),
                or("failurePolicy", json!("Fail")),
            ),
            (
                "matchPolicy".to_owned(),
                or("matchPolicy", json!("Equivalent")),
            ),
            ("namespaceSelector".to_owned(), self.namespace_selector()),
            ("objectSelector".to_owned(), or("objectSelector", json!({}))),
            ("sideEffects".to_owned(), or("sideEffects", json!("None"))),
            ("timeoutSeconds".to_owned(), or("timeoutSeconds", json!(10))),
            ("admissionReviewVersions".to_owned(), json!(["v1"])),
        ]);
        if let Some(conditions) = self.manifest["spec"].get("matchConditions") {
            webhook.insert("matchConditions".to_owned(), conditions.clone());
        }
        let kind = if self.is_mutating() {
            "Mutating"
        } else {
            "Validating"
        };
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": format!("{kind}WebhookConfiguration"),
            "metadata": {
                "name": name,
                "labels": {"app.kubernetes.io/part-of": "kubewarden"},
                "annotations": {
                    "kubewardenPolicyName": self.manifest["metadata"]["name"],
                    "kubewardenPolicyNamespace": "",
                },
            },
            "webhooks": [Value::Object(webhook), marker],
        })
    }

    /// MIRRORS: kubewarden-controller `internal/controller/policy_subreconciler_webhook.go`,
    /// `namespaceSelector`: it copies the expressions of the policy's own selector, but drops its labels.
    fn namespace_selector(&self) -> Value {
        let mut expressions = vec![json!({
            "key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kubewarden"],
        })];
        let own = &self.spec("namespaceSelector")["matchExpressions"];
        expressions.extend(own.as_array().cloned().unwrap_or_default());
        json!({"matchExpressions": expressions})
    }
}

/// The manifests of a file of ours.
pub(crate) fn manifests(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(format!("{ROOT}/{file}"));
    documents(&text.unwrap_or_else(|error| panic!("{file}: {error}")))
}

/// The documents in a text.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    yaml_serde::Deserializer::from_str(text)
        .map(|document| Value::deserialize(document).expect("a manifest"))
        .collect()
}
