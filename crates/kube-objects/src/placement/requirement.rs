//! One requirement of a node selector term, parsed once and matched against many nodes.

use std::collections::BTreeSet;
use std::rc::Rc;

use k8s_openapi::api::core::v1::NodeSelectorRequirement;

use super::SelectorError;
use super::node_set::NodeSet;
use crate::label::{key_error, value_error};
use crate::path::FieldPath;

/// The maximum number of errors of one requirement that are reported. All of them repeat the requirement, whose list of
/// values can be as long as the request.
const ERRORS_PER_REQUIREMENT: usize = 8;

/// The only field of a node that a requirement can be about.
pub(super) const NAME_FIELD: &str = "metadata.name";

/// A requirement for a label, or for a field.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Requirement {
    /// The key of a label, or `metadata.name`. It is empty for every other field, because nodes have no other field.
    pub(super) key: String,
    pub(super) test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Test {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    DoesNotExist,
    Gt(i64),
    Lt(i64),
}

impl Requirement {
    /// Parses the requirement at `path`, or reports everything that is wrong with it.
    ///
    /// MIRRORS: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
    /// `nodeSelectorRequirementsAsFieldSelector`, which accepts any key and any value, and
    /// `nodeSelectorRequirementsAsSelector`; k8s.io/apimachinery/pkg/labels/selector.go, `NewRequirement`: an unknown
    /// operator hides all other errors. Otherwise the key is checked first, then the number and type of the values, then
    /// each value as a label value.
    ///
    /// DIVERGES: Go adds the key to the path of a value (`values[0][kubernetes.io/arch]`). This is not the path of
    /// a field, and a key can have any length, so the path ends with the index here.
    pub(super) fn parse(
        requirement: &NodeSelectorRequirement,
        is_about_fields: bool,
        path: &FieldPath,
    ) -> Result<Self, Vec<SelectorError>> {
        let NodeSelectorRequirement { key, operator, .. } = requirement;
        let values = requirement.values.as_deref().unwrap_or_default();
        let mistake = mistake(requirement, is_about_fields);
        let are_labels = !is_about_fields && mistake.is_none_or(|(field, _)| field != "operator");
        let mut found: Vec<_> = are_labels
            .then(|| key_error(key))
            .flatten()
            .map(|reason| ("key", reason))
            .into_iter()
            .chain(mistake)
            .map(|(field, reason)| (path.key(field), reason))
            .collect();
        if are_labels {
            let is_number = ["Gt", "Lt"].contains(&operator.as_str());
            let path = path.key("values");
            let in_values = |error: fn(&str) -> Option<&'static str>| {
                values
                    .iter()
                    .enumerate()
                    .filter_map(move |(index, value)| Some((index, error(value)?)))
            };
            found.extend(
                in_values(integer_error)
                    .filter(|_| is_number)
                    .chain(in_values(value_error))
                    .map(|(index, error)| (path.index(index), error))
                    .take(ERRORS_PER_REQUIREMENT - found.len()),
            );
        }
        if !found.is_empty() {
            return Err(errors(requirement, is_about_fields, found));
        }
        let listed = values.iter().cloned().collect();
        // MIRRORS: strconv, `ParseInt(s, 10, 64)`: an optional sign, then digits.
        let bound = values.first().and_then(|value| value.parse().ok());
        let is_known = !is_about_fields || key == NAME_FIELD;
        Ok(Self {
            key: if is_known { key.clone() } else { String::new() },
            test: match operator.as_str() {
                "In" => Test::In(listed),
                "NotIn" => Test::NotIn(listed),
                "Exists" => Test::Exists,
                "Gt" => Test::Gt(bound.unwrap_or_default()),
                "Lt" => Test::Lt(bound.unwrap_or_default()),
                _ => Test::DoesNotExist,
            },
        })
    }
}

/// The values of a label, or of the field for the name, of the nodes in a list.
pub(super) struct NodeValues<'n> {
    count: usize,
    present: NodeSet,
    /// Each value, its number if it is an integer, and the position of its node; sorted by value.
    values: Vec<(&'n str, Option<i64>, usize)>,
}

impl<'n> NodeValues<'n> {
    /// The values, with the positions of their nodes in a list of so many nodes.
    pub(super) fn new(count: usize, values: impl IntoIterator<Item = (&'n str, usize)>) -> Self {
        let mut present = NodeSet::none(count);
        let mut values: Vec<_> = values
            .into_iter()
            .map(|(value, node)| {
                present.insert(node);
                (value, value.parse().ok(), node)
            })
            .collect();
        values.sort();
        Self {
            count,
            present,
            values,
        }
    }

    fn with(&self, listed: &BTreeSet<String>) -> NodeSet {
        let mut nodes = NodeSet::none(self.count);
        for listed in listed {
            let start = self
                .values
                .partition_point(|(value, ..)| *value < listed.as_str());
            self.values
                .iter()
                .skip(start)
                .take_while(|(value, ..)| value == listed)
                .for_each(|(.., node)| nodes.insert(*node));
        }
        nodes
    }
}

impl Test {
    /// Whether each of the nodes meets the requirement.
    ///
    /// MIRRORS: k8s.io/apimachinery/pkg/labels/selector.go, `Requirement.Matches`: a node without the label
    /// meets `NotIn`, and a value that is not an integer meets neither `Gt` nor `Lt`.
    pub(super) fn met_by(&self, nodes: &NodeValues<'_>) -> NodeSet {
        let numbers = |is_met: &dyn Fn(i64) -> bool| {
            let mut met = NodeSet::none(nodes.count);
            for (_, number, node) in &nodes.values {
                if number.is_some_and(is_met) {
                    met.insert(*node);
                }
            }
            met
        };
        match self {
            Self::In(listed) => nodes.with(listed),
            Self::NotIn(listed) => NodeSet::all(nodes.count).without(&nodes.with(listed)),
            Self::Exists => nodes.present.clone(),
            Self::DoesNotExist => NodeSet::all(nodes.count).without(&nodes.present),
            Self::Gt(bound) => numbers(&|number| number > *bound),
            Self::Lt(bound) => numbers(&|number| number < *bound),
        }
    }

    pub(super) fn is_met_by(&self, value: &str) -> bool {
        !self.met_by(&NodeValues::new(1, [(value, 0)])).is_empty()
    }
}

/// The field and the reason, if the operator or the number of values is wrong.
pub(super) fn mistake(
    requirement: &NodeSelectorRequirement,
    is_about_fields: bool,
) -> Option<(&'static str, &'static str)> {
    let values = requirement.values.as_deref().unwrap_or_default();
    match (requirement.operator.as_str(), is_about_fields, values.len()) {
        ("In" | "NotIn", true, 1) | ("Gt" | "Lt", false, 1) => None,
        ("In" | "NotIn", true, _) => Some(("values", "matchFields requires exactly one value")),
        (_, true, _) => Some((
            "operator",
            "matchFields supports only the operators In and NotIn",
        )),
        ("In" | "NotIn", false, 0) => Some(("values", "In and NotIn require at least one value")),
        ("Exists" | "DoesNotExist", false, 1..) => {
            Some(("values", "Exists and DoesNotExist take no values"))
        }
        ("In" | "NotIn" | "Exists" | "DoesNotExist", false, _) => None,
        ("Gt" | "Lt", false, _) => Some(("values", "Gt and Lt require exactly one value")),
        (_, false, _) => Some((
            "operator",
            "the operator must be In, NotIn, Exists, DoesNotExist, Gt, or Lt",
        )),
    }
}

pub(super) fn errors(
    requirement: &NodeSelectorRequirement,
    is_about_fields: bool,
    found: Vec<(FieldPath, &'static str)>,
) -> Vec<SelectorError> {
    let text: Rc<str> = one_line(requirement).into();
    found
        .into_iter()
        .map(|(path, reason)| SelectorError {
            path,
            is_about_fields,
            requirement: Rc::clone(&text),
            reason,
        })
        .collect()
}

/// A requirement as it appears in messages, and as the comparison with the old object identifies it.
fn one_line(requirement: &NodeSelectorRequirement) -> String {
    let NodeSelectorRequirement { key, operator, .. } = requirement;
    match requirement.values.as_deref() {
        None | Some([]) => format!("{key} {operator}"),
        Some(values) => format!("{key} {operator} [{}]", values.join(" ")),
    }
}

fn integer_error(value: &str) -> Option<&'static str> {
    let is_integer = value.parse::<i64>().is_ok();
    (!is_integer).then_some("Gt and Lt require a 64-bit integer")
}
