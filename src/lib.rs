//! The Kubewarden policy: the waPC operations that the host calls. It makes no decisions; see `engine`.

mod host;
mod response;

use kubewarden_policy_sdk::protocol_version_guest;
use wapc_guest::{CallResult, register_function};

use crate::host::Kubewarden;

/// Called by the host once, before anything else.
#[expect(unsafe_code, reason = "the host finds the function by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    register_function("validate", validate);
    register_function("validate_settings", validate_settings);
    register_function("protocol_version", protocol_version_guest);
    register_function("report", report);
}

/// Evaluates a request for the API server.
fn validate(payload: &[u8]) -> CallResult {
    response::validation(engine::validate(payload, &Kubewarden))
}

/// Checks the settings when the policy is deployed.
fn validate_settings(payload: &[u8]) -> CallResult {
    response::settings(engine::validate_settings(payload))
}

/// Evaluates a request for a program: the same payload as `validate`, the whole report as JSON.
fn report(payload: &[u8]) -> CallResult {
    Ok(serde_json::to_vec(&engine::report(payload, &Kubewarden))?)
}
