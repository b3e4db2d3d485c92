//! Objects that are stored without the webhook.

use serde_json::{Value, json};
use ureq::http::StatusCode;

use crate::api::Api;

/// Fields that the API server sets.
const SET_BY_SERVER: [&str; 6] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "resourceVersion",
    "uid",
];

/// An object with a status, until this value is dropped.
pub(super) struct Stored<'a> {
    api: &'a Api,
    pub(super) path: String,
    pub(super) object: Value,
}

impl<'a> Stored<'a> {
    /// Stores an object; `None` if the API server refuses it.
    pub(super) fn new(
        api: &'a Api,
        collection: &str,
        wanted: &Value,
        store: impl Fn(&Value) -> Result<(StatusCode, Value), String>,
    ) -> Result<Option<Self>, String> {
        let Some(object) = accepted(store(&manifest(wanted))?)? else {
            return Ok(None);
        };
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let mut stored = Self {
            api,
            path: format!("{collection}/{name}"),
            object,
        };
        if wanted["metadata"].get("deletionTimestamp").is_some() {
            api.must("DELETE", &stored.path, None);
            stored.object = api.get(&stored.path);
        }
        if wanted["status"].is_null() {
            return Ok(Some(stored));
        }
        stored.object["status"] = stored.status(wanted);
        let path = format!("{}/status?fieldValidation=Ignore", stored.path);
        let Some(object) = accepted(api.try_to("PUT", &path, Some(&stored.object))?)? else {
            return Ok(None);
        };
        stored.object = object;
        Ok(Some(stored))
    }

    /// The status, with the same distance between its generation and the generation of the object as in the case.
    fn status(&self, wanted: &Value) -> Value {
        let mut status = wanted["status"].clone();
        let observed = |status: &Value| status["observedGeneration"].as_i64();
        let generation = |object: &Value| object["metadata"]["generation"].as_i64();
        if let (Some(observed), Some(now)) = (observed(&status), generation(&self.object)) {
            let behind = generation(wanted).map_or(0, |generation| generation - observed);
            status["observedGeneration"] = json!(now - behind);
        }
        status
    }

    /// The new object as an update of this one.
    pub(super) fn updated(&self, object: &Value) -> Value {
        let mut object = object.clone();
        for field in ["resourceVersion", "uid"] {
            object["metadata"][field] = self.object["metadata"][field].clone();
        }
        object
    }
}

/// An object without the fields that the API server sets.
pub(super) fn manifest(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|field, _| !SET_BY_SERVER.contains(&field.as_str()));
    }
    object
}

/// The object in a response; `None` if the schema refuses it.
fn accepted((status, answer): (StatusCode, Value)) -> Result<Option<Value>, String> {
    match status.as_u16() {
        200 | 201 => Ok(Some(answer)),
        400 | 422 => Ok(None),
        _ => Err(format!("it is not stored: {status}: {answer}")),
    }
}

impl Drop for Stored<'_> {
    fn drop(&mut self) {
        let finalizers = json!({"metadata": {"finalizers": null}});
        let _ = self.api.try_to("PATCH", &self.path, Some(&finalizers));
        let _ = self.api.try_to("DELETE", &self.path, None);
    }
}
