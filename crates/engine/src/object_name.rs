//! The name of the object in a request, for users.

use kube_objects::request::Request;
use kube_objects::text::escape;

pub(crate) const MAX_NAME_LENGTH: usize = 253;

pub(crate) const HYPER_CONVERGED: &str = "HyperConverged";

pub(crate) const VIRTUAL_MACHINE: &str = "VirtualMachine";

/// The kind and the name of the object, for users. `own` are the object's namespace and name, which replace those that the
/// request does not contain.
pub(crate) fn object_name(kind: &str, request: &Request<'_>, own: [&str; 2]) -> String {
    let shown = |stated: &str, own: &str| {
        let name = if stated.is_empty() { own } else { stated };
        escape(name, MAX_NAME_LENGTH)
    };
    let [own_namespace, own_name] = own;
    let namespace = shown(&request.namespace, own_namespace);
    let slash = if namespace.is_empty() { "" } else { "/" };
    let name = match shown(&request.name, own_name) {
        name if name.is_empty() => "(without a name)".to_owned(),
        name => name,
    };
    format!("{kind} {namespace}{slash}{name}")
}
