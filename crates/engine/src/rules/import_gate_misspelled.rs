//! See `import-gate-misspelled.md`.

use kube_objects::edit::Edits;
use kube_objects::text::{distance, quote};
use operator_models::hco::import::{GATE, Gate};

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;

/// The maximum number of wrong letters.
const TYPOS: usize = 2;

/// MIRRORS: hyperconverged-cluster-operator `api/v1/featuregates/feature_gates.go`, Index: any letter case from 1.19 on,
/// exact in 1.18. No other feature gate of HCO is within two letters of this one (see the test below).
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let gates = &facts.hco.import.gates;
    let version = facts.version;
    // If the version is known, the letter case is a problem only before 1.19.
    let is_case_ignored = version.is_known && version.hco.ignores_case_of_gates();
    let is_alone = gates.iter().filter_map(typos).count() == 1;
    let is_listed = gates.iter().any(|gate| gate.name == GATE);
    for (index, gate) in gates.iter().enumerate() {
        let Some(typos) = typos(gate).filter(|_| gate.name != GATE) else {
            continue;
        };
        if typos == 0 && is_case_ignored {
            continue;
        }
        let name = facts.hco.fields.gates.path().index(index).key("name");
        findings.add(Identity::value(&gate.name), || {
            // A name that is listed twice is invalid.
            let edits = if gate.has_plain_key && !is_listed {
                Edits::default().replace(name.clone(), GATE).finish()
            } else {
                Vec::new()
            };
            Finding {
                path: name.clone(),
                fact: match typos {
                    0 if version.is_known => format!(
                        "The feature gate {} has the wrong letter case: HCO {} ignores it.",
                        quote(&gate.name),
                        version.hco
                    ),
                    0 => format!(
                        "The feature gate {} has the wrong letter case: HCO 1.18 and earlier ignore it.",
                        quote(&gate.name)
                    ),
                    _ => format!(
                        "The feature gate {} is unknown: HCO ignores it.",
                        quote(&gate.name)
                    ),
                },
                // Correcting the name can change the import, unless this version ignores the letter case.
                fixes: vec![Fix::Edits {
                    summary: format!("use the name {GATE}"),
                    complete: typos == 0
                        && version.hco.ignores_case_of_gates()
                        && is_alone
                        && gate.has_plain_key
                        && !edits.is_empty(),
                    edits,
                }],
            }
        });
    }
}

/// The number of wrong letters in a gate's name, if it is similar to the gate of the import.
fn typos(gate: &Gate) -> Option<usize> {
    // A character has at most four bytes; most names are much too short or too long to be similar.
    let is_near = gate.name.len().abs_diff(GATE.len()) <= 4 * TYPOS;
    is_near.then(|| distance(&gate.name, GATE, TYPOS)).flatten()
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    /// MIRRORS: hyperconverged-cluster-operator pkg/featuregatedetails/feature-gates.json.
    const GATES: [&str; 12] = [
        "alignCPUs",
        "containerPathVolumes",
        "decentralizedLiveMigration",
        "declarativeHotplugVolumes",
        "deployKubeSecondaryDNS",
        "deployObservabilityController",
        "disableMDevConfiguration",
        "downwardMetrics",
        "incrementalBackup",
        "objectGraph",
        "persistentReservation",
        "template",
    ];

    #[test]
    fn no_other_gate_of_hco_is_taken_for_a_misspelled_one() {
        for gate in GATES {
            let distance = distance(gate, GATE, TYPOS);
            assert_eq!(distance, None, "{gate}");
        }
    }
}
