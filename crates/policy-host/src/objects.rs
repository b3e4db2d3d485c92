//! Objects from files, in addition to the nodes, in place of a cluster.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::host_calls::{HostCalls, handler_error, not_found};
use crate::mask;
use crate::request::Request;

/// Objects by API version and kind. Every account may read them.
#[derive(Debug, Default)]
pub struct Objects {
    kinds: BTreeMap<(&'static str, &'static str), Vec<Map<String, Value>>>,
}

impl Objects {
    /// Adds the objects of a kind. The cluster does not know kinds that were never added.
    #[must_use]
    pub fn with(
        mut self,
        api_version: &'static str,
        kind: &'static str,
        objects: impl IntoIterator<Item = Value>,
    ) -> Self {
        let of_kind = self.kinds.entry((api_version, kind)).or_default();
        of_kind.extend(objects.into_iter().filter_map(|object| match object {
            Value::Object(object) => Some(object),
            _ => None,
        }));
        self
    }

    fn of(&self, api_version: &str, kind: &str) -> Result<&[Map<String, Value>], String> {
        let mut kinds = self.kinds.iter();
        let found = kinds.find(|(known, _)| **known == (api_version, kind));
        let (_, objects) =
            found.ok_or_else(|| format!("Cannot find resource {api_version}/{kind}"))?;
        Ok(objects)
    }

    fn answer(&self, request: Request) -> Result<Vec<u8>, String> {
        match request {
            Request::KubernetesListResourceAll {
                api_version,
                kind,
                field_masks,
                ..
            } => {
                let objects = self.of(&api_version, &kind)?.iter().cloned();
                Ok(mask::list(
                    &api_version,
                    &kind,
                    field_masks.as_ref(),
                    objects,
                ))
            }
            Request::KubernetesGetResource {
                api_version,
                kind,
                name,
                namespace,
                field_masks,
                ..
            } => {
                let is_it = |object: &&Map<String, Value>| {
                    let metadata = object.get("metadata");
                    let has = |field, value: Option<&str>| {
                        let own = metadata.and_then(|metadata| metadata.get(field));
                        own.and_then(Value::as_str) == value
                    };
                    has("name", Some(&name)) && has("namespace", namespace.as_deref())
                };
                let mut objects = self.of(&api_version, &kind)?.iter();
                let object = objects
                    .find(is_it)
                    .ok_or_else(|| not_found(&api_version, &kind, &name, namespace.as_deref()))?;
                let object = mask::got(object.clone(), &api_version, &kind, field_masks.as_ref());
                Ok(object.to_string().into_bytes())
            }
            Request::KubernetesCanI { .. } => Ok(json!({"allowed": true}).to_string().into_bytes()),
            _ => Err("only objects of the cluster can be read".to_owned()),
        }
    }
}

impl HostCalls for Objects {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let request = Request::parse(namespace, operation, payload)?;
        self.answer(request).map_err(handler_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(objects: &Objects, operation: &str, payload: &Value) -> Result<Value, String> {
        let answer = objects.call("kubernetes", operation, payload.to_string().as_bytes())?;
        Ok(serde_json::from_slice(&answer).unwrap())
    }

    #[test]
    fn an_object_is_found_by_its_kind_namespace_and_name() {
        let object = json!({"metadata": {"namespace": "a", "name": "x"}, "spec": {"source": {}, "other": 1}});
        let objects = Objects::default().with("example.com/v1", "Thing", [object]);
        let get = |kind: &str, namespace: &str, name: &str| {
            let payload = json!({"api_version": "example.com/v1", "kind": kind, "namespace": namespace, "name": name, "disable_cache": false, "field_masks": ["spec.source"]});
            call(&objects, "get_resource", &payload)
        };
        let found = get("Thing", "a", "x").unwrap();
        assert_eq!(found["spec"], json!({"source": {}}));
        assert_eq!(found["kind"], "Thing");
        for (kind, namespace, name) in [
            ("Thing", "b", "x"),
            ("Thing", "a", "y"),
            ("Other", "a", "x"),
        ] {
            get(kind, namespace, name).unwrap_err();
        }
        let list = |kind: &str| {
            let payload = json!({"api_version": "example.com/v1", "kind": kind, "field_masks": ["spec.source"]});
            call(&objects, "list_resources_all", &payload)
        };
        assert_eq!(
            list("Thing").unwrap()["items"][0]["spec"],
            json!({"source": {}})
        );
        assert!(list("Other").unwrap_err().contains("Cannot find resource"));
    }
}
