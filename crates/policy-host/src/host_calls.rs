//! The interface between the guest and its host, and a host that has objects in place of a cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

/// Answers the guest's host calls.
///
/// The guest gets the text of an error unchanged.
pub trait HostCalls: Send + Sync {
    /// Answers a call of the binding `kubewarden`, such as `list_resources_all` in `kubernetes`.
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String>;
}

impl<F> HostCalls for F
where
    F: Fn(&str, &str, &[u8]) -> Result<Vec<u8>, String> + Send + Sync,
{
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        self(namespace, operation, payload)
    }
}

/// A host on which every call fails with this error.
pub fn failing(error: impl Into<String>) -> Arc<dyn HostCalls> {
    let error = error.into();
    Arc::new(move |_: &str, _: &str, _: &[u8]| Err(error.clone()))
}

/// The text that a guest gets for an error in the handler of its request.
///
/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/runtimes/callback.rs,
/// `send_request_and_wait_for_response`.
pub fn handler_error(cause: impl std::fmt::Display) -> String {
    format!("Callback evaluation failure: {cause}")
}

/// Objects by API version and kind. Every account may read them.
///
/// DIVERGES: a host sends only the fields of the mask, and all metadata. The policy ignores other fields.
#[derive(Debug, Default)]
pub struct Objects {
    kinds: BTreeMap<String, Vec<Value>>,
}

#[derive(Deserialize)]
struct Request {
    api_version: String,
    kind: String,
    #[serde(default)]
    name: String,
    namespace: Option<String>,
}

impl Objects {
    /// Adds the objects of a kind. The cluster does not know kinds that were never added.
    #[must_use]
    pub fn with(
        mut self,
        api_version: &str,
        kind: &str,
        objects: impl IntoIterator<Item = Value>,
    ) -> Self {
        let resource = format!("{api_version}/{kind}");
        self.kinds.entry(resource).or_default().extend(objects);
        self
    }

    fn find(&self, operation: &str, request: &Request) -> Result<Value, String> {
        let resource = format!("{}/{}", request.api_version, request.kind);
        let Some(objects) = self.kinds.get(&resource) else {
            return Err(format!("Cannot find resource {resource}"));
        };
        if operation == "list_resources_all" {
            let kind = format!("{}List", request.kind);
            return Ok(json!({"apiVersion": request.api_version, "kind": kind, "items": objects}));
        }
        let (name, namespace) = (&request.name, &request.namespace);
        let found = objects.iter().find(|object| {
            let text = |field| object.pointer(field).and_then(Value::as_str);
            text("/metadata/name") == Some(name)
                && text("/metadata/namespace") == namespace.as_deref()
        });
        found.cloned().ok_or_else(|| {
            format!("Cannot find {resource} named '{name}' inside of namespace '{namespace:?}'")
        })
    }
}

/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/callback_handler/kubernetes/client.rs.
impl HostCalls for Objects {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let answer = match (namespace, operation) {
            ("kubernetes", "list_resources_all" | "get_resource") => {
                let request = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
                self.find(operation, &request).map_err(handler_error)?
            }
            ("kubernetes", "can_i") => json!({"allowed": true}),
            _ => return Err(handler_error("only objects of the cluster can be read")),
        };
        Ok(answer.to_string().into_bytes())
    }
}
