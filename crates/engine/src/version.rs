//! The version of HCO for which an object is evaluated, and its source.

use operator_models::hco::version::HcoVersion;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// The version of HCO for users and programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatedVersion {
    /// The version as it was written, or the number for which the object is evaluated.
    pub number: String,
    pub source: VersionSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase", const_into_str)]
pub enum VersionSource {
    /// The caller of `report_change`.
    Given,
    Status,
    Settings,
    /// None of these: it is the newest known version.
    Default,
}

impl StatedVersion {
    /// The version of HCO for which an object is evaluated, and its source: the caller, else the status, else the settings.
    /// Without a source, it is the newest version.
    pub(crate) fn find(
        given: Option<&str>,
        status: Option<&str>,
        setting: Option<&str>,
    ) -> (HcoVersion, Self) {
        let candidates = [
            (given, VersionSource::Given),
            (status, VersionSource::Status),
            (setting, VersionSource::Settings),
        ];
        let stated = candidates.into_iter().find_map(|(text, source)| {
            let hco = HcoVersion::parse(text?)?;
            let number = own(text?, hco).map_or_else(|| hco.to_string(), str::to_owned);
            Some((hco, Self { number, source }))
        });
        stated.unwrap_or_else(|| {
            let number = HcoVersion::NEWEST.to_string();
            let source = VersionSource::Default;
            (HcoVersion::NEWEST, Self { number, source })
        })
    }

    /// For example `1.18.1 (status)`.
    pub(crate) fn text(&self) -> String {
        format!("{} ({})", self.number, self.source.into_str())
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
