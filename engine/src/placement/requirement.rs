//! One requirement of a node selector term: parsed once, matched per node.
//! What does not parse becomes a [`SelectorError`]; nothing is repaired.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::NodeSelectorRequirement;

use super::label::{key_fault, value_fault};
use super::{NodeView, Part, Place, SelectorError, Slots};

/// How many errors of one requirement are kept. They all name the same
/// requirement, and a list of values can be as long as the request.
const ERRORS_PER_REQUIREMENT: usize = 8;

/// What a term asks of one label.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LabelRequirement {
    slot: usize,
    test: Test,
}

/// The values are in a set, for a long list is searched once per node.
#[derive(Debug, Clone, PartialEq)]
enum Test {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    DoesNotExist,
    Gt(i64),
    Lt(i64),
}

impl LabelRequirement {
    /// Parses what stands at `path`, or says everything that is wrong with it.
    ///
    /// MIRRORS: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
    /// `nodeSelectorRequirementsAsSelector`, and
    /// k8s.io/apimachinery/pkg/labels/selector.go, `NewRequirement`: an unknown
    /// operator hides all other faults; otherwise first the key, then what the
    /// operator asks of the values, then each value as a label value. Go adds
    /// the key to a value's path (`values[0][kubernetes.io/arch]`), which is
    /// no field and as long as the user likes, so it is left out here.
    pub(super) fn parse(
        requirement: &NodeSelectorRequirement,
        place: Place,
        slots: &mut Slots,
    ) -> Result<Self, Vec<SelectorError>> {
        let values = requirement.values.as_deref().unwrap_or_default();
        let mut faults = Faults::new(place);
        let test = match requirement.operator.as_str() {
            "In" => Some(Test::In(set_of(values))),
            "NotIn" => Some(Test::NotIn(set_of(values))),
            "Exists" => Some(Test::Exists),
            "DoesNotExist" => Some(Test::DoesNotExist),
            "Gt" => integer(values).map(Test::Gt),
            "Lt" => integer(values).map(Test::Lt),
            _ => {
                faults.add(
                    Part::Operator,
                    "the operator is none of In, NotIn, Exists, DoesNotExist, Gt and Lt",
                );
                return Err(faults.of(requirement));
            }
        };
        if let Some(fault) = key_fault(&requirement.key) {
            faults.add(Part::Key, fault);
        }
        match (&test, values) {
            (Some(Test::In(_) | Test::NotIn(_)), []) => {
                faults.add(Part::Values, "In and NotIn need at least one value");
            }
            (Some(Test::Exists | Test::DoesNotExist), [_, ..]) => {
                faults.add(Part::Values, "Exists and DoesNotExist take no values");
            }
            (None, values) => {
                if values.len() != 1 {
                    faults.add(Part::Values, "Gt and Lt need exactly one value");
                }
                for (index, value) in values.iter().enumerate() {
                    if value.parse::<i64>().is_err() {
                        faults.add(
                            Part::Value(index),
                            "the value is not an integer of 64 bits, which Gt and Lt need",
                        );
                    }
                }
            }
            _ => {}
        }
        for (index, value) in values.iter().enumerate() {
            if let Some(fault) = value_fault(value) {
                faults.add(Part::Value(index), fault);
            }
        }
        match test {
            Some(test) if faults.is_empty() => Ok(Self {
                slot: slots.intern(&requirement.key),
                test,
            }),
            _ => Err(faults.of(requirement)),
        }
    }

    /// MIRRORS: k8s.io/apimachinery/pkg/labels/selector.go, `Requirement.Matches`:
    /// a node without the label satisfies `NotIn`, and a label that is no number
    /// satisfies neither Gt nor Lt.
    pub(super) fn matches(&self, node: &NodeView<'_>) -> bool {
        let value = node.label(self.slot);
        match &self.test {
            Test::In(values) => value.is_some_and(|value| values.contains(value)),
            Test::NotIn(values) => !value.is_some_and(|value| values.contains(value)),
            Test::Exists => value.is_some(),
            Test::DoesNotExist => value.is_none(),
            Test::Gt(bound) => number(value).is_some_and(|number| number > *bound),
            Test::Lt(bound) => number(value).is_some_and(|number| number < *bound),
        }
    }
}

/// What a term asks of one field. The name is the only field there is: any
/// other parses and reads as empty.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FieldRequirement {
    is_name: bool,
    is_equal: bool,
    value: String,
}

impl FieldRequirement {
    /// Parses what stands at `path`. Key and value can be anything here.
    ///
    /// MIRRORS: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
    /// `nodeSelectorRequirementsAsFieldSelector`.
    pub(super) fn parse(
        requirement: &NodeSelectorRequirement,
        place: Place,
    ) -> Result<Self, Vec<SelectorError>> {
        let mut faults = Faults::new(place);
        let is_equal = match requirement.operator.as_str() {
            "In" => true,
            "NotIn" => false,
            _ => {
                faults.add(
                    Part::Operator,
                    "the operator is neither In nor NotIn, and a field takes no other",
                );
                return Err(faults.of(requirement));
            }
        };
        if let [value] = requirement.values.as_deref().unwrap_or_default() {
            Ok(Self {
                is_name: requirement.key == "metadata.name",
                is_equal,
                value: value.clone(),
            })
        } else {
            faults.add(Part::Values, "a field needs exactly one value");
            Err(faults.of(requirement))
        }
    }

    /// MIRRORS: k8s.io/apimachinery/pkg/fields/selector.go, `hasTerm.Matches`
    /// and `notHasTerm.Matches`.
    pub(super) fn matches(&self, name: &str) -> bool {
        let value = if self.is_name { name } else { "" };
        (value == self.value) == self.is_equal
    }
}

/// Collects what is wrong with one requirement.
struct Faults {
    place: Place,
    found: Vec<(Place, &'static str)>,
}

impl Faults {
    fn new(place: Place) -> Self {
        Self {
            place,
            found: Vec::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    fn add(&mut self, part: Part, reason: &'static str) {
        if self.found.len() < ERRORS_PER_REQUIREMENT {
            self.found.push((Place { part, ..self.place }, reason));
        }
    }

    fn of(self, requirement: &NodeSelectorRequirement) -> Vec<SelectorError> {
        let text: Arc<str> = one_line(requirement).into();
        self.found
            .into_iter()
            .map(|(place, reason)| SelectorError {
                place,
                requirement: Arc::clone(&text),
                reason,
            })
            .collect()
    }
}

/// A requirement as it is written in messages and compared by the ratchet.
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

/// One by one: collecting would bring a sort into the module, and that is more
/// code than the whole of this file.
fn set_of(values: &[String]) -> BTreeSet<String> {
    let mut set = BTreeSet::new();
    for value in values {
        set.insert(value.clone());
    }
    set
}

/// The bound of Gt and Lt. Rust and Go agree on what an integer is: an
/// optional sign, digits, nothing else.
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
