//! The only file that calls the host.

use std::collections::BTreeSet;

use engine::{Cluster, Permission, Registry, Resource, ServiceAccount};
use kubewarden_policy_sdk::host_capabilities::kubernetes::{
    CanIRequest, GetResourceRequest, ListAllResourcesRequest, ResourceAttributes,
    SubjectAccessReview,
};
use serde::Serialize;

/// The cluster as the Kubewarden host returns it.
pub(crate) struct Kubewarden;

impl Cluster for Kubewarden {
    /// One list of all nodes: with a mask, because the policy reads only the architecture and the metadata, which the
    /// host always sends; without selectors, because each distinct query costs the host a watch for as long as it runs.
    ///
    /// Does not use the SDK's function, which builds every node and needs 81 MB of memory for a list of 24 MB.
    fn nodes(&self) -> Result<Vec<u8>, String> {
        self.list(Resource::Nodes)
    }

    fn list(&self, resource: Resource) -> Result<Vec<u8>, String> {
        let request = ListAllResourcesRequest {
            api_version: api_version(resource),
            kind: resource.kind().to_owned(),
            label_selector: None,
            field_selector: None,
            field_masks: masks(resource),
        };
        call("kubernetes", "list_resources_all", &request)
    }

    fn data_source(&self, namespace: &str, name: &str) -> Option<Vec<u8>> {
        let request = GetResourceRequest {
            api_version: api_version(Resource::DataSources),
            kind: Resource::DataSources.kind().to_owned(),
            name: name.to_owned(),
            namespace: Some(namespace.to_owned()),
            disable_cache: false,
            field_masks: masks(Resource::DataSources),
        };
        call("kubernetes", "get_resource", &request).ok()
    }

    fn can_i(&self, account: &ServiceAccount, permission: &Permission<'_>) -> Option<Vec<u8>> {
        let ServiceAccount { namespace, name } = account;
        let (group, version) = permission.resource.group_version();
        let request = CanIRequest {
            subject_access_review: SubjectAccessReview {
                user: format!("system:serviceaccount:{namespace}:{name}"),
                // Without its groups, the permissions of the groups would be missed.
                groups: Some(vec![
                    "system:serviceaccounts".to_owned(),
                    format!("system:serviceaccounts:{namespace}"),
                    "system:authenticated".to_owned(),
                ]),
                resource_attributes: ResourceAttributes {
                    group: Some(group.to_owned()).filter(|group| !group.is_empty()),
                    verb: permission.verb.to_owned(),
                    resource: permission.resource.plural().to_owned(),
                    namespace: permission.namespace.map(str::to_owned),
                    version: Some(version.to_owned()),
                    ..ResourceAttributes::default()
                },
            },
            disable_cache: false,
        };
        call("kubernetes", "can_i", &request).ok()
    }
}

fn api_version(resource: Resource) -> String {
    match resource.group_version() {
        ("", version) => version.to_owned(),
        (group, version) => [group, "/", version].concat(),
    }
}

/// The fields that are read. The host always sends the metadata.
fn masks(resource: Resource) -> Option<BTreeSet<String>> {
    let fields = resource.fields().iter();
    Some(fields.map(|field| (*field).to_owned()).collect())
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
    answer.map_err(|error| {
        let prefix = "Callback evaluation failure: ";
        error.trim_start_matches(prefix).to_owned()
    })
}

fn call(namespace: &str, operation: &str, request: &impl Serialize) -> Result<Vec<u8>, String> {
    let request = serde_json::to_vec(request).map_err(|error| error.to_string())?;
    #[expect(clippy::disallowed_methods, reason = "this is the file that may")]
    let answer = wapc_guest::host_call("kubewarden", namespace, operation, &request);
    // The prefix of the guest library does not help the user.
    answer.map_err(|error| {
        let error = error.to_string();
        error.trim_start_matches("Host error: ").to_owned()
    })
}
