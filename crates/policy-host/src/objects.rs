//! Objects in place of a cluster.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::host_calls::{HostCalls, handler_error, read};

/// Objects by API version and kind. Every account may read them.
///
/// DIVERGES: a host sends only the fields of the mask, and all metadata. The policy ignores other fields.
#[derive(Debug, Default)]
pub struct Objects {
    kinds: BTreeMap<(String, String), Vec<Value>>,
}

/// The fields of a request for objects that matter here.
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
        let key = (api_version.to_owned(), kind.to_owned());
        self.kinds.entry(key).or_default().extend(objects);
        self
    }

    fn find(&self, operation: &str, request: Request) -> Result<Value, String> {
        let known = (request.api_version, request.kind);
        let objects = self.kinds.get(&known);
        let (api_version, kind) = known;
        let objects =
            objects.ok_or_else(|| format!("Cannot find resource {api_version}/{kind}"))?;
        if operation == "list_resources_all" {
            let kind = format!("{kind}List");
            return Ok(json!({"apiVersion": api_version, "kind": kind, "items": objects}));
        }
        let (name, namespace) = (&request.name, &request.namespace);
        let has = |object: &Value, field: &str, value: Option<&str>| {
            object.pointer(field).and_then(Value::as_str) == value
        };
        let found = objects.iter().find(|object| {
            has(object, "/metadata/name", Some(name))
                && has(object, "/metadata/namespace", namespace.as_deref())
        });
        found.cloned().ok_or_else(|| {
            format!(
                "Cannot find {api_version}/{kind} named '{name}' inside of namespace '{namespace:?}'"
            )
        })
    }
}

/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/callback_handler/kubernetes/client.rs.
impl HostCalls for Objects {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let answer = match (namespace, operation) {
            ("kubernetes", "list_resources_all" | "get_resource") => {
                let found = self.find(operation, read(payload)?);
                found.map_err(handler_error)?
            }
            ("kubernetes", "can_i") => json!({"allowed": true}),
            _ => return Err(handler_error("only objects of the cluster can be read")),
        };
        Ok(answer.to_string().into_bytes())
    }
}
