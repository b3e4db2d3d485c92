//! One requirement of a node selector term, parsed once and matched against many nodes. A requirement that
//! cannot be parsed becomes a [`SelectorError`].

use std::collections::BTreeSet;
use std::rc::Rc;

use k8s_openapi::api::core::v1::NodeSelectorRequirement;

use super::SelectorError;
use crate::label::{key_error, value_error};
use crate::path::FieldPath;

/// The maximum number of errors of one requirement that are reported. All of them repeat the requirement, whose list of
/// values can be as long as the request.
const ERRORS_PER_REQUIREMENT: usize = 8;

/// The requirement of a term for one label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LabelRequirement {
    pub(super) key: String,
    pub(super) test: Test,
}

/// The requirement of a term for the value of a label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Test {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    DoesNotExist,
    Gt(i64),
    Lt(i64),
}

impl LabelRequirement {
    /// Parses the requirement at `path`, or reports everything that is wrong with it.
    ///
    /// MIRRORS: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
    /// `nodeSelectorRequirementsAsSelector`, and k8s.io/apimachinery/pkg/labels/selector.go,
    /// `NewRequirement`: an unknown operator hides all other errors. Otherwise the key is checked first, then
    /// the number and type of the values, then each value as a label value.
    ///
    /// DIVERGES: Go adds the key to the path of a value (`values[0][kubernetes.io/arch]`). This is not the path of
    /// a field, and a key can have any length, so the path ends with the index here.
    pub(super) fn parse(
        requirement: &NodeSelectorRequirement,
        path: &FieldPath,
    ) -> Result<Self, Vec<SelectorError>> {
        let values = requirement.values.as_deref().unwrap_or_default();
        let path_of_values = path.key("values");
        let mut found = Vec::new();
        let test = match requirement.operator.as_str() {
            "In" => Some(Test::In(values.iter().cloned().collect())),
            "NotIn" => Some(Test::NotIn(values.iter().cloned().collect())),
            "Exists" => Some(Test::Exists),
            "DoesNotExist" => Some(Test::DoesNotExist),
            "Gt" => integer(values).map(Test::Gt),
            "Lt" => integer(values).map(Test::Lt),
            _ => {
                let reason = "the operator must be In, NotIn, Exists, DoesNotExist, Gt, or Lt";
                let found = vec![(path.key("operator"), reason)];
                return Err(errors(requirement, false, found));
            }
        };
        if let Some(error) = key_error(&requirement.key) {
            found.push((path.key("key"), error));
        }
        let mistake = match (&test, values) {
            (Some(Test::In(_) | Test::NotIn(_)), []) => {
                Some("In and NotIn require at least one value")
            }
            (Some(Test::Exists | Test::DoesNotExist), [_, ..]) => {
                Some("Exists and DoesNotExist take no values")
            }
            (None, [] | [_, _, ..]) => Some("Gt and Lt require exactly one value"),
            _ => None,
        };
        found.extend(mistake.map(|mistake| (path_of_values.clone(), mistake)));
        let in_values = |error: fn(&str) -> Option<&'static str>| {
            let mistakes = values.iter().enumerate();
            mistakes.filter_map(move |(index, value)| Some((index, error(value)?)))
        };
        let not_integers = in_values(integer_error).filter(|_| test.is_none());
        let invalid = not_integers.chain(in_values(value_error));
        let invalid = invalid.map(|(index, error)| (path_of_values.index(index), error));
        found.extend(invalid.take(ERRORS_PER_REQUIREMENT - found.len()));
        match test {
            Some(test) if found.is_empty() => Ok(Self {
                key: requirement.key.clone(),
                test,
            }),
            _ => Err(errors(requirement, false, found)),
        }
    }
}

impl Test {
    /// Whether a node whose label has this value, or a node without the label, meets the requirement.
    ///
    /// MIRRORS: k8s.io/apimachinery/pkg/labels/selector.go, `Requirement.Matches`: a node without the label
    /// meets `NotIn`, and a value that is not an integer meets neither `Gt` nor `Lt`.
    pub(super) fn is_met_by(&self, value: Option<&str>) -> bool {
        match self {
            Self::In(values) => value.is_some_and(|value| values.contains(value)),
            Self::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Self::Exists => value.is_some(),
            Self::DoesNotExist => value.is_none(),
            Self::Gt(bound) => number(value).is_some_and(|number| number > *bound),
            Self::Lt(bound) => number(value).is_some_and(|number| number < *bound),
        }
    }
}

/// The requirement of a term for one field. Nodes have only the field for the name; every other field is parsed and is empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FieldRequirement {
    is_name: bool,
    is_equal: bool,
    value: String,
}

impl FieldRequirement {
    /// Parses the requirement at `path`. Any key and any value are valid.
    ///
    /// MIRRORS: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
    /// `nodeSelectorRequirementsAsFieldSelector`.
    pub(super) fn parse(
        requirement: &NodeSelectorRequirement,
        path: &FieldPath,
    ) -> Result<Self, Vec<SelectorError>> {
        let values = requirement.values.as_deref().unwrap_or_default();
        let error = match (requirement.operator.as_str(), values) {
            (operator @ ("In" | "NotIn"), [value]) => {
                return Ok(Self {
                    is_name: requirement.key == "metadata.name",
                    is_equal: operator == "In",
                    value: value.clone(),
                });
            }
            ("In" | "NotIn", _) => (path.key("values"), "matchFields requires exactly one value"),
            _ => (
                path.key("operator"),
                "matchFields supports only the operators In and NotIn",
            ),
        };
        Err(errors(requirement, true, vec![error]))
    }

    /// Whether a node with this name meets the requirement.
    ///
    /// MIRRORS: k8s.io/apimachinery/pkg/fields/selector.go, `hasTerm.Matches` and `notHasTerm.Matches`.
    pub(super) fn is_met_by(&self, name: &str) -> bool {
        let value = if self.is_name { name } else { "" };
        (value == self.value) == self.is_equal
    }
}

/// The errors of a requirement: the fields and the mistakes.
fn errors(
    requirement: &NodeSelectorRequirement,
    is_about_fields: bool,
    found: Vec<(FieldPath, &'static str)>,
) -> Vec<SelectorError> {
    let text: Rc<str> = one_line(requirement).into();
    let errors = found.into_iter().map(|(path, reason)| SelectorError {
        path,
        is_about_fields,
        requirement: Rc::clone(&text),
        reason,
    });
    errors.collect()
}

/// A requirement as it appears in messages and as the ratchet compares it.
fn one_line(requirement: &NodeSelectorRequirement) -> String {
    let mut line = format!("{} {}", requirement.key, requirement.operator);
    let values = requirement.values.as_deref().unwrap_or_default();
    if !values.is_empty() {
        line.push_str(" [");
        line.push_str(&values.join(" "));
        line.push(']');
    }
    line
}

/// The bound of `Gt` and `Lt`. Rust and Go parse the same integers: an optional sign, then digits.
/// MIRRORS: strconv, `ParseInt(s, 10, 64)`.
fn integer(values: &[String]) -> Option<i64> {
    match values {
        [value] => value.parse().ok(),
        _ => None,
    }
}

fn integer_error(value: &str) -> Option<&'static str> {
    let is_integer = value.parse::<i64>().is_ok();
    (!is_integer).then_some("Gt and Lt require a 64-bit integer")
}

fn number(value: Option<&str>) -> Option<i64> {
    value?.parse().ok()
}
