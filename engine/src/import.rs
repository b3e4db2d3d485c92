//! Whether HCO imports the golden images for several architectures: the many places that say so.

use crate::json::{self, Raw, Unreadable};
use crate::text::ascii_lower;

/// The gate's name, as HCO writes it.
pub(crate) const GATE: &str = "enableMultiArchBootImageImport";

/// What an object says of the import.
#[derive(Debug)]
pub(crate) struct Import {
    /// v1's field, v1beta1's gate.
    pub(crate) field: Option<bool>,
    /// v1's list of gates.
    pub(crate) gates: Vec<Gate>,
    /// What v1beta1 carries of v1 in an annotation; an error if HCO's conversion cannot read it.
    pub(crate) v1_only: Result<V1Only, UnreadableV1Only>,
}

impl Import {
    /// What HCO makes of an object as it stands.
    ///
    /// MIRRORS: hyperconverged-cluster-operator
    /// controllers/handlers/golden-images/golden_images.go, `IsMultiArchEnabled`;
    /// api/v1beta1/conversion.go, restoreV1OnlyFields and convertMultiArchV1beta1FGToV1: an explicit
    /// gate of v1beta1 becomes the field and beats both things that the annotation can carry.
    pub(crate) fn is_enabled(&self) -> bool {
        let carried = self.v1_only.as_ref().ok();
        self.field
            .or_else(|| carried.and_then(|carried| carried.enabled))
            .or_else(|| self.gate())
            .or_else(|| carried.and_then(|carried| gate(&carried.gates)))
            .unwrap_or(false)
    }

    /// What HCO's mutating webhook leaves of an update, since it runs before any validating one.
    ///
    /// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/mutator/hyperConvergedMutator.go,
    /// mutateFieldAndFGOnUpdate.
    pub(crate) fn is_enabled_after(&self, old: &Self) -> bool {
        let Some(gate) = self.gate() else {
            return self.is_enabled();
        };
        match (self.gate() != old.gate(), self.field != old.field) {
            // The gate was changed alone: HCO sets the field by it.
            (true, false) => gate,
            // The field was taken away beside a gate that stayed: HCO drops the gate as well.
            (false, true) => self.field.unwrap_or(false),
            _ => self.field.unwrap_or(gate),
        }
    }

    /// Whether the gate and the field say different things, so that HCO's mutating webhook refuses.
    ///
    /// MIRRORS: as above, and mutateFieldAndFGOnCreate. On an update an absent field reads as off
    /// there: taking the field away while the gate is switched on is refused too.
    pub(crate) fn contradicts_itself(&self, old: Option<&Self>) -> bool {
        let Some(gate) = self.gate() else {
            return false;
        };
        match old {
            None => self.field.is_some_and(|field| field != gate),
            Some(old) => {
                self.gate() != old.gate()
                    && self.field != old.field
                    && self.field.unwrap_or(false) != gate
            }
        }
    }

    /// The gate in v1's list, if it is there.
    fn gate(&self) -> Option<bool> {
        gate(&self.gates)
    }

    /// Where the gate stands in v1's list.
    pub(crate) fn gate_index(&self) -> Option<usize> {
        index(&self.gates)
    }
}

/// MIRRORS: hyperconverged-cluster-operator `api/v1/featuregates/feature_gates.go`,
/// `IsExplicitlyEnabled` and Index: any letter case, the first of the name wins.
fn gate(gates: &[Gate]) -> Option<bool> {
    index(gates)
        .and_then(|index| gates.get(index))
        .map(|gate| gate.enabled)
}

fn index(gates: &[Gate]) -> Option<usize> {
    let name = ascii_lower(GATE);
    gates
        .iter()
        .position(|gate| ascii_lower(&gate.name) == name)
}

/// An entry of v1's list of gates.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) name: String,
    enabled: bool,
}

impl Gate {
    /// Reads a list of gates. An empty object is an empty list: an upgrade from HCO 1.18 leaves one.
    ///
    /// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/mutator/hyperConvergedMutator.go,
    /// recoverBadFeatureGates.
    pub(crate) fn list(raw: Raw<'_>) -> Result<Vec<Self>, Unreadable> {
        let mut members = 0_usize;
        if json::each_member(raw, &mut |_, _| members += 1).is_ok() && members == 0 {
            return Ok(Vec::new());
        }
        Self::strict_list(raw)
    }

    fn strict_list(raw: Raw<'_>) -> Result<Vec<Self>, Unreadable> {
        json::each(raw, |_, gate| Self::parse(gate))
    }

    /// MIRRORS: hyperconverged-cluster-operator `api/v1/featuregates/feature_gates.go`,
    /// `UnmarshalJSON`: encoding/json, which takes a key in any letter case; no state means Enabled.
    fn parse(raw: Raw<'_>) -> Result<Self, Unreadable> {
        let [name, state] = members_of_any_case(raw, ["name", "state"])?;
        let state = json::optional("state", state, json::string)?;
        Ok(Self {
            name: json::optional("name", name, json::string)?.unwrap_or_default(),
            enabled: state.is_none_or(|state| state == "Enabled"),
        })
    }
}

/// What the annotation `hco.kubevirt.io/v1-only-fields` says of the import.
#[derive(Debug, Default)]
pub(crate) struct V1Only {
    enabled: Option<bool>,
    gates: Vec<Gate>,
}

/// Why HCO's conversion cannot read the annotation.
#[derive(Debug)]
pub(crate) struct UnreadableV1Only(pub(crate) String);

impl V1Only {
    /// MIRRORS: hyperconverged-cluster-operator api/v1beta1/conversion.go, restoreV1OnlyFields and
    /// v1OnlyFields: one wrong type anywhere in it fails the conversion of the whole object.
    pub(crate) fn parse(annotation: Option<&str>) -> Result<Self, UnreadableV1Only> {
        let Some(annotation) = annotation.filter(|annotation| !annotation.is_empty()) else {
            return Ok(Self::default());
        };
        let raw = Raw::document(annotation.as_bytes())
            .map_err(|_| UnreadableV1Only("it is not valid JSON".to_owned()))?;
        Self::from_raw(raw).map_err(|error| UnreadableV1Only(error.to_string()))
    }

    fn from_raw(raw: Raw<'_>) -> Result<Self, Unreadable> {
        let names = [
            "deployNetworkResourcesInjector",
            "mdevConfigEnable",
            "persistentReservationEnabled",
            "multiArchEnabled",
            "featureGates",
            "observability",
        ];
        let [network, mdev, reservation, enabled, gates, observability] =
            members_of_any_case(raw, names).map_err(|error| error.under("it"))?;
        json::optional("deployNetworkResourcesInjector", network, json::boolean)?;
        json::optional("mdevConfigEnable", mdev, json::boolean)?;
        json::optional("persistentReservationEnabled", reservation, json::boolean)?;
        json::optional("observability", observability, |raw| {
            let names = ["workloads", "allowedAlerts", "allowedRecordingRules"];
            let [workloads, alerts, recordings] = members_of_any_case(raw, names)?;
            json::optional("allowedAlerts", alerts, strings)?;
            json::optional("allowedRecordingRules", recordings, strings)?;
            json::optional("workloads", workloads, |raw| {
                let [metrics] = members_of_any_case(raw, ["allowedMetrics"])?;
                json::optional("allowedMetrics", metrics, strings)
            })
        })?;
        Ok(Self {
            enabled: json::optional("multiArchEnabled", enabled, json::boolean)?,
            gates: json::optional("featureGates", gates, Gate::strict_list)?.unwrap_or_default(),
        })
    }
}

fn strings(raw: Raw<'_>) -> Result<(), Unreadable> {
    json::each(raw, |_, item| json::string_or_null(item)).map(drop)
}

/// The members of an object whose keys fold to `names`.
fn members_of_any_case<'a, const N: usize>(
    raw: Raw<'a>,
    names: [&str; N],
) -> Result<[Option<Raw<'a>>; N], Unreadable> {
    let mut found = [None; N];
    json::find_members(raw, &names, &mut found, folds_to)?;
    Ok(found)
}

/// Whether a key folds to a name, which is ASCII.
///
/// MIRRORS: Go encoding/json, foldName: besides the ASCII letters, the long s (U+017F) folds to s and the
/// Kelvin sign (U+212A) to k.
fn folds_to(name: &str, key: &str) -> bool {
    let folded = key.chars().map(|character| match character {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    });
    folded.eq(name.chars().map(|character| character.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn import(field: Option<bool>, gate: Option<bool>) -> Import {
        Import {
            field,
            gates: gate
                .map(|enabled| Gate {
                    name: GATE.to_uppercase(),
                    enabled,
                })
                .into_iter()
                .collect(),
            v1_only: Ok(V1Only::default()),
        }
    }

    /// Every pair of old and new, told by the branches of mutateFieldAndFGOnUpdate.
    #[test]
    fn an_update_ends_as_the_mutator_leaves_it() {
        let (on, off, no) = (Some(true), Some(false), None);
        for (old, new, enabled, refused) in [
            // The gate is not in the new object: the field, or nothing.
            ((on, on), (on, no), true, false),
            ((no, on), (no, no), false, false),
            // The gate was changed, the field was not.
            ((no, no), (no, on), true, false),
            ((off, no), (off, on), true, false),
            ((on, on), (on, off), false, false),
            // Both were changed.
            ((no, no), (on, on), true, false),
            ((no, no), (on, off), true, true),
            ((no, no), (off, on), false, true),
            // The field was taken away while the gate came: an absent field reads as off.
            ((off, no), (no, on), true, true),
            ((on, no), (no, off), false, false),
            // The field was changed, the gate was not: the gate goes.
            ((off, off), (on, off), true, false),
            ((on, on), (off, on), false, false),
            ((on, on), (no, on), false, false),
            // Nothing was changed.
            ((no, on), (no, on), true, false),
            ((off, on), (off, on), false, false),
        ] {
            let (old, new) = (import(old.0, old.1), import(new.0, new.1));
            let row = format!("{old:?} -> {new:?}");
            assert_eq!(new.contradicts_itself(Some(&old)), refused, "{row}");
            if !refused {
                assert_eq!(new.is_enabled_after(&old), enabled, "{row}");
            }
        }
    }

    #[test]
    fn on_creation_a_gate_that_contradicts_the_field_is_refused() {
        assert!(import(Some(true), Some(false)).contradicts_itself(None));
        assert!(!import(Some(true), Some(true)).contradicts_itself(None));
        assert!(!import(None, Some(false)).contradicts_itself(None));
    }

    #[test]
    fn an_annotation_with_one_wrong_type_is_unreadable() {
        for annotation in [
            "{",
            "[]",
            r#"{"multiArchEnabled":"yes"}"#,
            r#"{"featureGates":{}}"#,
            r#"{"observability":{"workloads":{"allowedMetrics":[1]}}}"#,
            r#"{"MDEVCONFIGENABLE":1}"#,
        ] {
            assert!(V1Only::parse(Some(annotation)).is_err(), "{annotation}");
        }
        for annotation in [
            "",
            "null",
            "{}",
            r#"{"unknown":1}"#,
            r#"{"observability":null}"#,
        ] {
            assert!(V1Only::parse(Some(annotation)).is_ok(), "{annotation}");
        }
    }

    #[test]
    fn keys_of_the_annotation_are_read_in_any_case() {
        let parsed = V1Only::parse(Some("{\"MULTIARCHENABLED\":true}")).unwrap();
        assert_eq!(parsed.enabled, Some(true));
        let folded = V1Only::parse(Some("{\"featureGate\u{17f}\":[{\"NAME\":\"x\"}]}")).unwrap();
        assert_eq!(folded.gates.len(), 1);
    }
}
