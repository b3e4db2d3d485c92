//! The schemas of `CustomResourceDefinitions`.

use serde_json::{Value, json};

/// A CRD of Kubewarden or HCO.
pub(crate) fn crd(name: &str) -> Value {
    e2e_tests::repository::documents(&e2e_tests::crd(name)).remove(0)
}

/// The schema of a version, changed so that it rejects what the API server would prune.
pub(crate) fn schema(crd: &Value, version: &str) -> Value {
    let versions = crd["spec"]["versions"].as_array().unwrap();
    let version = versions.iter().find(|it| it["name"] == version).unwrap();
    let mut schema = version["schema"]["openAPIV3Schema"].clone();
    close(&mut schema);
    schema
}

fn close(schema: &mut Value) {
    if let Some(map) = schema.as_object_mut() {
        let open = map.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(true));
        let has_fields = map.get("properties").is_some_and(Value::is_object);
        // In a schema without a type, the fields belong to the surrounding schema.
        if has_fields && map.contains_key("type") && !open {
            map.entry("additionalProperties").or_insert(json!(false));
        }
        map.values_mut().for_each(close);
    } else if let Some(list) = schema.as_array_mut() {
        list.iter_mut().for_each(close);
    }
}

/// The parts of a manifest that the schema rejects.
pub(crate) fn mistakes(schema: &Value, manifest: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(schema).unwrap();
    let errors = validator.iter_errors(manifest);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}
