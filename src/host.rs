//! The only file that calls the host.

use engine::{Cluster, ServiceAccount};

/// One list of all nodes: masked, because the architecture is all that is read beside the metadata, which
/// the host always sends; and without selectors, because each distinct query costs the host a watch for
/// as long as it runs.
///
/// The text is that of the SDK's `ListAllResourcesRequest`; its own call builds every node, which takes
/// 81 MB for a list of 24 MB, and the SDK's request types take 9 kB of the module.
const LIST_NODES: &str = r#"{"api_version":"v1","kind":"Node","label_selector":null,"field_selector":null,"field_masks":["status.nodeInfo.architecture"]}"#;

/// The cluster as the Kubewarden host shows it.
pub(crate) struct Kubewarden;

impl Cluster for Kubewarden {
    fn nodes(&self) -> Result<Vec<u8>, String> {
        call("list_resources_all", LIST_NODES)
    }

    fn may(&self, account: &ServiceAccount, verb: &str) -> Option<Vec<u8>> {
        let ServiceAccount { namespace, name } = account;
        // The text of the SDK's `CanIRequest`. Names and verb are of letters that JSON takes as they are.
        // Without the groups a grant to one of them would be missed.
        let review = format!(
            r#"{{"subject_access_review":{{"groups":["system:serviceaccounts","system:serviceaccounts:{namespace}","system:authenticated"],"resource_attributes":{{"resource":"nodes","verb":"{verb}","version":"v1"}},"user":"system:serviceaccount:{namespace}:{name}"}},"disable_cache":false}}"#
        );
        call("can_i", &review).ok()
    }
}

fn call(operation: &str, request: &str) -> Result<Vec<u8>, String> {
    #[expect(clippy::disallowed_methods, reason = "this is the file that may")]
    wapc_guest::host_call("kubewarden", "kubernetes", operation, request.as_bytes())
        // Without the guest library's own words, which tell the user nothing.
        .map_err(|error| {
            error
                .to_string()
                .trim_start_matches("Host error: ")
                .to_owned()
        })
}
