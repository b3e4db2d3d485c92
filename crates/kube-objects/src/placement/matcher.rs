//! A placement, prepared for matching many nodes.

use std::collections::BTreeSet;

use super::Placement;
use super::label_values::{LabelKeys, LabelValues};
use super::requirement::{FieldRequirement, Test};
use super::term::Term;

/// Decides which nodes a placement selects.
#[derive(Debug)]
pub struct Matcher<'p> {
    node_selector: Vec<(usize, &'p str)>,
    /// The terms of the required affinity.
    terms: Option<Vec<Prepared<'p>>>,
}

impl<'p> Matcher<'p> {
    /// Prepares a placement. The labels that it names are added to `keys`.
    pub fn new(placement: &'p Placement, keys: &mut LabelKeys<'p>) -> Self {
        let node_selector = placement.node_selector.iter();
        let node_selector = node_selector.map(|(key, value)| (keys.add(key), value.as_str()));
        Self {
            node_selector: node_selector.collect(),
            terms: placement.required.as_deref().map(|terms| {
                // A repeated term does not match any more nodes.
                let mut seen = BTreeSet::new();
                let terms = terms.iter().filter(|term| seen.insert(*term));
                terms.map(|term| Prepared::new(term, keys)).collect()
            }),
        }
    }

    /// Whether a pod with this placement can run on a node with these labels and this name, which is empty if the
    /// node has none. Terms that cannot be parsed match nothing; the others can still match.
    ///
    /// MIRRORS: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
    /// `RequiredNodeAffinity.Match`, and hyperconverged-cluster-operator,
    /// pkg/internal/nodeinfo/nodeinfo.go, `isWorkloadNodeFunc`, which treats an error as no match.
    pub fn matches(&self, name: &str, labels: &LabelValues<'_>) -> bool {
        let mut node_selector = self.node_selector.iter();
        node_selector.all(|(slot, value)| labels.get(*slot) == Some(*value))
            && self
                .terms
                .as_ref()
                .is_none_or(|terms| terms.iter().any(|term| term.matches(name, labels)))
    }
}

/// A term with the slots of its labels.
#[derive(Debug)]
struct Prepared<'p> {
    labels: Vec<(usize, &'p Test)>,
    fields: &'p [FieldRequirement],
}

impl<'p> Prepared<'p> {
    fn new(term: &'p Term, keys: &mut LabelKeys<'p>) -> Self {
        let labels = term.labels.iter();
        Self {
            labels: labels.map(|it| (keys.add(&it.key), &it.test)).collect(),
            fields: &term.fields,
        }
    }

    /// MIRRORS: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
    /// `nodeSelectorTerm.match`: it checks `len(nodeFields) > 0` first, so a node without a name matches
    /// every `matchFields`.
    fn matches(&self, name: &str, labels: &LabelValues<'_>) -> bool {
        let mut labels_met = self
            .labels
            .iter()
            .map(|(slot, test)| test.is_met_by(labels.get(*slot)));
        let mut fields_met = self.fields.iter().map(|field| field.is_met_by(name));
        labels_met.all(|is_met| is_met) && (name.is_empty() || fields_met.all(|is_met| is_met))
    }
}
