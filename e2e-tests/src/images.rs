//! The images of the cases, and a registry that contains them.

use std::collections::BTreeMap;

use engine::Registry;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The images of a case, by their reference; `*` is any other image.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub struct Images(BTreeMap<String, Image>);

/// A registry's response for an image.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(untagged)]
enum Image {
    /// An index with a Linux image for each of these architectures, and an attestation.
    Index(Vec<String>),
    /// A single image for this architecture.
    Single(String),
    /// An index with an entry for each of these architectures, whose images may be others.
    Promises { index: BTreeMap<String, Entry> },
    /// The registry's response, unchanged.
    Odd { manifest: String },
    /// The host's error.
    Error { fails: String },
}

/// The image of an entry of an index.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(untagged)]
enum Entry {
    /// The architecture in its configuration.
    Config(String),
    /// The host's error.
    Error { fails: String },
}

impl Image {
    /// The entries of an index; `None` for another kind of image.
    fn entries(&self) -> Option<BTreeMap<String, Entry>> {
        match self {
            Self::Index(names) => {
                let entries = names
                    .iter()
                    .map(|name| (name.clone(), Entry::Config(name.clone())));
                Some(entries.collect())
            }
            Self::Promises { index } => Some(index.clone()),
            Self::Single(_) | Self::Odd { .. } | Self::Error { .. } => None,
        }
    }
}

impl Entry {
    /// Like a real digest, it depends on the content.
    fn digest(&self, architecture: &str) -> String {
        let digest = Sha256::digest(json!([architecture, self]).to_string());
        let hex = digest.iter().map(|byte| format!("{byte:02x}"));
        format!("sha256:{}", hex.collect::<String>())
    }
}

impl Images {
    /// Every image is an index for these architectures; if there are none, an error.
    pub fn any(architectures: &[&str]) -> Self {
        let image = match architectures {
            [] => Image::Error {
                fails: "manifest unknown".to_owned(),
            },
            names => Image::Index(names.iter().map(|name| (*name).to_owned()).collect()),
        };
        Self([("*".to_owned(), image)].into())
    }

    /// Whether there are no images.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn get(&self, image: &str) -> Result<&Image, String> {
        let known = self.0.get(image).or_else(|| self.0.get("*"));
        known.ok_or_else(|| format!("the case has no image {image}"))
    }

    /// The entry of an index with this digest.
    fn entry(&self, digest: &str) -> Option<Entry> {
        let entries = self.0.values().filter_map(Image::entries).flatten();
        let mut entries = entries.filter(|(name, entry)| entry.digest(name) == digest);
        entries.next().map(|(_, entry)| entry)
    }
}

impl Registry for Images {
    fn manifest(&self, image: &str) -> Result<Vec<u8>, String> {
        let image = self.get(image)?;
        if let Some(entries) = image.entries() {
            let platform = |os: &str, name: &str, digest: &str| {
                json!({
                    "mediaType": "application/vnd.oci.image.manifest.v1+json",
                    "digest": digest, "size": 1,
                    "platform": {"os": os, "architecture": name},
                })
            };
            let entries = entries.iter();
            let mut manifests: Vec<Value> = entries
                .map(|(name, entry)| platform("linux", name, &entry.digest(name)))
                .collect();
            manifests.push(platform("unknown", "unknown", DIGEST));
            let index = json!({
                "schemaVersion": 2,
                "mediaType": "application/vnd.oci.image.index.v1+json",
                "manifests": manifests,
            });
            return Ok(index.to_string().into_bytes());
        }
        match image {
            Image::Odd { manifest } => Ok(manifest.clone().into_bytes()),
            Image::Error { fails } => Err(fails.clone()),
            _ => Ok(single().to_string().into_bytes()),
        }
    }

    fn manifest_and_config(&self, image: &str) -> Result<Vec<u8>, String> {
        let entry = image
            .split_once('@')
            .and_then(|(_, digest)| self.entry(digest));
        let config = match entry {
            Some(Entry::Error { fails }) => return Err(fails),
            Some(Entry::Config(name)) => name,
            None => match self.get(image)? {
                Image::Single(name) => name.clone(),
                Image::Odd { manifest } => return Ok(manifest.clone().into_bytes()),
                Image::Error { fails } => return Err(fails.clone()),
                _ => return Err(format!("{image} is no single image")),
            },
        };
        let config = json!({"os": "linux", "architecture": config});
        let answer = json!({"manifest": single(), "digest": DIGEST, "config": config});
        Ok(answer.to_string().into_bytes())
    }
}

const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The manifest of a single image.
fn single() -> Value {
    let config = json!({
        "mediaType": "application/vnd.oci.image.config.v1+json",
        "digest": DIGEST, "size": 1,
    });
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": [],
    })
}
