//! The webhooks that the API server calls, and whether a configuration is in effect.

use serde_json::{Value, json};

use crate::api::Api;
use crate::policy::Policy;
use crate::waiting::until;

/// Registers a webhook with the API server, in place of the previous one, and waits until it is in effect.
///
/// The API server reads its configurations from a watch, and does not report when it has read them. So a second
/// webhook rejects only `ConfigMaps` with a label of this configuration: once it does,
/// the configuration is in effect.
///
/// MIRRORS: kubernetes `test/e2e/apimachinery/webhook.go`, `waitWebhookConfigurationReady`.
pub(crate) fn configure(api: &Api, policy: &Policy, url: &str, authority: &str) {
    let configurations = policy.configurations();
    let path = format!("{configurations}/{}", policy.unique_name());
    let (old, version) = match api.try_to("GET", &path, None) {
        Ok((status, old)) if status.is_success() => {
            let version = old["metadata"]["resourceVersion"].clone();
            (true, version)
        }
        _ => (false, json!("0")),
    };
    let marker = json!({
        "name": "marker.e2e.test",
        // Nothing listens there, so the API server rejects the request.
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}],
        "objectSelector": {"matchLabels": {policy.unique_name(): format!("after-{}", version.as_str().unwrap_or_default())}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    });
    let mut configuration = policy.webhook(url, authority, &marker);
    if old {
        configuration["metadata"]["resourceVersion"] = version;
        api.must("PUT", &path, Some(&configuration));
    } else {
        api.must("POST", configurations, Some(&configuration));
    }
    let probe = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "probe", "labels": marker["objectSelector"]["matchLabels"]},
    });
    until("the webhook is in effect", || {
        let (_, answer) = api.try_to(
            "POST",
            "/api/v1/namespaces/default/configmaps?dryRun=All",
            Some(&probe),
        )?;
        let text = answer["message"].as_str().unwrap_or_default();
        if text.contains("marker.e2e.test") {
            Ok(())
        } else {
            Err(answer.to_string())
        }
    });
}

/// An `AdmissionReview` of a HyperConverged, as the API server sends it.
pub(crate) fn review(object: &Value) -> Value {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let version = version.trim_start_matches("hco.kubevirt.io/");
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "00000000-0000-0000-0000-000000000000",
            "kind": {"group": "hco.kubevirt.io", "version": version, "kind": "HyperConverged"},
            "resource": {"group": "hco.kubevirt.io", "version": version, "resource": "hyperconvergeds"},
            "operation": "CREATE",
            "name": object["metadata"]["name"],
            "namespace": object["metadata"]["namespace"],
            "userInfo": {"username": "e2e"},
            "object": object,
        },
    })
}
