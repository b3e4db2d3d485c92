//! The container image of hco-preflight: only the static binary and the license, without a base image. Assembled here,
//! so that the same binaries result in the same bytes; see <https://github.com/opencontainers/image-spec>.

use std::io::Write as _;

use anyhow::{Context as _, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use oci_client::manifest::{
    IMAGE_CONFIG_MEDIA_TYPE, IMAGE_LAYER_GZIP_MEDIA_TYPE, OCI_IMAGE_INDEX_MEDIA_TYPE,
    OCI_IMAGE_MEDIA_TYPE,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{Home, Metadata};

/// An unprivileged user, as a number, so that the kubelet can verify that it is not root.
const USER: &str = "65532:65532";

/// The image for one architecture.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) layer: Vec<u8>,
    pub(crate) config: Vec<u8>,
    pub(crate) manifest: Vec<u8>,
    architecture: &'static str,
}

/// The annotations that registries show for an image.
#[derive(Debug)]
pub struct Labels(Value);

impl Labels {
    /// The source of the image, and its version.
    ///
    /// # Errors
    ///
    /// If an annotation is missing.
    pub fn new(home: &Home, metadata: &Metadata) -> Result<Self> {
        Ok(Self(json!({
            "org.opencontainers.image.title": "hco-preflight",
            "org.opencontainers.image.description": "Checks KubeVirt's HyperConverged against the CPU architectures of the nodes",
            "org.opencontainers.image.licenses": metadata.annotation("io.kubewarden.policy.license")?,
            "org.opencontainers.image.source": home.repository,
            "org.opencontainers.image.url": home.homepage,
            "org.opencontainers.image.version": format!("v{}", metadata.version()?),
        })))
    }
}

impl Image {
    /// Assembles the image from a static binary.
    pub(crate) fn assemble(
        architecture: &'static str,
        binary: &[u8],
        licence: &[u8],
        labels: &Labels,
    ) -> Result<Self> {
        let tar = archive(&[
            ("hco-preflight", 0o755, binary),
            ("LICENSE", 0o644, licence),
        ])
        .context("the layer of the image")?;
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&tar)?;
        let layer = encoder.finish()?;
        let config = serde_json::to_vec(&json!({
            "architecture": architecture,
            "os": "linux",
            "config": {"Entrypoint": ["/hco-preflight"], "Labels": labels.0, "User": USER},
            "rootfs": {"type": "layers", "diff_ids": [digest(&tar)]},
        }))?;
        let manifest = serde_json::to_vec(&json!({
            "schemaVersion": 2,
            "mediaType": OCI_IMAGE_MEDIA_TYPE,
            "config": descriptor(IMAGE_CONFIG_MEDIA_TYPE, &config),
            "layers": [descriptor(IMAGE_LAYER_GZIP_MEDIA_TYPE, &layer)],
        }))?;
        Ok(Self {
            layer,
            config,
            manifest,
            architecture,
        })
    }
}

/// The index that a tag refers to: the image of each architecture.
pub(crate) fn index(images: &[Image], labels: &Labels) -> Result<Vec<u8>> {
    let manifests = images.iter().map(|image| {
        let mut entry = descriptor(OCI_IMAGE_MEDIA_TYPE, &image.manifest);
        if let Some(entry) = entry.as_object_mut() {
            let platform = json!({"architecture": image.architecture, "os": "linux"});
            entry.insert("platform".to_owned(), platform);
        }
        entry
    });
    Ok(serde_json::to_vec(&json!({
        "schemaVersion": 2,
        "mediaType": OCI_IMAGE_INDEX_MEDIA_TYPE,
        "manifests": manifests.collect::<Vec<_>>(),
        "annotations": labels.0,
    }))?)
}

fn descriptor(media_type: &str, content: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": digest(content), "size": content.len()})
}

pub(crate) fn digest(content: &[u8]) -> String {
    format!("sha256:{}", registry::hex(&Sha256::digest(content)))
}

/// Files that are owned by root, with the timestamp 0.
fn archive(files: &[(&str, u32, &[u8])]) -> std::io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, mode, content) in files {
        let mut header = tar::Header::new_ustar();
        header.set_mode(*mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, name, *content)?;
    }
    archive.into_inner()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn labels() -> Labels {
        let home = Home::parse(include_str!("../../Cargo.toml")).unwrap();
        let metadata = Metadata::parse(include_str!("../../policy-metadata.yml")).unwrap();
        Labels::new(&home, &metadata).unwrap()
    }

    fn image(architecture: &'static str) -> Image {
        Image::assemble(architecture, b"binary", b"licence", &labels()).unwrap()
    }

    fn json(text: &[u8]) -> Value {
        serde_json::from_slice(text).unwrap()
    }

    #[test]
    fn the_layer_has_the_binary_and_the_licence() {
        let image = image("arm64");
        let mut tar = Vec::new();
        let mut decoder = flate2::read::GzDecoder::new(image.layer.as_slice());
        decoder.read_to_end(&mut tar).unwrap();
        let mut archive = tar::Archive::new(tar.as_slice());
        let mut files = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut content = String::new();
            entry.read_to_string(&mut content).unwrap();
            let header = entry.header();
            assert_eq!(header.uid().unwrap() + header.gid().unwrap(), 0);
            assert_eq!(header.mtime().unwrap(), 0);
            let path = entry.path().unwrap().display().to_string();
            files.push((path, header.mode().unwrap(), content));
        }
        let file = |name: &str, mode, content: &str| (name.to_owned(), mode, content.to_owned());
        let binary = file("hco-preflight", 0o755, "binary");
        assert_eq!(files, [binary, file("LICENSE", 0o644, "licence")]);
        let config = json(&image.config);
        assert_eq!(config["rootfs"]["diff_ids"], json!([digest(&tar)]));
    }

    #[test]
    fn the_config_says_what_runs_and_who() {
        let config = json(&image("arm64").config);
        assert_eq!(config["architecture"], "arm64");
        assert_eq!(config["config"]["Entrypoint"], json!(["/hco-preflight"]));
        assert_eq!(config["config"]["User"], "65532:65532");
        let source = &config["config"]["Labels"]["org.opencontainers.image.source"];
        assert!(source.as_str().unwrap().starts_with("https://"), "{source}");
    }

    #[test]
    fn the_digests_are_those_of_what_is_pushed() {
        let images = [image("amd64"), image("arm64")];
        let index = json(&index(&images, &labels()).unwrap());
        for (entry, image) in index["manifests"].as_array().unwrap().iter().zip(&images) {
            assert_eq!(entry["digest"], digest(&image.manifest));
            assert_eq!(entry["platform"]["architecture"], image.architecture);
            let manifest = json(&image.manifest);
            assert_eq!(manifest["config"]["digest"], digest(&image.config));
            assert_eq!(manifest["layers"][0]["digest"], digest(&image.layer));
            assert_eq!(manifest["layers"][0]["size"], image.layer.len());
        }
        // From another source: printf '' | sha256sum
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest(b""), empty);
    }

    #[test]
    fn the_same_binaries_make_the_same_image() {
        assert_eq!(image("amd64").manifest, image("amd64").manifest);
    }
}
