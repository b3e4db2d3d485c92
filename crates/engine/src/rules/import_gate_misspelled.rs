use kube_objects::text::distance;
use operator_models::hco::import::Gate;

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("import-gate-misspelled", Level::Warn);

const TYPOS: usize = 2;

/// The name of a feature gate resembles the gate that enables the import.
///
/// MIRRORS: hyperconverged-cluster-operator `api/v1/featuregates/feature_gates.go`, Index: any letter case from 1.19 on,
/// exact in 1.18. No other feature gate of HCO is within two letters of this one.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
) -> impl Iterator<Item = Violation<'f>> {
    // If the version is known, the letter case is a problem only before 1.19.
    let is_case_ignored =
        configuration.is_version_known() && configuration.version().ignores_case_of_gates();
    configuration
        .hco
        .import
        .gates
        .iter()
        .enumerate()
        .filter_map(|(index, gate)| Some((index, gate, typos(gate)?)))
        .filter(move |(_, gate, typos)| gate.name != GATE && (*typos > 0 || !is_case_ignored))
        .map(move |(index, gate, typos)| Violation {
            value: gate.name.as_str().into(),
            ..Violation::new(move || describe(configuration, index, gate, typos))
        })
}

/// The number of wrong letters in a gate's name, if it resembles the import's gate.
fn typos(gate: &Gate) -> Option<usize> {
    // A character has at most four bytes. This comparison excludes most names early.
    let is_near = gate.name.len().abs_diff(GATE.len()) <= 4 * TYPOS;
    is_near.then(|| distance(&gate.name, GATE, TYPOS)).flatten()
}

/// `typos` is 0 if only the letter case differs. Correcting the name can change the import.
fn describe<'f>(
    configuration: &Configuration<'_>,
    index: usize,
    gate: &Gate,
    typos: usize,
) -> Description<'f> {
    let hco = configuration.hco;
    let path = hco.fields.gates.path().index(index).key("name");
    let name = quote(&gate.name);
    // A name that is listed twice is invalid.
    let is_listed = hco.import.gates.iter().any(|gate| gate.name == GATE);
    let is_editable = gate.has_plain_key && !is_listed;
    let patch = is_editable.then(|| PatchOperation::replace(&path, GATE));
    let fix = Fix::edits(format!("use the name {GATE}"), Vec::from_iter(patch));
    Description {
        path,
        fact: match typos {
            0 if configuration.is_version_known() => format!(
                "The feature gate {name} has the wrong letter case: HCO {} ignores it.",
                configuration.version()
            ),
            0 => format!(
                "The feature gate {name} has the wrong letter case: HCO 1.18 and earlier ignore it."
            ),
            _ => format!("The feature gate {name} is unknown: HCO ignores it."),
        },
        fixes: vec![Proposal::Fix(fix)],
    }
}
