//! Images of all forms, pushed to a registry.

use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::DockerRegistry;
use crate::http;

/// Longer than a push takes, so that a failing test does not hang.
const PATIENCE: Duration = Duration::from_mins(10);

/// The media types of an index, a manifest and a configuration.
#[derive(Debug, Clone, Copy)]
pub struct MediaTypes {
    pub(crate) index: &'static str,
    pub(crate) manifest: &'static str,
    pub(crate) config: &'static str,
}

/// The media types of the Open Container Initiative.
pub const OCI: MediaTypes = MediaTypes {
    index: "application/vnd.oci.image.index.v1+json",
    manifest: "application/vnd.oci.image.manifest.v1+json",
    config: "application/vnd.oci.image.config.v1+json",
};

/// The media types of Docker.
pub const DOCKER: MediaTypes = MediaTypes {
    index: "application/vnd.docker.distribution.manifest.list.v2+json",
    manifest: "application/vnd.docker.distribution.manifest.v2+json",
    config: "application/vnd.docker.container.image.v1+json",
};

/// A manifest in the registry.
#[derive(Debug)]
pub struct Manifest {
    /// The bytes as they were pushed.
    pub json: Value,
    /// The digest of its bytes.
    pub digest: String,
    media_type: &'static str,
}

impl Manifest {
    /// Its entry in an index.
    fn entry(&self, platform: Option<&Value>) -> Value {
        let mut entry = json!({
            "mediaType": self.media_type,
            "digest": self.digest,
            "size": self.json.to_string().len(),
        });
        if let Some(platform) = platform {
            entry["platform"] = platform.clone();
        }
        entry
    }
}

impl DockerRegistry {
    /// The configuration of a pushed image.
    pub fn config(architecture: &str) -> Value {
        json!({"os": "linux", "architecture": architecture, "rootfs": {"type": "layers", "diff_ids": []}})
    }

    /// Pushes an image for one architecture. Without a tag, it is part of an index.
    ///
    /// # Errors
    ///
    /// The registry's response.
    pub fn push_single(
        &self,
        repository: &str,
        tag: Option<&str>,
        architecture: &str,
        types: MediaTypes,
    ) -> Result<Manifest, String> {
        self.push_config(repository, tag, &Self::config(architecture), types)
    }

    /// Pushes a bootable container for amd64, as `1`.
    ///
    /// # Errors
    ///
    /// The registry's response.
    pub fn push_bootc(&self, repository: &str) -> Result<Manifest, String> {
        let mut config = Self::config("amd64");
        config["config"] = json!({"Labels": {"containers.bootc": "1"}});
        self.push_config(repository, Some("1"), &config, OCI)
    }

    fn push_config(
        &self,
        repository: &str,
        tag: Option<&str>,
        config: &Value,
        types: MediaTypes,
    ) -> Result<Manifest, String> {
        let config = config.to_string();
        let digest = digest(&config);
        self.push_blob(repository, &digest, &config)?;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": types.manifest,
            "config": {"mediaType": types.config, "digest": digest, "size": config.len()},
            "layers": [],
        });
        self.push_manifest(repository, tag, manifest, types.manifest)
    }

    /// Pushes an index with a Linux image for each of these architectures.
    ///
    /// # Errors
    ///
    /// The registry's response.
    pub fn push_index(
        &self,
        repository: &str,
        tag: &str,
        architectures: &[&str],
    ) -> Result<Manifest, String> {
        let platforms: Vec<Value> = architectures
            .iter()
            .map(|architecture| linux(architecture, None))
            .collect();
        self.push_index_of(repository, tag, &platforms, OCI)
    }

    /// Pushes an index as buildx does, as `1`: for amd64, arm64, and s390x, with an image for Windows and with
    /// attestations.
    ///
    /// # Errors
    ///
    /// The registry's response.
    pub fn push_oci_index(&self, repository: &str) -> Result<Manifest, String> {
        let platforms = [
            linux("amd64", None),
            linux("arm64", Some("v8")),
            linux("s390x", None),
            json!({"os": "windows", "architecture": "ppc64le", "os.version": "10.0.1"}),
            json!({"os": "unknown", "architecture": "unknown"}),
        ];
        self.push_index_of(repository, "1", &platforms, OCI)
    }

    /// Pushes an index as docker does, as `1`: for amd64, arm, and arm64.
    ///
    /// # Errors
    ///
    /// The registry's response.
    pub fn push_docker_list(&self, repository: &str) -> Result<Manifest, String> {
        let platforms = [
            linux("amd64", None),
            linux("arm", Some("v7")),
            linux("arm64", Some("v8")),
        ];
        self.push_index_of(repository, "1", &platforms, DOCKER)
    }

    /// Pushes an index with an image for arm64 and with another index, as `1`.
    ///
    /// # Errors
    ///
    /// The registry's response.
    pub fn push_nested_index(&self, repository: &str) -> Result<Manifest, String> {
        let inner = self.push_index(repository, "inner", &["s390x"])?;
        let arm64 = self.push_single(repository, None, "arm64", OCI)?;
        let entries = [inner.entry(None), arm64.entry(Some(&linux("arm64", None)))];
        self.push_entries(repository, "1", &entries, OCI)
    }

    /// Pushes an index for amd64 and arm64 without the image for arm64, as `oc-mirror` does, as `1`.
    ///
    /// # Errors
    ///
    /// The registry's response.
    pub fn push_sparse_index(&self, repository: &str) -> Result<Manifest, String> {
        let index = self.push_index(repository, "1", &["amd64", "arm64"])?;
        // Registries before distribution 3 reject an index whose images are missing, so the image is deleted afterwards.
        let arm64 = index.json["manifests"][1]["digest"].as_str();
        let line = format!(
            "DELETE /v2/{repository}/manifests/{}",
            arm64.unwrap_or_default()
        );
        self.ask(&line, OCI.manifest, "")?;
        Ok(index)
    }

    /// Pushes an index for amd64 and arm64 with the image for amd64 twice, as `1`.
    ///
    /// # Errors
    ///
    /// The registry's response.
    pub fn push_contradicting_index(&self, repository: &str) -> Result<Manifest, String> {
        let image = self.push_single(repository, None, "amd64", OCI)?;
        let entries = ["amd64", "arm64"].map(|name| image.entry(Some(&linux(name, None))));
        self.push_entries(repository, "1", &entries, OCI)
    }

    fn push_index_of(
        &self,
        repository: &str,
        tag: &str,
        platforms: &[Value],
        types: MediaTypes,
    ) -> Result<Manifest, String> {
        let mut entries = Vec::new();
        for platform in platforms {
            let architecture = platform["architecture"].as_str().unwrap_or_default();
            let image = self.push_single(repository, None, architecture, types)?;
            entries.push(image.entry(Some(platform)));
        }
        self.push_entries(repository, tag, &entries, types)
    }

    fn push_entries(
        &self,
        repository: &str,
        tag: &str,
        entries: &[Value],
        types: MediaTypes,
    ) -> Result<Manifest, String> {
        let index = json!({"schemaVersion": 2, "mediaType": types.index, "manifests": entries});
        self.push_manifest(repository, Some(tag), index, types.index)
    }

    fn push_manifest(
        &self,
        repository: &str,
        tag: Option<&str>,
        json: Value,
        media_type: &'static str,
    ) -> Result<Manifest, String> {
        let text = json.to_string();
        let digest = digest(&text);
        let name = tag.unwrap_or(&digest);
        let line = format!("PUT /v2/{repository}/manifests/{name}");
        self.ask(&line, media_type, &text)?;
        Ok(Manifest {
            json,
            digest,
            media_type,
        })
    }

    fn push_blob(&self, repository: &str, digest: &str, blob: &str) -> Result<(), String> {
        const BYTES: &str = "application/octet-stream";
        let line = format!("POST /v2/{repository}/blobs/uploads/");
        let location = self.ask(&line, BYTES, "")?;
        let host = format!("http://{}", self.address);
        let path = location.strip_prefix(&host).unwrap_or(&location);
        let line = format!("PUT {path}&digest={digest}");
        self.ask(&line, BYTES, blob).map(drop)
    }

    /// Sends a request; returns the location in the registry's response.
    fn ask(&self, line: &str, media_type: &str, body: &str) -> Result<String, String> {
        let authorization = format!("Basic {}", Self::credentials());
        let headers = [
            ("Content-Type", media_type),
            ("Authorization", &authorization),
        ];
        let response = http::exchange(self.address, line, &headers, body, PATIENCE);
        let response = response.map_err(|error| format!("{line}: {error}"))?;
        match response.status {
            200..300 => Ok(response.location),
            status => Err(format!("{line}: status {status}: {}", response.body)),
        }
    }
}

fn linux(architecture: &str, variant: Option<&str>) -> Value {
    let mut platform = json!({"os": "linux", "architecture": architecture});
    if let Some(variant) = variant {
        platform["variant"] = json!(variant);
    }
    platform
}

/// The digest of a content.
pub(crate) fn digest(text: &str) -> String {
    let digest = Sha256::digest(text);
    let hex = digest.iter().map(|byte| format!("{byte:02x}"));
    format!("sha256:{}", hex.collect::<String>())
}
