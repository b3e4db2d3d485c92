//! The version of HCO for which an object is evaluated, and its source.

use operator_models::hco::hyperconverged::HyperConverged;
use operator_models::hco::version::HcoVersion;

use crate::settings::Settings;

/// The version of HCO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) hco: HcoVersion,
    /// Whether the object or the settings contain the version. Otherwise, it is the newest one, and a fix has to suit
    /// all versions.
    pub(crate) is_known: bool,
    /// For users and programs, for example `1.18.1 (status)`.
    pub(crate) shown: String,
}

impl Version {
    /// The version that a program gives, else the version in the status, else in the settings, else the newest one.
    pub(crate) fn new(
        given: Option<&str>,
        status: Option<&HyperConverged<'_>>,
        settings: &Settings,
    ) -> Self {
        let status = status.and_then(|status| status.status_version.as_deref());
        let candidates = [
            (given, "given"),
            (status, "status"),
            (settings.hco_version.as_deref(), "settings"),
        ];
        for (text, source) in candidates {
            let Some(text) = text else { continue };
            if let Some(hco) = HcoVersion::parse(text) {
                let shown = own(text, hco);
                return Self {
                    hco,
                    is_known: true,
                    shown: format!("{} ({source})", shown.unwrap_or(&hco.to_string())),
                };
            }
        }
        let hco = HcoVersion::NEWEST;
        Self {
            hco,
            is_known: false,
            shown: format!("{hco} (default)"),
        }
    }
}

/// The text itself, if it is a version of HCO with the same number; a status can contain anything.
fn own(text: &str, hco: HcoVersion) -> Option<&str> {
    const LONGEST: usize = 32;
    let text = text.strip_prefix('v').unwrap_or(text);
    let rest = text.strip_prefix(&hco.to_string())?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+');
    let is_same = rest.is_empty() || rest.starts_with(['.', '-', '+']);
    (is_same && text.len() <= LONGEST && text.bytes().all(is_plain)).then_some(text)
}
