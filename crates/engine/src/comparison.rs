//! Extra input of `report_change`: another version of HCO after the change, and the nodes and objects before it. The
//! module never has it.

use kube_objects::json::{Json, Object};
use operator_models::forecast::Objects;
use operator_models::hco::version::HcoVersion;

/// The fields of the payload beside the request and the settings.
pub(crate) struct Comparison<'a> {
    /// The HCO version after the change.
    pub(crate) version: Option<String>,
    /// The list of the nodes before the change.
    pub(crate) nodes_before: Option<&'a str>,
    /// The existing objects, which replace the forecast for the old object.
    pub(crate) objects: Objects<'a>,
}

impl<'a> Comparison<'a> {
    /// Reads the comparison from a payload; `None` if the payload has none of its fields.
    pub(crate) fn read(payload: &Object<'a>) -> Result<Option<Self>, String> {
        let before = payload.field("before");
        let version = version(payload)?;
        if version.is_none() && !before.is_present() {
            return Ok(None);
        }
        let before = before.object();
        Ok(Some(Self {
            version,
            nodes_before: before.field("nodes").json().map(Json::text),
            objects: Objects::read(&before.field("objects")).map_err(|error| error.to_string())?,
        }))
    }
}

fn version(object: &Object<'_>) -> Result<Option<String>, String> {
    let field = object.field("hcoVersion");
    match field.string() {
        Ok(Some(version)) if HcoVersion::parse(&version).is_none() => Err(format!(
            "{} is not a version such as 1.19 or 4.22",
            field.path()
        )),
        version => version.map_err(|error| error.to_string()),
    }
}
