//! The name of the object in a request, for users.

use std::fmt;

use kube_objects::request::Request;
use kube_objects::text::escape;

pub(crate) const MAX_NAME_LENGTH: usize = 253;

pub(crate) const HYPER_CONVERGED: &str = "HyperConverged";

/// The kind and the name of the object, for users.
#[derive(Debug, Clone)]
pub(crate) struct ObjectName {
    pub(crate) kind: &'static str,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl ObjectName {
    pub(crate) fn new(kind: &'static str, request: &Request<'_>) -> Self {
        Self {
            kind,
            namespace: request.namespace.clone(),
            name: request.name.clone(),
        }
    }

    /// The same name with the namespace and the name of the object, where the request does not contain them.
    pub(crate) fn or(mut self, namespace: &str, name: &str) -> Self {
        if self.namespace.is_empty() {
            namespace.clone_into(&mut self.namespace);
        }
        if self.name.is_empty() {
            name.clone_into(&mut self.name);
        }
        self
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", escape(&self.namespace, MAX_NAME_LENGTH))?;
        }
        match self.name.as_str() {
            "" => f.write_str("(without a name)"),
            name => f.write_str(&escape(name, MAX_NAME_LENGTH)),
        }
    }
}
