//! Counts the nodes by architecture like a policy that follows the documentation of the SDK: it decodes the request and
//! lists typed nodes. Only for `benches/evaluate.rs`.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;
use kubewarden_policy_sdk::host_capabilities::kubernetes::{
    ListAllResourcesRequest, list_all_resources,
};
use kubewarden_policy_sdk::request::ValidationRequest;
use kubewarden_policy_sdk::{accept_request, protocol_version_guest, reject_request};
use serde::Deserialize;
use wapc_guest::{CallResult, register_function};

/// The policy has no settings.
#[derive(Default, Deserialize)]
struct Settings {}

/// Called by the host once, before anything else.
#[expect(unsafe_code, reason = "the host finds the function by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    register_function("validate", validate);
    register_function("protocol_version", protocol_version_guest);
}

fn validate(payload: &[u8]) -> CallResult {
    let ValidationRequest { request, .. } = ValidationRequest::<Settings>::new(payload)?;
    if request.kind.kind != "HyperConverged" {
        return accept_request();
    }
    let list = ListAllResourcesRequest {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        label_selector: None,
        field_selector: None,
        field_masks: Some(["status.nodeInfo.architecture".to_owned()].into()),
    };
    let nodes = list_all_resources::<Node>(&list)?;
    let mut architectures: BTreeMap<String, usize> = BTreeMap::new();
    for node in nodes.items {
        let labels = node.metadata.labels.unwrap_or_default();
        let info = node.status.and_then(|status| status.node_info);
        if let Some(info) = info
            && labels.contains_key("node-role.kubernetes.io/worker")
        {
            *architectures.entry(info.architecture).or_default() += 1;
        }
    }
    if architectures.len() > 1 {
        reject_request(Some(format!("{architectures:?}")), Some(422), None, None)
    } else {
        accept_request()
    }
}
