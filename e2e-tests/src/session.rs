//! Sessions for `kwctl run --replay-host-capabilities-interactions`: the calls of the policy, and the responses.
//!
//! MIRRORS: kubewarden-controller `crates/kwctl/src/callback_handler/proxy.rs`: a list of exchanges whose
//! request is a string that contains YAML; the replay requires this order and these fields.

use std::fmt::Write as _;

use engine::{Permission, Registry, Resource, ServiceAccount};
use serde_json::Value;

use crate::case::Case;
use crate::cluster::{Call, Refusal};

/// The session of these calls.
///
/// # Errors
///
/// Why no host responds as the case expects.
pub(crate) fn session(case: &Case, calls: &[Call]) -> Result<String, String> {
    let of = &case.cluster;
    let objects = case.objects();
    let mut session = String::new();
    for call in calls {
        match call {
            Call::CanI(account, word, namespace) => {
                let permission = permission(word, namespace.as_deref())?;
                let status = serde_json::json!({"allowed": of.may(&permission)}).to_string();
                push(&mut session, &can_i(account, &permission), &Ok(status));
            }
            Call::List(resource) => {
                let answer = objects
                    .list(*resource)
                    .map_err(|error| without_prefix(&error));
                push(&mut session, &list(*resource), &answer);
            }
            Call::DataSource(namespace, name) => {
                let answer = objects
                    .data_source(namespace, name)
                    .map_err(|error| without_prefix(&error));
                push(&mut session, &get(namespace, name), &answer);
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
                None => push(&mut session, &list(Resource::Nodes), &of.list()),
                Some(Refusal::Callback(error)) => {
                    push(&mut session, &list(Resource::Nodes), &Err(error));
                }
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

/// The prefix that the host adds to an error.
fn without_prefix(error: &str) -> String {
    let prefix = "Callback evaluation failure: ";
    error.strip_prefix(prefix).unwrap_or(error).to_owned()
}

fn masks(resource: Resource) -> String {
    let fields = resource.fields().iter();
    let fields: Vec<&str> = fields.flat_map(|field| ["- ", field, "\n"]).collect();
    fields.concat()
}

fn list(resource: Resource) -> String {
    format!(
        "!KubernetesListResourceAll
api_version: {}
kind: {}
label_selector: null
field_selector: null
field_masks:
{}",
        resource.api_version(),
        resource.kind(),
        masks(resource)
    )
}

fn get(namespace: &str, name: &str) -> String {
    let resource = Resource::DataSources;
    format!(
        "!KubernetesGetResource
api_version: {}
kind: {}
name: {name}
namespace: {namespace}
disable_cache: false
field_masks:
{}",
        resource.api_version(),
        resource.kind(),
        masks(resource)
    )
}

/// `list` is a permission for nodes, `get datasources` one for others.
fn permission<'p>(word: &'p str, namespace: Option<&'p str>) -> Result<Permission<'p>, String> {
    let (verb, plural) = word.split_once(' ').unwrap_or((word, "nodes"));
    let resource = [
        Resource::Nodes,
        Resource::HyperConvergeds,
        Resource::KubeVirts,
        Resource::DataSources,
    ];
    let mut resources = resource.into_iter();
    let resource = resources.find(|resource| resource.plural() == plural);
    Ok(Permission {
        verb,
        resource: resource.ok_or_else(|| format!("nobody asks for {plural}"))?,
        namespace,
    })
}

fn can_i(account: &ServiceAccount, permission: &Permission<'_>) -> String {
    let verb = permission.verb;
    let (group, version) = permission.resource.group_version();
    let group = if group.is_empty() { "null" } else { group };
    let scope = permission.namespace.unwrap_or("null");
    let resource = permission.resource.plural();
    let ServiceAccount { namespace, name } = account;
    format!(
        "!KubernetesCanI
request:
  groups:
  - system:serviceaccounts
  - system:serviceaccounts:{namespace}
  - system:authenticated
  resource_attributes:
    group: {group}
    name: null
    namespace: {scope}
    resource: {resource}
    subresource: null
    verb: {verb}
    version: {version}
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
