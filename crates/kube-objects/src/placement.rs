//! A node placement: which nodes it selects, and what Kubernetes rejects in it.

mod node_set;
mod preferred;
mod requirement;
mod term;

use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;

use k8s_openapi::api::core::v1::NodeAffinity;

pub use self::preferred::check_preferred;

use self::node_set::NodeSet;
use self::requirement::Test;
use self::term::{NodeIndex, Term, names_architecture, parse_terms};
use crate::node_list::{Needed, Node};
use crate::path::FieldPath;

/// The part of a node affinity that the scheduler enforces.
pub const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
/// The part of a node affinity that the scheduler only prefers.
pub const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
pub const ARCHITECTURE_LABEL: &str = "kubernetes.io/arch";
pub const DEPRECATED_ARCHITECTURE_LABEL: &str = "beta.kubernetes.io/arch";
const ARCHITECTURE_LABELS: [&str; 2] = [ARCHITECTURE_LABEL, DEPRECATED_ARCHITECTURE_LABEL];

/// A nodeSelector and a node affinity, parsed. The default restricts nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Placement {
    /// In the order of the keys. It can have a hundred thousand, and no key is looked up.
    node_selector: Vec<(String, String)>,
    required: Option<BTreeSet<Term>>,
    errors: Vec<SelectorError>,
    /// The index of the first preferred term, of any weight, that names an architecture label.
    pub architecture_preference: Option<usize>,
    /// Whether the nodeSelector or the required affinity names an architecture label. Terms that cannot be parsed count
    /// too.
    pub names_architecture: bool,
}

impl Placement {
    /// The nodeSelector has each key once, in their order. A term that Kubernetes rejects becomes an error.
    pub fn parse(
        node_selector: impl IntoIterator<Item = (String, String)>,
        node_affinity: Option<NodeAffinity>,
    ) -> Self {
        let affinity = node_affinity.unwrap_or_default();
        let required = affinity.required_during_scheduling_ignored_during_execution;
        let preferred = affinity
            .preferred_during_scheduling_ignored_during_execution
            .unwrap_or_default();

        let node_selector: Vec<(String, String)> = node_selector.into_iter().collect();
        let is_named = node_selector
            .iter()
            .any(|(key, _)| ARCHITECTURE_LABELS.contains(&key.as_str()))
            || required
                .iter()
                .flat_map(|selector| &selector.node_selector_terms)
                .any(names_architecture);
        let architecture_preference = preferred
            .iter()
            .position(|term| names_architecture(&term.preference));

        let (required, errors) = required.as_ref().map(parse_terms).unzip();
        Self {
            // Keys and values are not validated.
            // MIRRORS: k8s.io/apimachinery/pkg/labels/selector.go, `SelectorFromValidatedSet`.
            node_selector,
            required,
            errors: errors.unwrap_or_default(),
            architecture_preference,
            names_architecture: is_named,
        }
    }

    #[must_use]
    pub fn on(&self, architecture: &str) -> Self {
        let mut placement = self.clone();
        let node_selector = &mut placement.node_selector;
        let index = node_selector.partition_point(|(key, _)| key.as_str() < ARCHITECTURE_LABEL);
        match node_selector.get_mut(index) {
            Some((key, value)) if key == ARCHITECTURE_LABEL => architecture.clone_into(value),
            _ => {
                let label = (ARCHITECTURE_LABEL.to_owned(), architecture.to_owned());
                node_selector.insert(index, label);
            }
        }
        placement.names_architecture = true;
        placement
    }

    /// Whether the placement has requirements. A required affinity is one, even without terms; a preferred affinity is not.
    pub fn has_requirements(&self) -> bool {
        !self.node_selector.is_empty() || self.required.is_some()
    }

    pub fn add_needed<'p>(&'p self, needed: &mut Needed<'p>) {
        for (key, _) in &self.node_selector {
            needed.add_label(key);
        }
        for term in self.required.iter().flatten() {
            needed.names |= !term.fields.is_empty();
            for requirement in &term.labels {
                needed.add_label(&requirement.key);
            }
        }
    }

    /// Whether a pod with this placement can run on each of these nodes. Terms with errors match nothing.
    ///
    /// MIRRORS: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
    /// `RequiredNodeAffinity.Match`, and hyperconverged-cluster-operator,
    /// pkg/internal/nodeinfo/nodeinfo.go, `isWorkloadNodeFunc`, which treats an error as no match.
    pub fn select(&self, nodes: &[&Node<'_>]) -> Vec<bool> {
        let index = NodeIndex::new(nodes);
        let mut selected = match &self.required {
            Some(_) => NodeSet::none(nodes.len()),
            None => NodeSet::all(nodes.len()),
        };
        for term in self.required.iter().flatten() {
            selected.extend(&term.met(&index));
        }
        for (key, value) in &self.node_selector {
            // A nodeSelector can have a hundred thousand keys, most of which no node has.
            if selected.is_empty() {
                break;
            }
            let is_equal = Test::In(BTreeSet::from([value.clone()]));
            selected.retain(&index.met(key, &is_equal));
        }
        (0..nodes.len())
            .map(|node| selected.contains(node))
            .collect()
    }

    pub fn selects(&self, node: &Node<'_>) -> bool {
        self.select(&[node]).contains(&true)
    }

    /// Everything in the required affinity that Kubernetes rejects, with the first few errors of each requirement.
    pub fn errors(&self) -> &[SelectorError] {
        &self.errors
    }

    /// Whether the required affinity excludes all nodes of an architecture, whatever their other labels are. An affinity
    /// that Kubernetes rejects excludes nothing.
    pub fn affinity_excludes(&self, architecture: &str) -> bool {
        let excludes = |term: &Term| {
            term.labels.iter().any(|requirement| {
                ARCHITECTURE_LABELS.contains(&requirement.key.as_str())
                    && !requirement.test.is_met_by(architecture)
            })
        };
        self.errors.is_empty()
            && self
                .required
                .as_ref()
                .is_some_and(|terms| !terms.is_empty() && terms.iter().all(excludes))
    }

    /// The values of architecture labels that the nodeSelector or the required affinity asks for.
    pub fn architectures(&self) -> impl Iterator<Item = &str> {
        let in_selector = self.node_selector.iter().filter_map(|(key, value)| {
            ARCHITECTURE_LABELS
                .contains(&key.as_str())
                .then_some(value.as_str())
        });
        let in_terms = self
            .required
            .iter()
            .flatten()
            .flat_map(|term| &term.labels)
            .filter(|requirement| ARCHITECTURE_LABELS.contains(&requirement.key.as_str()))
            .filter_map(|requirement| match &requirement.test {
                Test::In(values) => Some(values),
                _ => None,
            })
            .flatten()
            .map(String::as_str);
        in_selector.chain(in_terms)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectorError {
    /// The field, relative to the required affinity: `nodeSelectorTerms[0].matchExpressions[1].values[0]`.
    pub path: FieldPath,
    pub is_about_fields: bool,
    /// The whole requirement, `kubernetes.io/arch In [amd64 arm64]`. It identifies the error, so it is neither
    /// shortened nor escaped.
    pub requirement: Rc<str>,
    pub reason: &'static str,
}

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}
