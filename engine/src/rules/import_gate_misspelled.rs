//! See `import-gate-misspelled.md`.

use crate::facts::Facts;
use crate::hyperconverged::Field;
use crate::import::GATE;
use crate::rule::{Finding, Level, Rule};
use crate::text::{ascii_lower, distance, quote};

pub(crate) static RULE: Rule = Rule {
    id: "import-gate-misspelled",
    level: Level::Warn,
    check,
};

/// How many letters may be wrong.
const TYPOS: usize = 2;

/// MIRRORS: hyperconverged-cluster-operator `api/v1/featuregates/feature_gates.go`, Index: any letter case
/// from main on, exact in v1.18. No other gate of HCO is within two letters of this one (a test holds it).
fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let wanted = ascii_lower(GATE);
    let gates = facts.hco.import.gates.iter().enumerate();
    let misspelled = gates.filter_map(|(index, gate)| {
        if gate.name == GATE {
            return None;
        }
        let effect = match distance(&ascii_lower(&gate.name), &wanted, TYPOS)? {
            0 => "HCO up to 1.18 does not know it in this letter case",
            _ => "HCO knows no gate of this name",
        };
        Some((index, gate, effect))
    });
    misspelled
        .map(|(index, gate, effect)| Finding {
            path: format!("{}[{index}].name", facts.hco.path(Field::Gates)),
            template: None,
            value: Some(gate.name.clone()),
            fact: format!("the gate {} is misspelled: {effect}", quote(&gate.name)),
            fix: format!("write {GATE}"),
        })
        .collect()
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
            let distance = distance(&ascii_lower(gate), &ascii_lower(GATE), TYPOS);
            assert_eq!(distance, None, "{gate}");
        }
    }
}
