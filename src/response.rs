//! Converts a report to the responses of Kubewarden's protocol.

use engine::{Map, Report};
use kubewarden_policy_sdk::settings::SettingsValidationResponse;
use serde::Serialize;
use wapc_guest::CallResult;

/// The SDK's `ValidationResponse` with ordered audit annotations: the SDK stores them in a hash map, so the response
/// would not always have the same bytes.
#[derive(Serialize)]
struct ValidationResponse {
    accepted: bool,
    message: Option<String>,
    code: Option<u16>,
    audit_annotations: Option<Map<String, String>>,
    warnings: Option<Vec<String>>,
}

/// The answer to `validate`.
pub(crate) fn validation(report: Report) -> CallResult {
    let mut answer = serde_json::to_vec(&ValidationResponse {
        accepted: report.allowed,
        message: report.message,
        code: report.code,
        audit_annotations: Some(report.audit_annotations).filter(|map| !map.is_empty()),
        warnings: Some(report.warnings).filter(|lines| !lines.is_empty()),
    })?;
    // As text: the engine has parsed it, and a RawValue of serde_json would parse it again, with 3 kB of the module.
    if let Some(object) = report.repaired_object {
        answer.pop();
        answer.extend_from_slice(br#","mutated_object":"#);
        answer.extend_from_slice(object.as_bytes());
        answer.push(b'}');
    }
    Ok(answer)
}

/// The answer to `validate_settings`.
pub(crate) fn settings(result: Result<(), String>) -> CallResult {
    Ok(serde_json::to_vec(&SettingsValidationResponse {
        valid: result.is_ok(),
        message: result.err(),
    })?)
}
