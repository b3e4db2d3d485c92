//! The only file that calls the host.

use std::collections::BTreeSet;

use engine::{Cluster, Registry, ServiceAccount};
use kubewarden_policy_sdk::host_capabilities::kubernetes::{
    CanIRequest, ListAllResourcesRequest, ResourceAttributes, SubjectAccessReview,
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
        let mut masks = BTreeSet::new();
        masks.insert("status.nodeInfo.architecture".to_owned());
        let request = ListAllResourcesRequest {
            api_version: "v1".to_owned(),
            kind: "Node".to_owned(),
            label_selector: None,
            field_selector: None,
            field_masks: Some(masks),
        };
        call("kubernetes", "list_resources_all", &request)
    }

    fn can_i(&self, account: &ServiceAccount, verb: &str) -> Option<Vec<u8>> {
        let ServiceAccount { namespace, name } = account;
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
                    verb: verb.to_owned(),
                    resource: "nodes".to_owned(),
                    version: Some("v1".to_owned()),
                    ..ResourceAttributes::default()
                },
            },
            disable_cache: false,
        };
        call("kubernetes", "can_i", &request).ok()
    }
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
        let without_prefix = error.strip_prefix("Callback evaluation failure: ");
        without_prefix.unwrap_or(&error).to_owned()
    })
}

fn call(namespace: &str, operation: &str, request: &impl Serialize) -> Result<Vec<u8>, String> {
    let request = serde_json::to_vec(request).map_err(|error| error.to_string())?;
    #[expect(clippy::disallowed_methods, reason = "only this file calls the host")]
    let answer = wapc_guest::host_call("kubewarden", namespace, operation, &request);
    // The prefix of the guest library does not help the user.
    answer.map_err(|error| {
        let error = error.to_string();
        error
            .strip_prefix("Host error: ")
            .unwrap_or(&error)
            .to_owned()
    })
}
