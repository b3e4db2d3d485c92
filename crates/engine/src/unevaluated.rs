//! Reports about requests that cannot be evaluated.

use kube_objects::json::WrongType;
use kube_objects::text::{cut, escape, quote};

use crate::report::Report;
use crate::settings::Settings;

const BAD_REQUEST: u16 = 400;
pub(crate) const INTERNAL_ERROR: u16 = 500;

pub(crate) const MAX_MESSAGE_LENGTH: usize = 4096;

/// The maximum length of a warning. The API server truncates longer ones.
pub(crate) const MAX_WARNING_LENGTH: usize = 256;

/// The prefix of denials in monitor mode, where Kubewarden accepts the request.
pub(crate) const DENIED: &str = "Denied in protect mode: ";

fn denied(code: u16, message: String) -> Report {
    Report {
        allowed: false,
        code: Some(code),
        message: Some(cut(message, MAX_MESSAGE_LENGTH)),
        ..Report::accepted()
    }
}

/// A denial that also has a warning with its reason, if the settings ask for it.
fn denied_with(settings: &Settings, code: u16, fact: &str, message: String) -> Report {
    let warning = settings
        .denials_as_warnings
        .then(|| cut(format!("{DENIED}{fact}"), MAX_WARNING_LENGTH));
    Report {
        warnings: Vec::from_iter(warning),
        ..denied(code, message)
    }
}

/// Denies an object that cannot be decoded, because accepting it would hide its problems. `types` are the arguments of
/// `kubectl explain`.
pub(crate) fn undecodable(
    object: &str,
    types: &str,
    reason: &WrongType<'_>,
    settings: &Settings,
) -> Report {
    let reason = escape(&reason.to_string(), 1024);
    let fact = format!("{object} cannot be decoded: {reason}.");
    let message = format!(
        "{fact}\n\
         fix: correct the type of the field; to see the types that are expected:\n  \
         kubectl explain {types}"
    );
    denied_with(settings, BAD_REQUEST, &fact, message)
}

pub(crate) fn unknown_version(object: &str, version: &str, settings: &Settings) -> Report {
    let version = quote(version);
    let fact = format!("{object} cannot be decoded: version {version} is unknown.");
    let message = format!("{fact}\nfix: use hco.kubevirt.io/v1beta1 or hco.kubevirt.io/v1");
    denied_with(settings, BAD_REQUEST, &fact, message)
}

pub(crate) fn unreadable_payload(reason: &str) -> Report {
    let reason = escape(reason, 1024);
    let message = format!(
        "The admission request cannot be decoded: {reason}.\n\
         fix: send an AdmissionRequest that contains a HyperConverged or a VirtualMachine"
    );
    denied(BAD_REQUEST, message)
}

/// The policy was deployed with invalid settings, despite `validate_settings`.
pub(crate) fn invalid_settings(object: &str, problems: &str) -> Report {
    let message = format!(
        "{object} was not checked: {problems}\n\
         fix: correct spec.settings of the ClusterAdmissionPolicy"
    );
    denied(INTERNAL_ERROR, message)
}
