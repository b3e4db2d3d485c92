//! Converts a report to the responses of Kubewarden's protocol.

use std::collections::BTreeMap;

use engine::Report;
use kubewarden_policy_sdk::settings::SettingsValidationResponse;
use serde::Serialize;
use serde_json::value::RawValue;
use wapc_guest::CallResult;

/// The SDK's `ValidationResponse` with ordered audit annotations: the SDK stores them in a hash map, so the response
/// would not always have the same bytes.
#[derive(Serialize)]
struct ValidationResponse {
    accepted: bool,
    message: Option<String>,
    code: Option<u16>,
    audit_annotations: Option<BTreeMap<String, String>>,
    warnings: Option<Vec<String>>,
    /// The text of the object, in which only the repairs differ.
    mutated_object: Option<Box<RawValue>>,
}

/// The answer to `validate`.
pub(crate) fn validation(report: Report) -> CallResult {
    let object = report.repaired_object.map(RawValue::from_string);
    Ok(serde_json::to_vec(&ValidationResponse {
        accepted: report.allowed,
        message: report.message,
        code: report.code,
        audit_annotations: Some(report.audit_annotations).filter(|map| !map.is_empty()),
        warnings: Some(report.warnings).filter(|lines| !lines.is_empty()),
        mutated_object: object.transpose()?,
    })?)
}

/// The answer to `validate_settings`.
pub(crate) fn settings(result: Result<(), String>) -> CallResult {
    Ok(serde_json::to_vec(&SettingsValidationResponse {
        valid: result.is_ok(),
        message: result.err(),
    })?)
}
