//! The response to a request, in the form in which kwctl and policy-server return it.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use engine::Report;
use serde::Deserialize;
use serde_json::Value;

/// A response to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    allowed: bool,
    code: Option<u16>,
    message: Option<String>,
    warnings: Vec<String>,
    audit_annotations: BTreeMap<String, String>,
    /// The object as the policy changed it.
    object: Option<Value>,
}

/// The response in the format of a Kubewarden host. An unknown field is an error.
///
/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/admission_response.rs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AdmissionResponse {
    uid: String,
    allowed: bool,
    #[serde(default)]
    status: Status,
    audit_annotations: Option<BTreeMap<String, String>>,
    warnings: Option<Vec<String>>,
    patch: Option<String>,
    patch_type: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Status {
    message: Option<String>,
    code: Option<u16>,
}

impl Answer {
    /// Reads the response of kwctl or policy-server to a request.
    ///
    /// # Errors
    ///
    /// If it is not a response, or a response to another request.
    pub fn to(request: &Value, response: &str) -> Result<Self, String> {
        let response: AdmissionResponse =
            serde_json::from_str(response).map_err(|error| format!("{error}: {response}"))?;
        if request["uid"] != response.uid {
            return Err(format!("an answer to another request, {}", response.uid));
        }
        Ok(Self {
            allowed: response.allowed,
            code: response.status.code,
            message: response.status.message,
            warnings: response.warnings.unwrap_or_default(),
            audit_annotations: response.audit_annotations.unwrap_or_default(),
            object: match (response.patch, response.patch_type.as_deref()) {
                (None, None) => None,
                (Some(patch), Some("JSONPatch")) => Some(patched(&request["object"], &patch)?),
                other => return Err(format!("no JSON Patch: {other:?}")),
            },
        })
    }

    /// The object as the policy changed it.
    pub fn object(&self) -> Option<&Value> {
        self.object.as_ref()
    }

    /// The difference to another response, if there is one.
    pub fn difference(&self, wanted: &Self) -> Option<String> {
        (self != wanted).then(|| format!("  wanted {wanted:#?}\n  came to {self:#?}"))
    }
}

impl From<&Report> for Answer {
    fn from(report: &Report) -> Self {
        Self {
            allowed: report.allowed,
            code: report.code,
            message: report.message.clone(),
            warnings: report.warnings.clone(),
            audit_annotations: report.audit_annotations.clone().into_iter().collect(),
            object: repaired(report),
        }
    }
}

/// The repaired object of a report.
pub(crate) fn repaired(report: &Report) -> Option<Value> {
    let text = report.repaired_object.as_deref()?;
    let object = serde_json::from_str(text);
    Some(object.unwrap_or_else(|error| panic!("the repaired object is no JSON: {error}")))
}

/// The object with a patch, which is JSON in base64.
fn patched(object: &Value, patch: &str) -> Result<Value, String> {
    let patch = BASE64_STANDARD
        .decode(patch)
        .map_err(|error| error.to_string())?;
    let patch: json_patch::Patch =
        serde_json::from_slice(&patch).map_err(|error| error.to_string())?;
    let mut object = object.clone();
    json_patch::patch(&mut object, &patch).map_err(|error| error.to_string())?;
    Ok(object)
}

/// The module's own response to a request.
///
/// MIRRORS: policy-sdk-rust src/response.rs, `ValidationResponse`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Verdict {
    /// Whether the policy accepts the request.
    pub accepted: bool,
    /// The message of a denial.
    #[serde(default)]
    pub message: Option<String>,
    /// The status of a denial.
    #[serde(default)]
    pub code: Option<u16>,
    /// The object with the changes of the policy.
    #[serde(default)]
    pub mutated_object: Option<Value>,
    /// The annotations for the audit log.
    #[serde(default)]
    pub audit_annotations: Option<BTreeMap<String, String>>,
    /// The warnings for the user.
    #[serde(default)]
    pub warnings: Option<Vec<String>>,
}
