//! The images of the cases, and a registry that contains them.

use std::collections::BTreeMap;

use engine::Registry;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

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
    /// The registry's response, unchanged.
    Odd { manifest: String },
    /// The host's error.
    Error { fails: String },
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
}

impl Registry for Images {
    fn manifest(&self, image: &str) -> Result<Vec<u8>, String> {
        Ok(match self.get(image)? {
            Image::Index(names) => {
                let platform = |os: &str, name: &str| {
                    json!({
                        "mediaType": "application/vnd.oci.image.manifest.v1+json",
                        "digest": DIGEST, "size": 1,
                        "platform": {"os": os, "architecture": name},
                    })
                };
                let mut manifests: Vec<Value> =
                    names.iter().map(|name| platform("linux", name)).collect();
                manifests.push(platform("unknown", "unknown"));
                json!({
                    "schemaVersion": 2,
                    "mediaType": "application/vnd.oci.image.index.v1+json",
                    "manifests": manifests,
                })
                .to_string()
                .into_bytes()
            }
            Image::Single(_) => single().to_string().into_bytes(),
            Image::Odd { manifest } => manifest.clone().into_bytes(),
            Image::Error { fails } => return Err(fails.clone()),
        })
    }

    fn manifest_and_config(&self, image: &str) -> Result<Vec<u8>, String> {
        match self.get(image)? {
            Image::Single(name) => {
                let config = json!({"os": "linux", "architecture": name});
                let answer = json!({"manifest": single(), "digest": DIGEST, "config": config});
                Ok(answer.to_string().into_bytes())
            }
            Image::Odd { manifest } => Ok(manifest.clone().into_bytes()),
            Image::Index(_) | Image::Error { .. } => Err(format!("{image} is no single image")),
        }
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
