//! The engine as a webhook: it evaluates the request that arrives with the nodes, objects, images, settings, and errors
//! of a case.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Path, State};
use axum::routing::post;
use axum::{Json, Router};
use e2e_tests::{Answer, Call, Case, Verdict};
use engine::Report;
use serde_json::{Value, json};

use super::library::response;
use super::server::Server;
use crate::certificates::Certificates;
use crate::policy::Policy;

/// The webhook of all policies.
pub(crate) struct CaseWebhook {
    pub(crate) server: Server,
    exchange: Arc<Mutex<Exchange>>,
}

/// The case whose request is on its way, and what arrived. Without a case, every request passes.
#[derive(Default)]
struct Exchange {
    case: Option<Case>,
    arrived: Option<Evaluated>,
}

/// An evaluated request.
#[derive(Debug)]
pub(crate) struct Evaluated {
    pub(crate) request: Value,
    pub(crate) report: Report,
    pub(crate) calls: Vec<Call>,
}

impl Evaluated {
    pub(crate) fn new(case: &Case, request: Value) -> Self {
        let payload = json!({"request": request, "settings": case.settings()}).to_string();
        let cluster = case.host();
        Self {
            request,
            report: engine::validate(payload.as_bytes(), &cluster),
            calls: cluster.calls(),
        }
    }

    /// The object as the policy repairs it.
    pub(crate) fn repaired(&self) -> Option<Value> {
        Answer::from(&self.report).object().cloned()
    }

    fn response(&self) -> Value {
        let report = &self.report;
        let verdict = Verdict {
            accepted: report.allowed,
            message: report.message.clone(),
            code: report.code,
            mutated_object: self.repaired(),
            audit_annotations: Some(report.audit_annotations.clone()),
            warnings: Some(report.warnings.clone()),
        };
        json!({
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": response(&self.request, Ok(verdict)),
        })
    }
}

impl CaseWebhook {
    pub(crate) fn start(certificates: &Certificates) -> Self {
        let exchange = Arc::<Mutex<Exchange>>::default();
        let state = Arc::clone(&exchange);
        let router = move || {
            Router::new()
                .route("/validate/{id}", post(answer))
                .with_state(Arc::clone(&state))
        };
        Self {
            server: Server::start(&certificates.webhook, router),
            exchange,
        }
    }

    /// Sends the request of a case: returns the client's result, and what arrived.
    pub(crate) fn during<T>(
        &self,
        case: &Case,
        send: impl FnOnce() -> T,
    ) -> (T, Option<Evaluated>) {
        let exchange = || self.exchange.lock().unwrap_or_else(PoisonError::into_inner);
        exchange().case = Some(case.clone());
        let result = send();
        (result, std::mem::take(&mut *exchange()).arrived)
    }
}

/// Whether the mutating policy evaluates the case.
fn repairs(case: &Case) -> bool {
    !case.settings()["repair"].is_null()
}

async fn answer(
    State(exchange): State<Arc<Mutex<Exchange>>>,
    Path(id): Path<String>,
    Json(mut review): Json<Value>,
) -> Json<Value> {
    let mut exchange = exchange.lock().unwrap_or_else(PoisonError::into_inner);
    let is_mutating = id == Policy::that_repairs().unique_name();
    let request = review["request"].take();
    let case = exchange.case.as_ref();
    let Some(case) = case.filter(|case| repairs(case) == is_mutating) else {
        let response = json!({"uid": request["uid"], "allowed": true});
        let kind = "AdmissionReview";
        return Json(
            json!({"apiVersion": "admission.k8s.io/v1", "kind": kind, "response": response}),
        );
    };
    let evaluated = Evaluated::new(case, request);
    let response = evaluated.response();
    exchange.arrived = Some(evaluated);
    Json(response)
}
