//! The only file that calls the host.

use std::collections::BTreeMap;

use engine::{Cluster, Permission, PreferenceName, Registry, Resource, ServiceAccount};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The cluster as the Kubewarden host returns it.
pub(crate) struct Kubewarden;

impl Cluster for Kubewarden {
    /// One list of all objects: with a mask, because the policy reads few fields and the metadata, which the host always
    /// sends; without selectors, because each distinct query costs the host a watch for as long as it runs.
    ///
    /// Does not use the SDK's function, which builds every node and needs 81 MB of memory for a list of 24 MB.
    fn list(&self, resource: Resource) -> Result<Vec<u8>, String> {
        call("kubernetes", "list_resources_all", &of(resource))
    }

    fn data_source(&self, namespace: &str, name: &str) -> Option<Vec<u8>> {
        get(Resource::DataSources, Some(namespace), name)
    }

    fn preference(&self, name: &PreferenceName) -> Option<Vec<u8>> {
        match name.namespace.as_deref() {
            None => get(Resource::ClusterPreferences, None, &name.name),
            namespace => get(Resource::Preferences, namespace, &name.name),
        }
    }

    fn can_i(&self, account: &ServiceAccount, permission: &Permission<'_>) -> Option<Vec<u8>> {
        let ServiceAccount { namespace, name } = account;
        let (group, version) = permission.resource.group_version();
        let plural = permission.resource.plural();
        let mut attributes = BTreeMap::from([
            ("verb", permission.verb),
            ("resource", &plural),
            ("version", version),
        ]);
        if !group.is_empty() {
            attributes.insert("group", group);
        }
        attributes.extend(permission.namespace.map(|name| ("namespace", name)));
        let accounts = "system:serviceaccounts";
        let user = ["system:serviceaccount:", namespace, ":", name].concat();
        // Without the groups, permissions of groups would not count.
        let groups = [
            accounts,
            &[accounts, ":", namespace].concat(),
            "system:authenticated",
        ];
        let request = json!({
            "subject_access_review": {
                "user": user,
                "groups": groups,
                "resource_attributes": attributes,
            },
            "disable_cache": false,
        });
        call("kubernetes", "can_i", &request).ok()
    }
}

/// The fields of a request for objects, with a mask of the fields that are read. The host always sends the metadata.
fn of(resource: Resource) -> Map<String, Value> {
    Map::from_iter([
        ("api_version".into(), resource.api_version().into()),
        ("kind".into(), resource.kind().into()),
        ("field_masks".into(), json!(resource.fields())),
    ])
}

fn get(resource: Resource, namespace: Option<&str>, name: &str) -> Option<Vec<u8>> {
    let mut request = of(resource);
    request.extend(namespace.map(|namespace| ("namespace".into(), namespace.into())));
    request.insert("name".into(), name.into());
    request.insert("disable_cache".into(), false.into());
    call("kubernetes", "get_resource", &request).ok()
}

/// Does not use the SDK's functions, which build the complete manifest.
impl Registry for Kubewarden {
    fn manifest(&self, image: &str) -> Result<Vec<u8>, String> {
        read_image("v1/oci_manifest", image)
    }

    fn manifest_and_config(&self, image: &str) -> Result<Vec<u8>, String> {
        read_image("v1/oci_manifest_config", image)
    }
}

/// The error is the registry's response; the prefix that the host adds does not help the user.
fn read_image(operation: &str, image: &str) -> Result<Vec<u8>, String> {
    let answer = call("oci", operation, &image);
    answer.map_err(|error| without("Callback evaluation failure: ", &error))
}

fn call(namespace: &str, operation: &str, request: &impl Serialize) -> Result<Vec<u8>, String> {
    let request = serde_json::to_vec(request).map_err(|error| error.to_string())?;
    #[expect(clippy::disallowed_methods, reason = "only this file calls the host")]
    let answer = wapc_guest::host_call("kubewarden", namespace, operation, &request);
    // The prefix of the guest library does not help the user.
    answer.map_err(|error| without("Host error: ", &error.to_string()))
}

fn without(prefix: &str, error: &str) -> String {
    error.strip_prefix(prefix).unwrap_or(error).to_owned()
}
