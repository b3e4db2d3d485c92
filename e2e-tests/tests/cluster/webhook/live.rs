//! Host calls answered by the API server, as far as this project's policy makes them.

use hco_preflight::{HostCalls, NodeList};
use serde_json::{Value, json};

use crate::api::Api;

/// The cluster as somebody with a token sees it.
pub(super) struct Live {
    api: Api,
}

impl Live {
    pub(super) fn new(api: Api) -> Self {
        Self { api }
    }

    fn review(&self, payload: &[u8]) -> Result<Vec<u8>, String> {
        let request: Value = serde_json::from_slice(payload).map_err(|e| e.to_string())?;
        let asked = &request["subject_access_review"];
        let attributes = &asked["resource_attributes"];
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": asked["user"], "groups": asked["groups"], "resourceAttributes": attributes},
        });
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let (status, answer) = self.api.try_to("POST", path, Some(&review))?;
        if status.is_success() {
            Ok(answer["status"].to_string().into_bytes())
        } else {
            Err(answer["message"].to_string())
        }
    }
}

impl HostCalls for Live {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        if (namespace, operation) == ("kubernetes", "can_i") {
            return self.review(payload);
        }
        let (status, nodes) = self.api.text("/api/v1/nodes")?;
        if !status.is_success() {
            return Err(nodes);
        }
        NodeList::from_text(nodes.as_bytes())
            .map_err(|error| error.to_string())?
            .call(namespace, operation, payload)
    }
}
