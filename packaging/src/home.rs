//! The project's home. It is defined in the workspace's `Cargo.toml`; `packaging home`, which `make generate` runs,
//! writes it into all other files that contain it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;

use crate::Metadata;

const POLICY: &str = "/policies/hco-architecture-guard";
const IMAGE: &str = "/hco-preflight";

/// The project's home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// The project's page.
    pub homepage: String,
    /// The repository on GitHub, which has the releases.
    pub repository: String,
    /// The project's namespace in a registry.
    pub registry: String,
}

#[derive(Deserialize)]
struct Manifest {
    workspace: Workspace,
}

#[derive(Deserialize)]
struct Workspace {
    package: Package,
    metadata: WorkspaceMetadata,
}

#[derive(Deserialize)]
struct Package {
    homepage: String,
    repository: String,
}

#[derive(Deserialize)]
struct WorkspaceMetadata {
    home: Registry,
}

#[derive(Deserialize)]
struct Registry {
    registry: String,
}

impl Home {
    /// Reads the workspace's `Cargo.toml`.
    ///
    /// # Errors
    ///
    /// If a value is missing, or cannot be a home.
    pub fn parse(manifest: &str) -> Result<Self> {
        let Manifest { workspace } = toml::from_str(manifest).context("Cargo.toml")?;
        let home = Self {
            homepage: workspace.package.homepage,
            repository: workspace.package.repository,
            registry: workspace.metadata.home.registry,
        };
        home.check().context("Cargo.toml")?;
        Ok(home)
    }

    /// The home in the policy's metadata, which is the one that was written last.
    ///
    /// # Errors
    ///
    /// If the metadata does not contain one.
    pub fn of(metadata: &Metadata) -> Result<Self> {
        let policy = metadata.annotation("io.kubewarden.policy.ociUrl")?;
        let Some(registry) = policy.strip_suffix(POLICY) else {
            bail!(
                "the policy's metadata: io.kubewarden.policy.ociUrl is `{policy}`, and must end in {POLICY}"
            );
        };
        let home = Self {
            homepage: metadata.annotation("io.kubewarden.policy.url")?.to_owned(),
            repository: metadata
                .annotation("io.kubewarden.policy.source")?
                .to_owned(),
            registry: registry.to_owned(),
        };
        home.check().context("the policy's metadata")?;
        Ok(home)
    }

    fn check(&self) -> Result<()> {
        let owner = self
            .slug()?
            .split_once('/')
            .filter(|(owner, name)| !owner.is_empty() && !name.is_empty() && !name.contains('/'));
        ensure!(
            owner.is_some(),
            "the repository is `{}`, and must be as in https://github.com/owner/name",
            self.repository
        );
        ensure!(
            self.homepage.starts_with("https://"),
            "the home page is `{}`, and must begin with https://",
            self.homepage
        );
        ensure!(
            self.registry.contains('/')
                && !self.registry.contains("://")
                && !self.registry.ends_with('/'),
            "the registry is `{}`, and must be as in registry.example.com/owner",
            self.registry
        );
        Ok(())
    }

    /// The repository as GitHub's programs name it: `owner/name`.
    fn slug(&self) -> Result<&str> {
        self.repository.strip_prefix("https://github.com/").with_context(|| {
            format!("the repository is `{}`; the release workflow and the attestations need one on https://github.com/", self.repository)
        })
    }

    /// The image of hco-preflight, without a tag.
    pub fn image(&self) -> String {
        format!("{}{IMAGE}", self.registry)
    }

    /// The strings in files that refer to this home. Not shorter: a part of them can have another meaning there.
    fn names(&self) -> Result<[String; 6]> {
        let slug = self.slug()?;
        Ok([
            format!("io.kubewarden.policy.url: {}", self.homepage),
            format!("github.com/{slug}"),
            format!("--repo {slug}"),
            format!("uses: {slug}@"),
            format!("{}{POLICY}", self.registry),
            self.image(),
        ])
    }

    /// The text with this home replaced by another one.
    ///
    /// # Errors
    ///
    /// If one of the two is not a home.
    pub fn moved(&self, text: &str, to: &Self) -> Result<String> {
        let (from, to) = (self.names()?, to.names()?);
        let pairs: Vec<_> = from.into_iter().zip(to).collect();
        Ok(replaced(text, &pairs))
    }
}

/// The text files in a directory, except for those of git and cargo.
///
/// # Errors
///
/// If a directory cannot be read.
pub fn texts(directory: &Path) -> Result<Vec<(PathBuf, String)>> {
    let place = || directory.display().to_string();
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(directory).with_context(place)? {
        let entry = entry.with_context(place)?;
        let kind = entry.file_type().with_context(place)?;
        if kind.is_dir() {
            if entry.file_name() != "target" && entry.file_name() != ".git" {
                texts.append(&mut self::texts(&entry.path())?);
            }
        } else if kind.is_file()
            && let Ok(text) = std::fs::read_to_string(entry.path())
        {
            texts.push((entry.path(), text));
        }
    }
    Ok(texts)
}

/// Replaces all strings at once: the replacements are not searched again.
fn replaced(text: &str, pairs: &[(String, String)]) -> String {
    match pairs.split_first() {
        None => text.to_owned(),
        Some(((from, to), rest)) => {
            let parts: Vec<String> = text.split(from).map(|part| replaced(part, rest)).collect();
            parts.join(to)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(owner: &str) -> Home {
        Home {
            homepage: format!("https://{owner}.example.org"),
            repository: format!("https://github.com/{owner}/guard"),
            registry: format!("registry.example.org/{owner}"),
        }
    }

    #[test]
    fn a_home_is_moved_wherever_it_is_named() {
        let (one, other) = (home("one"), home("other"));
        let text = |home: &Home| home.names().unwrap().join("\n");
        assert_eq!(one.moved(&text(&one), &other).unwrap(), text(&other));
    }

    #[test]
    fn what_is_put_in_is_not_moved_again() {
        let (mut one, mut other) = (home("one"), home("other"));
        one.homepage.clone_from(&one.repository);
        // The page did not change.
        other.homepage.clone_from(&one.repository);
        let text =
            "io.kubewarden.policy.url: https://github.com/one/guard\nhttps://github.com/one/guard";
        assert_eq!(
            one.moved(text, &other).unwrap(),
            "io.kubewarden.policy.url: https://github.com/one/guard\nhttps://github.com/other/guard"
        );
    }

    #[test]
    fn parts_of_a_home_mean_something_else() {
        let text = "--service-account one/guard-other, registry.example.org/one/policy-server";
        assert_eq!(home("one").moved(text, &home("other")).unwrap(), text);
    }

    #[test]
    fn what_is_no_home_is_refused() {
        let manifest = include_str!("../../Cargo.toml");
        let right = Home::parse(manifest).unwrap();
        for (from, to, why) in [
            (&right.repository, "https://gitlab.com/a/b", "github.com"),
            (&right.repository, "https://github.com/a", "owner/name"),
            (
                &right.registry,
                "https://ghcr.io/a",
                "registry.example.com/owner",
            ),
            (&right.registry, "ghcr.io", "registry.example.com/owner"),
        ] {
            let from = format!("\"{from}\"");
            assert!(manifest.contains(&from), "{from}");
            let error = Home::parse(&manifest.replace(&from, &format!("\"{to}\""))).unwrap_err();
            assert!(format!("{error:#}").contains(why), "{error:#}");
        }
    }
}
