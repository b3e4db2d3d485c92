//! The preflight library as a webhook: the embedded module, with host calls that the API server answers.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use e2e_tests::{Verdict, module};
use policy_host::{HostCalls, HostError, Options, Registries, handler_error};
use registry::Sources;
use serde::Deserialize as _;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::grants::{Capabilities, Granted, Resource};
use super::server::Server;
use super::timely::Timely;
use crate::api::Api;
use crate::control_plane::ControlPlane;
use crate::policy::Policy;

struct Serving {
    module: policy_host::Policy,
    policy: Policy,
    host: Arc<dyn HostCalls>,
    /// The limit for all host calls of an evaluation. The module needs the remaining time to report a missing response.
    limit: Duration,
    /// As many as policy-server has: the time in the queue counts for the timeout of the webhook, but not for
    /// the limit of the module.
    workers: Semaphore,
}

const WORKERS: usize = 2;

/// The timeout of a policy without one, in seconds; the default of policy-server.
const DEADLINE: u64 = 2;

pub(super) fn start(policy: &Policy, control_plane: &ControlPlane, token: &str) -> Server {
    let api = control_plane.api.with_token(token);
    let policy = policy.clone();
    let certificate = &control_plane.certificates.webhook;
    Server::start(certificate, move || router(&policy, api.clone()))
}

fn router(policy: &Policy, api: Api) -> Router {
    let host = Host {
        api,
        registries: Registries::new(Sources::default()),
    };
    let entry = policy.entry("");
    let deadline = entry["timeoutEvalSeconds"].as_u64().unwrap_or(DEADLINE);
    let deadline = Duration::from_secs(deadline);
    let options = Options {
        deadline,
        cache: Some(module::caches().join("hco-preflight")),
    };
    let module = policy_host::Policy::embedded_module();
    let module = policy_host::Policy::from_bytes(module, &options);
    let serving = Serving {
        module: module.expect("the module"),
        policy: policy.clone(),
        host: guarded(Arc::new(host), &entry),
        limit: deadline * 4 / 5,
        workers: Semaphore::new(WORKERS),
    };
    Router::new()
        .route("/validate/{id}", post(validate))
        .with_state(Arc::new(serving))
}

/// The API server, and registries on loopback.
struct Host {
    api: Api,
    registries: Registries,
}

impl HostCalls for Host {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        if namespace == "oci" {
            return self.registries.call(namespace, operation, payload);
        }
        let request: Value = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
        let text = |field: &str| request[field].as_str().unwrap_or_default();
        let (status, answer) = if operation == "can_i" {
            let review = &request["subject_access_review"];
            let review = json!({
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "spec": {
                    "user": review["user"],
                    "groups": review["groups"],
                    "resourceAttributes": review["resource_attributes"],
                },
            });
            let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
            let (status, answer) = self.api.try_to("POST", path, Some(&review))?;
            (status, answer.get("status").cloned().unwrap_or(answer))
        } else {
            let version = text("api_version");
            let parent = if version == "v1" { "/api" } else { "/apis" };
            let resource = format!("{}s", text("kind").to_ascii_lowercase());
            let path = match request["namespace"].as_str() {
                Some(namespace) => {
                    format!(
                        "{parent}/{version}/namespaces/{namespace}/{resource}/{}",
                        text("name")
                    )
                }
                None => format!("{parent}/{version}/{resource}"),
            };
            self.api.try_to("GET", &path, None)?
        };
        if status.is_success() {
            return Ok(answer.to_string().into_bytes());
        }
        Err(handler_error(
            answer["message"].as_str().unwrap_or_default(),
        ))
    }
}

/// The host calls that the policy's entry allows for the module.
fn guarded(host: Arc<Host>, entry: &Value) -> Arc<dyn HostCalls> {
    let resources = Option::<Vec<Resource>>::deserialize(&entry["contextAwareResources"])
        .expect("resources")
        .unwrap_or_default();
    let capabilities = entry["hostCapabilities"].as_array().expect("patterns");
    let capabilities = Capabilities::new(capabilities.iter().filter_map(Value::as_str));
    Arc::new(Granted::new(host, resources, capabilities))
}

async fn validate(
    State(serving): State<Arc<Serving>>,
    Path(id): Path<String>,
    Json(review): Json<Value>,
) -> Result<Json<Value>, StatusCode> {
    if id != serving.policy.unique_name() {
        return Err(StatusCode::NOT_FOUND);
    }
    let settings = serving.policy.spec("settings");
    let _worker = serving.workers.acquire().await;
    let payload = json!({"request": review["request"], "settings": settings}).to_string();
    let judged = {
        let serving = Arc::clone(&serving);
        spawn_blocking(move || {
            let host = Timely::new(Arc::clone(&serving.host), serving.limit);
            let host = Arc::new(host);
            serving.module.decoded("validate", payload.as_bytes(), host)
        })
    };
    let judged = judged
        .await
        .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    let mut response = response(&review["request"], judged);
    if serving.policy.spec("mode") == "monitor" {
        only_report(&mut response);
    }
    Ok(Json(json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": response,
    })))
}

/// MIRRORS: kubewarden-controller `crates/policy-evaluator/src/admission_response_handler.rs`: the
/// warnings stay.
fn only_report(response: &mut Value) {
    response["allowed"] = json!(true);
    if let Some(response) = response.as_object_mut() {
        for field in ["status", "patch", "patchType"] {
            response.remove(field);
        }
    }
}

/// MIRRORS: kubewarden-controller `crates/policy-evaluator/src/admission_response.rs`.
pub(super) fn response(request: &Value, judged: Result<Verdict, HostError>) -> Value {
    let uid = &request["uid"];
    let verdict = match judged {
        Ok(verdict) => verdict,
        Err(error) => {
            let message = format!("internal server error: {error}");
            let status = json!({"message": message, "code": 500});
            return json!({"uid": uid, "allowed": false, "status": status});
        }
    };
    let mut response = json!({"uid": uid, "allowed": verdict.accepted});
    if !verdict.accepted {
        response["status"] = json!({"message": verdict.message, "code": verdict.code});
    }
    if let Some(annotations) = verdict.audit_annotations {
        response["auditAnnotations"] = json!(annotations);
    }
    if let Some(warnings) = verdict.warnings {
        response["warnings"] = json!(warnings);
    }
    if let Some(object) = verdict.mutated_object {
        let patch = json_patch::diff(&request["object"], &object);
        let patch = serde_json::to_vec(&patch).expect("a patch is JSON");
        response["patchType"] = json!("JSONPatch");
        response["patch"] = json!(BASE64_STANDARD.encode(patch));
    }
    response
}
