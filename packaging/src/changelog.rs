//! `CHANGELOG.md` in the format of [Keep a Changelog](https://keepachangelog.com/en/1.1.0/): the changes of each
//! release, and its date.

use anyhow::{Context as _, Result, bail, ensure};
use serde::Serialize;

/// All releases, the newest first.
#[derive(Debug, PartialEq, Eq)]
pub struct Changelog {
    releases: Vec<Release>,
}

/// One release.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Release {
    /// Its version; `None` for unreleased changes.
    pub version: Option<String>,
    /// Its date, for example 2026-12-24.
    pub date: Option<String>,
    /// What changed.
    pub changes: Vec<Change>,
}

/// One change, as Artifact Hub shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// added, changed, deprecated, removed, fixed, or security.
    pub kind: String,
    /// One line.
    pub description: String,
}

impl Changelog {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// If a heading is neither a release nor a kind of change.
    pub fn parse(text: &str) -> Result<Self> {
        let mut releases: Vec<Release> = Vec::new();
        let mut kind = None;
        for (number, line) in text.lines().enumerate() {
            let place = || format!("CHANGELOG.md:{}: `{line}`", number + 1);
            if let Some(heading) = line.strip_prefix("## ") {
                releases.push(release(heading).with_context(place)?);
                kind = None;
            } else if let Some(heading) = line.strip_prefix("### ") {
                kind = Some(kind_of(heading).with_context(place)?);
            } else if let Some(entry) = line.strip_prefix("- ") {
                let (Some(release), Some(kind)) = (releases.last_mut(), kind) else {
                    bail!("{}: a change of no kind", place());
                };
                release.changes.push(Change {
                    kind: kind.to_owned(),
                    description: entry.trim().to_owned(),
                });
            } else if let Some(more) = line.strip_prefix("  ")
                && let Some(change) = releases.last_mut().and_then(|it| it.changes.last_mut())
            {
                change.description.push(' ');
                change.description.push_str(more.trim());
            }
        }
        Ok(Self { releases })
    }

    /// The release with this version, if it exists.
    pub fn release(&self, version: &str) -> Option<&Release> {
        let mut releases = self.releases.iter();
        releases.find(|release| release.version.as_deref() == Some(version))
    }
}

/// `Unreleased`, or `1.2.3 - 2026-12-24`; either may be in brackets.
fn release(heading: &str) -> Result<Release> {
    let heading = heading.replace(['[', ']'], "");
    if heading.trim() == "Unreleased" {
        return Ok(Release::default());
    }
    let wanted = "must be `## Unreleased` or `## 1.2.3 - YYYY-MM-DD`";
    let (version, date) = heading.split_once(" - ").context(wanted)?;
    semver::Version::parse(version).context(wanted)?;
    let shape: String = date
        .chars()
        .map(|sign| if sign.is_ascii_digit() { '0' } else { sign })
        .collect();
    ensure!(shape == "0000-00-00", wanted);
    Ok(Release {
        version: Some(version.to_owned()),
        date: Some(date.to_owned()),
        changes: Vec::new(),
    })
}

fn kind_of(heading: &str) -> Result<&'static str> {
    // Artifact Hub has the same kinds.
    Ok(match heading.trim() {
        "Added" => "added",
        "Changed" => "changed",
        "Deprecated" => "deprecated",
        "Removed" => "removed",
        "Fixed" => "fixed",
        "Security" => "security",
        _ => bail!("must be one of Added, Changed, Deprecated, Removed, Fixed, Security"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Changelog\n\nWords.\n\n## Unreleased\n\n### Fixed\n\n- A thing\n  on two lines.\n- Another.\n\n\
                        ## [0.1.0] - 2026-12-24\n\n### Added\n\n- All.\n";

    #[test]
    fn a_release_has_its_date_and_its_changes() {
        let changelog = Changelog::parse(TEXT).unwrap();
        let release = changelog.release("0.1.0").unwrap();
        assert_eq!(release.date.as_deref(), Some("2026-12-24"));
        assert_eq!(release.changes.len(), 1);
        assert_eq!(release.changes[0].kind, "added");
    }

    #[test]
    fn what_is_not_released_is_of_no_version() {
        let changelog = Changelog::parse(TEXT).unwrap();
        assert_eq!(changelog.release("0.2.0"), None);
        let changes: Vec<&str> = changelog.releases[0]
            .changes
            .iter()
            .map(|change| change.description.as_str())
            .collect();
        assert_eq!(changes, ["A thing on two lines.", "Another."]);
    }

    #[test]
    fn a_heading_that_means_nothing_is_refused() {
        for heading in [
            "## 0.1 - 2026-12-24",
            "## 0.1.0",
            "## 0.1.0 - today",
            "### New",
        ] {
            let error = Changelog::parse(heading).unwrap_err();
            assert!(error.to_string().contains("CHANGELOG.md:1"), "{error}");
        }
    }
}
