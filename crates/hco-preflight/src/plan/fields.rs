//! What becomes of the fields of the object under another version of HCO.

use operator_models::hco::import::GATE;
use serde::Serialize;
use serde_json::Value;

use crate::field::text;
use crate::report::Report;
use crate::stage::Compared;

/// The field of v1 in the place of the feature gate, since HCO 1.19.
const FIELD: &str = "spec.workloadSources.enableMultiArchBootImageImport";

/// A field that another version of HCO does not read under its name.
#[derive(Debug, Serialize)]
pub(super) struct Field {
    pub(super) path: String,
    pub(super) effect: FieldEffect,
    /// Its new name. HCO still reads the old one.
    pub(super) to: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FieldEffect {
    Renamed,
    Dropped,
}

/// MIRRORS: hyperconverged-cluster-operator api/v1beta1/conversion.go, convertMultiArchV1beta1FGToV1;
/// controllers/handlers/golden-images/golden_images.go, `IsMultiArchEnabled`.
pub(super) fn changed(compared: &Compared<'_>) -> Option<Field> {
    let knows_field = |report: &Report| Some(report.version()?.has_import_field());
    let before = knows_field(compared.is.as_ref()?)?;
    let object = compared.after();
    match (before, knows_field(&compared.will_be)?) {
        (false, true) => Some(Field {
            path: gate(object.pointer("/spec/featureGates")?)?,
            effect: FieldEffect::Renamed,
            to: Some(FIELD),
        }),
        (true, false) => {
            object.pointer(&format!("/{}", FIELD.replace('.', "/")))?;
            Some(Field {
                path: FIELD.to_owned(),
                effect: FieldEffect::Dropped,
                to: None,
            })
        }
        _ => None,
    }
}

/// The path of the feature gate: a field of v1beta1, an entry of v1's list.
fn gate(gates: &Value) -> Option<String> {
    let is_gate = |gate: &Value| text(gate, "/name") == Some(GATE);
    match gates {
        Value::Array(gates) => {
            let index = gates.iter().position(is_gate)?;
            Some(format!("spec.featureGates[{index}]"))
        }
        _ => gates.get(GATE).map(|_| format!("spec.featureGates.{GATE}")),
    }
}
