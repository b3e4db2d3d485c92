//! Determines whether HCO imports golden images for several architectures, from the field, the deprecated feature gate,
//! and the annotation in which v1beta1 stores both.

use serde::{Deserialize, Serialize};

use kube_objects::json::{Field, Json, Object, WrongType};
use kube_objects::text::{folds_to, is_same_in_lower_case};
use strum::IntoStaticStr;

use crate::hco::api_version::ApiVersion;
use crate::hco::version::HcoVersion;

/// The name of the feature gate, and of the field that replaces it.
pub const GATE: &str = "enableMultiArchBootImageImport";

/// The multi-architecture import, as HCO resolves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "lowercase", const_into_str)]
pub enum Import {
    /// Golden images are imported for each architecture of the workload nodes.
    Enabled,
    /// Golden images are imported for only one architecture.
    Disabled,
}

impl From<bool> for Import {
    fn from(enabled: bool) -> Self {
        if enabled {
            Self::Enabled
        } else {
            Self::Disabled
        }
    }
}

#[derive(Debug)]
pub struct ImportFields {
    pub api_version: ApiVersion,
    /// The field of v1, or the feature gate of v1beta1.
    pub field: Option<bool>,
    pub gates: Vec<Gate>,
    /// The import in the annotation in which v1beta1 stores the fields that only v1 has; an error if HCO's conversion cannot
    /// read it.
    pub v1_only: Result<Option<bool>, String>,
}

impl ImportFields {
    /// The import of an object, without an update.
    ///
    /// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
    /// `IsMultiArchEnabled`; api/v1beta1/conversion.go, restoreV1OnlyFields and convertMultiArchV1beta1FGToV1: an
    /// explicit gate of v1beta1 becomes the field, so it takes precedence over the annotation. Before 1.19, v1 does not
    /// have the field, HCO knows the gate only by its exact name, and v1beta1 does not have the annotation.
    pub fn resolve(&self, version: HcoVersion) -> Import {
        if !version.has_import() {
            return Import::Disabled;
        }
        // In every version, v1beta1's gate counts as a field.
        let is_known = version.has_import_field() || self.api_version == ApiVersion::V1beta1;
        self.field
            .filter(|_| is_known)
            .or_else(|| match self.api_version {
                ApiVersion::V1beta1 => self.v1_only(version),
                ApiVersion::V1 => gate(&self.gates, version),
            })
            .unwrap_or(false)
            .into()
    }

    /// The import in the annotation, if this version of HCO reads it and can parse it.
    fn v1_only(&self, version: HcoVersion) -> Option<bool> {
        let v1_only = self.v1_only.as_ref().ok();
        *v1_only.filter(|_| version.has_import_field())?
    }

    /// The import in the annotation of a v1 object. HCO keeps the annotation, and reads it at the next update in v1beta1.
    pub fn stored_in_v1_annotation(&self, version: HcoVersion) -> Option<Import> {
        let is_v1 = self.api_version == ApiVersion::V1;
        self.v1_only(version).filter(|_| is_v1).map(Import::from)
    }

    /// Why HCO cannot convert a v1beta1 object to v1.
    pub fn unreadable_v1_only(&self, version: HcoVersion) -> Option<&str> {
        let is_read = self.api_version == ApiVersion::V1beta1 && version.has_import_field();
        let why = self.v1_only.as_ref().err();
        why.map(String::as_str).filter(|_| is_read)
    }

    /// The import after an update, after HCO's mutating webhook has changed the object. That webhook runs before any
    /// validating webhook. Before 1.19, it does not change the import.
    ///
    /// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/mutator/hyperConvergedMutator.go, mutateFieldAndFGOnUpdate
    /// and dropFeatureGate.
    pub fn resolve_update(&self, old: &Self, version: HcoVersion) -> Import {
        let Some(enabled) = self.mutated_gate(version) else {
            return self.resolve(version);
        };
        let is_gate_changed = gate(&old.gates, version) != Some(enabled);
        let resolved = match (is_gate_changed, self.field != old.field) {
            // Only the gate changed: HCO copies it to the field.
            (true, false) => enabled,
            // The field changed and the gate did not: HCO drops the first entry of the gate. If the field was removed,
            // a second entry takes effect.
            (false, true) => self.field.unwrap_or_else(|| {
                self.gates
                    .iter()
                    .filter(|gate| gate.is_import)
                    .nth(1)
                    .is_some_and(|gate| gate.enabled)
            }),
            _ => self.field.unwrap_or(enabled),
        };
        resolved.into()
    }

    /// Whether the gate and the field contradict each other, so that HCO's mutating webhook denies the request.
    ///
    /// MIRRORS: as above, and mutateFieldAndFGOnCreate. On an update an absent field reads as off: removing the
    /// field while the gate is enabled is denied too.
    pub fn contradicts_itself(&self, old: Option<&Self>, version: HcoVersion) -> bool {
        self.mutated_gate(version).is_some_and(|enabled| match old {
            None => self.field.is_some_and(|field| field != enabled),
            Some(old) => {
                gate(&old.gates, version) != Some(enabled)
                    && self.field != old.field
                    && self.field.unwrap_or(false) != enabled
            }
        })
    }

    /// The gate in v1's list, if HCO's mutating webhook compares it with the field.
    fn mutated_gate(&self, version: HcoVersion) -> Option<bool> {
        gate(&self.gates, version).filter(|_| version.has_import_field())
    }

    /// The index of the gate in v1's list; the first entry counts.
    pub fn gate_index(&self, version: HcoVersion) -> Option<usize> {
        self.gates.iter().position(|gate| gate.is_known(version))
    }
}

/// MIRRORS: hyperconverged-cluster-operator `api/v1/featuregates/feature_gates.go`, `IsExplicitlyEnabled`: the first
/// entry with the name counts.
fn gate(gates: &[Gate], version: HcoVersion) -> Option<bool> {
    let gate = gates.iter().find(|gate| gate.is_known(version))?;
    Some(gate.enabled)
}

#[derive(Debug)]
pub struct Gate {
    pub name: String,
    /// Whether its state is Enabled, or missing.
    pub enabled: bool,
    /// Whether it is the feature gate for the import, in any letter case.
    ///
    /// MIRRORS: hyperconverged-cluster-operator `api/v1/featuregates/feature_gates.go`, Index.
    pub is_import: bool,
    /// Whether the key `name` has the same letter case as in the API.
    pub has_plain_key: bool,
}

impl Gate {
    /// Whether this version of HCO recognizes it as the gate of the import. Before 1.19, the name must match exactly.
    pub fn is_known(&self, version: HcoVersion) -> bool {
        self.is_import && (version.ignores_case_of_gates() || self.name == GATE)
    }

    /// Reads v1's list. An empty object counts as an empty list, because an upgrade from HCO 1.18 leaves one.
    ///
    /// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/mutator/hyperConvergedMutator.go,
    /// recoverBadFeatureGates.
    pub fn list<'a>(field: &Field<'a>) -> Result<Vec<Self>, WrongType<'a>> {
        let members = field.json().and_then(Json::members);
        if members.is_some_and(|members| members.is_empty()) {
            return Ok(Vec::new());
        }
        Self::strict_list(field)
    }

    /// MIRRORS: hyperconverged-cluster-operator `api/v1/featuregates/feature_gates.go`, `UnmarshalJSON`:
    /// encoding/json, which accepts a key in any letter case; a missing state means Enabled.
    fn strict_list<'a>(field: &Field<'a>) -> Result<Vec<Self>, WrongType<'a>> {
        let gates = field.list(|_, item| {
            let gate = item.object();
            let state = gate.field_of_any_case("state").string()?;
            let name = gate.field_of_any_case("name").string()?.unwrap_or_default();
            Ok(Self {
                is_import: is_same_in_lower_case(&name, GATE),
                name,
                has_plain_key: gate.field("name").is_present(),
                enabled: state.is_none_or(|state| state == "Enabled"),
            })
        })?;
        Ok(gates.unwrap_or_default())
    }
}

/// The import in the annotation `hco.kubevirt.io/v1-only-fields`, or why HCO cannot read the annotation.
///
/// MIRRORS: hyperconverged-cluster-operator api/v1beta1/conversion.go, restoreV1OnlyFields and v1OnlyFields: one value of
/// the wrong type makes the conversion of the whole object fail. The versions of HCO with this annotation ignore the
/// letter case of gates.
///
/// DIVERGES: Go merges a key of the import that stands more than once, in any letter case. It keeps the value before a
/// null, and the elements of an earlier list.
pub(super) fn read_v1_only(annotation: Option<&str>) -> Result<Option<bool>, String> {
    let Some(annotation) = annotation.filter(|annotation| !annotation.is_empty()) else {
        return Ok(None);
    };
    let json = Json::parse(annotation.as_bytes()).map_err(|_| "it is not valid JSON")?;
    if let Some(key) = repeated_key(json) {
        return Err(format!("{key} stands more than once"));
    }
    import_in_v1_only(&Object::root(json)).map_err(|error| error.to_string())
}

fn import_in_v1_only<'a>(object: &Object<'a>) -> Result<Option<bool>, WrongType<'a>> {
    for flag in [
        "deployNetworkResourcesInjector",
        "mdevConfigEnable",
        "persistentReservationEnabled",
    ] {
        object.field_of_any_case(flag).boolean()?;
    }
    let observability = object.field_of_any_case("observability").object();
    for list in ["allowedAlerts", "allowedRecordingRules"] {
        observability.field_of_any_case(list).strings()?;
    }
    let workloads = observability.field_of_any_case("workloads").object();
    workloads.field_of_any_case("allowedMetrics").strings()?;
    let enabled = object.field_of_any_case("multiArchEnabled").boolean()?;
    let gates = Gate::strict_list(&object.field_of_any_case("featureGates"))?;
    let gate = gates.into_iter().find(|gate| gate.is_import);
    Ok(enabled.or(gate.map(|gate| gate.enabled)))
}

fn repeated_key(json: Json<'_>) -> Option<&'static str> {
    let repeated = |json: Json<'_>, keys: [&'static str; 2]| {
        let members = json.members()?;
        keys.into_iter().find(|key| {
            members
                .iter()
                .filter(|(name, _)| folds_to(name, key))
                .nth(1)
                .is_some()
        })
    };
    repeated(json, ["multiArchEnabled", "featureGates"]).or_else(|| {
        let gates = Object::root(json).field_of_any_case("featureGates");
        let items = gates.json()?.items()?;
        items
            .into_iter()
            .find_map(|gate| repeated(gate, ["name", "state"]))
    })
}
