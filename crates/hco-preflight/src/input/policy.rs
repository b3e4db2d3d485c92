//! A policy of the cluster.

use std::fmt;

use cluster::field::text;
use cluster::foreign::Foreign;
use serde::Serialize;
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Policy {
    kind: &'static str,
    pub(crate) namespace: Option<Foreign>,
    name: Foreign,
    pub(crate) mode: Mode,
}

/// How Kubewarden handles a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    Protect,
    /// Kubewarden only reports it.
    Monitor,
}

impl Policy {
    /// Reads a policy from an object of this kind.
    pub(crate) fn of(object: &Value, kind: &'static str, namespace: Option<&str>) -> Self {
        Self {
            kind,
            namespace: namespace.map(Foreign::from),
            name: Foreign::from(text(object, "/metadata/name").unwrap_or_default()),
            mode: match text(object, "/spec/mode") {
                Some("monitor") => Mode::Monitor,
                _ => Mode::Protect,
            },
        }
    }

    pub(crate) fn with_mode(&self) -> String {
        match self.mode {
            Mode::Protect => format!("{self} (mode protect)"),
            Mode::Monitor => {
                format!("{self} (mode monitor: the cluster would only report a denial)")
            }
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, .. } = self;
        match &self.namespace {
            None => write!(f, "{kind} {name}"),
            Some(namespace) => write!(f, "{kind} {namespace}/{name}"),
        }
    }
}
