//! Sessions for `kwctl run --replay-host-capabilities-interactions`: what the policy asks, and the answers.
//!
//! MIRRORS: kubewarden-controller `crates/kwctl/src/callback_handler/proxy.rs`: a list of exchanges whose
//! request is a string that holds YAML; the replay wants them in this order and field for field.

use std::fmt::Write as _;

use serde_json::Value;

use crate::case::Case;

/// The session of a case that asks for nodes.
pub fn session(case: &Case) -> String {
    let mut session = String::new();
    let settings = case.settings();
    if let Some(account) = settings.get("serviceAccount").and_then(Value::as_str) {
        for verb in ["list", "watch"] {
            let allowed = case.cluster.may(verb);
            let response = serde_json::json!({"allowed": allowed}).to_string();
            push(&mut session, &can_i(account, verb), &Ok(response));
            if !allowed {
                return session;
            }
        }
    }
    let list = "!KubernetesListResourceAll
api_version: v1
kind: Node
label_selector: null
field_selector: null
field_masks:
- status.nodeInfo.architecture
";
    push(&mut session, list, &case.cluster.list());
    session
}

fn can_i(account: &str, verb: &str) -> String {
    let (namespace, name) = account.split_once('/').unwrap_or(("", account));
    format!(
        "!KubernetesCanI
subject_access_review:
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
