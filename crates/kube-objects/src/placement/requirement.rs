//! One requirement of a node selector term, parsed once and matched against many nodes. A requirement that
//! cannot be parsed becomes a [`SelectorError`].

use crate::label::{key_error, value_error};
use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::NodeSelectorRequirement;

use super::{ErrorPosition, Part, SelectorError};

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
    In(Values),
    NotIn(Values),
    Exists,
    DoesNotExist,
    Gt(i64),
    Lt(i64),
}

/// Different values, in order: long lists are searched for every node, and the search of a set is slower.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Values(Vec<String>);

impl Values {
    fn new(values: &[String]) -> Self {
        let values: BTreeSet<String> = values.iter().cloned().collect();
        Self(values.into_iter().collect())
    }

    fn contains(&self, value: &str) -> bool {
        let found = self.0.binary_search_by(|known| known.as_str().cmp(value));
        found.is_ok()
    }
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
        position: ErrorPosition,
    ) -> Result<Self, Vec<SelectorError>> {
        let values = requirement.values.as_deref().unwrap_or_default();
        let mut errors = Errors::new(position);
        let test = match requirement.operator.as_str() {
            "In" => Some(Test::In(Values::new(values))),
            "NotIn" => Some(Test::NotIn(Values::new(values))),
            "Exists" => Some(Test::Exists),
            "DoesNotExist" => Some(Test::DoesNotExist),
            "Gt" => integer(values).map(Test::Gt),
            "Lt" => integer(values).map(Test::Lt),
            _ => {
                errors.add(
                    Part::Operator,
                    "the operator must be In, NotIn, Exists, DoesNotExist, Gt, or Lt",
                );
                return Err(errors.of(requirement));
            }
        };
        if let Some(error) = key_error(&requirement.key) {
            errors.add(Part::Key, error);
        }
        match (&test, values) {
            (Some(Test::In(_) | Test::NotIn(_)), []) => {
                errors.add(Part::Values, "In and NotIn require at least one value");
            }
            (Some(Test::Exists | Test::DoesNotExist), [_, ..]) => {
                errors.add(Part::Values, "Exists and DoesNotExist take no values");
            }
            (None, values) => {
                if values.len() != 1 {
                    errors.add(Part::Values, "Gt and Lt require exactly one value");
                }
                for (index, value) in values.iter().enumerate() {
                    if value.parse::<i64>().is_err() {
                        errors.add(Part::Value(index), "Gt and Lt require a 64-bit integer");
                    }
                }
            }
            _ => {}
        }
        for (index, value) in values.iter().enumerate() {
            if let Some(error) = value_error(value) {
                errors.add(Part::Value(index), error);
            }
        }
        match test {
            Some(test) if errors.is_empty() => Ok(Self {
                key: requirement.key.clone(),
                test,
            }),
            _ => Err(errors.of(requirement)),
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
        position: ErrorPosition,
    ) -> Result<Self, Vec<SelectorError>> {
        let mut errors = Errors::new(position);
        let is_equal = match requirement.operator.as_str() {
            "In" => true,
            "NotIn" => false,
            _ => {
                errors.add(
                    Part::Operator,
                    "matchFields supports only the operators In and NotIn",
                );
                return Err(errors.of(requirement));
            }
        };
        if let [value] = requirement.values.as_deref().unwrap_or_default() {
            Ok(Self {
                is_name: requirement.key == "metadata.name",
                is_equal,
                value: value.clone(),
            })
        } else {
            errors.add(Part::Values, "matchFields requires exactly one value");
            Err(errors.of(requirement))
        }
    }

    /// Whether a node with this name meets the requirement.
    ///
    /// MIRRORS: k8s.io/apimachinery/pkg/fields/selector.go, `hasTerm.Matches` and `notHasTerm.Matches`.
    pub(super) fn is_met_by(&self, name: &str) -> bool {
        let value = if self.is_name { name } else { "" };
        (value == self.value) == self.is_equal
    }
}

/// Collects the errors of one requirement.
struct Errors {
    position: ErrorPosition,
    found: Vec<(ErrorPosition, &'static str)>,
}

impl Errors {
    fn new(position: ErrorPosition) -> Self {
        Self {
            position,
            found: Vec::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    fn add(&mut self, part: Part, reason: &'static str) {
        if self.found.len() < ERRORS_PER_REQUIREMENT {
            self.found.push((
                ErrorPosition {
                    part,
                    ..self.position
                },
                reason,
            ));
        }
    }

    fn of(self, requirement: &NodeSelectorRequirement) -> Vec<SelectorError> {
        let text: Arc<str> = one_line(requirement).into();
        self.found
            .into_iter()
            .map(|(position, reason)| SelectorError {
                position,
                requirement: Arc::clone(&text),
                reason,
            })
            .collect()
    }
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

fn number(value: Option<&str>) -> Option<i64> {
    value?.parse().ok()
}
