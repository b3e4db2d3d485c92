//! Sessions for `kwctl run --replay-host-capabilities-interactions`: the calls of the policy, and the responses.
//!
//! MIRRORS: kubewarden-controller `crates/kwctl/src/callback_handler/proxy.rs`: a list of exchanges whose
//! request is a string that contains YAML; the replay requires this order and these fields.

use std::fmt::Write as _;

use engine::{Registry, ServiceAccount};
use serde_json::Value;

use crate::case::Case;
use crate::cluster::{Call, Refusal};

const LIST_NODES: &str = "!KubernetesListResourceAll
api_version: v1
kind: Node
label_selector: null
field_selector: null
field_masks:
- status.nodeInfo.architecture
";

/// The session of these calls.
///
/// # Errors
///
/// Why no host responds as the case expects.
pub(crate) fn session(case: &Case, calls: &[Call]) -> Result<String, String> {
    let of = &case.cluster;
    let mut session = String::new();
    for call in calls {
        match call {
            Call::CanI(account, verb) => {
                let status = serde_json::json!({"allowed": of.may(verb)}).to_string();
                push(&mut session, &can_i(account, verb), &Ok(status));
            }
            Call::Manifest(image) => {
                let request = format!("!OciManifest\nimage: {image}\n");
                push(&mut session, &request, &text(case.images.manifest(image)));
            }
            Call::ManifestAndConfig(image) => {
                let request = format!("!OciManifestAndConfig\nimage: {image}\n");
                push(
                    &mut session,
                    &request,
                    &text(case.images.manifest_and_config(image)),
                );
            }
            Call::Nodes => match of.refusal() {
                None => push(&mut session, LIST_NODES, &of.list()),
                Some(Refusal::Callback(error)) => push(&mut session, LIST_NODES, &Err(error)),
                // The host rejects the call before anything is recorded or replayed.
                Some(Refusal::Resource | Refusal::Capability) => {}
                Some(Refusal::Unheard) => {
                    return Err("no Kubewarden host has an error like this".to_owned());
                }
            },
        }
    }
    if session.is_empty() {
        session.push_str("[]\n");
    }
    Ok(session)
}

fn text(answer: Result<Vec<u8>, String>) -> Result<String, String> {
    answer.map(|answer| String::from_utf8_lossy(&answer).into_owned())
}

fn can_i(account: &ServiceAccount, verb: &str) -> String {
    let ServiceAccount { namespace, name } = account;
    format!(
        "!KubernetesCanI
request:
  groups:
  - system:serviceaccounts
  - system:serviceaccounts:{namespace}
  - system:authenticated
  resource_attributes:
    group: null
    name: null
    namespace: null
    resource: nodes
    subresource: null
    verb: {verb}
    version: v1
  user: system:serviceaccount:{namespace}:{name}
disable_cache: false
"
    )
}

fn push(session: &mut String, request: &str, response: &Result<String, String>) {
    // Writing to a String cannot fail. A JSON string is a YAML string.
    let _ = writeln!(session, "- type: Exchange\n  request: |");
    for line in request.lines() {
        let _ = writeln!(session, "    {line}");
    }
    let _ = match response {
        Ok(payload) => writeln!(
            session,
            "  response:\n    type: Success\n    payload: {}",
            Value::from(payload.as_str())
        ),
        Err(error) => writeln!(
            session,
            "  response:\n    type: Error\n    message: {}",
            Value::from(error.as_str())
        ),
    };
}
