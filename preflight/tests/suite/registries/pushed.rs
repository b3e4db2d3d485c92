//! Images of all forms, pushed to Debian's docker-registry.

use e2e_tests::DockerRegistry;
use oci_client::client::Client;
use oci_client::manifest as media;
use oci_client::secrets::RegistryAuth;
use oci_client::{Reference, RegistryOperation};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sources::{Sources, Way};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// The media types of an index, a manifest and a configuration.
type Types = [&'static str; 3];

pub(crate) const OCI: Types = [
    media::OCI_IMAGE_INDEX_MEDIA_TYPE,
    media::OCI_IMAGE_MEDIA_TYPE,
    media::IMAGE_CONFIG_MEDIA_TYPE,
];

pub(crate) const DOCKER: Types = [
    media::IMAGE_MANIFEST_LIST_MEDIA_TYPE,
    media::IMAGE_MANIFEST_MEDIA_TYPE,
    media::IMAGE_DOCKER_CONFIG_MEDIA_TYPE,
];

/// A registry, and the images that were pushed to it.
pub(crate) struct Pushed {
    /// Where it listens.
    pub(crate) host: String,
    client: Client,
    runtime: Runtime,
    auth: RegistryAuth,
    _registry: DockerRegistry,
    _directory: TempDir,
}

/// A manifest in the registry.
pub(crate) struct Manifest {
    pub(crate) json: Value,
    pub(crate) digest: String,
    media_type: &'static str,
}

impl Manifest {
    /// Its entry in an index.
    fn entry(&self, platform: &Value) -> Value {
        json!({
            "mediaType": self.media_type,
            "digest": self.digest,
            "size": self.json.to_string().len(),
            "platform": platform,
        })
    }
}

/// The configuration of an image.
pub(crate) fn config(architecture: &str) -> Value {
    json!({"os": "linux", "architecture": architecture, "rootfs": {"type": "layers", "diff_ids": []}})
}

fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let hex = digest.iter().map(|byte| format!("{byte:02x}"));
    format!("sha256:{}", hex.collect::<Vec<_>>().concat())
}

impl Pushed {
    /// Starts a registry with this in its configuration; nothing if there is none on this machine.
    pub(crate) fn start(config: &Value) -> Option<Self> {
        let program = DockerRegistry::installed()?;
        let directory = tempfile::tempdir().unwrap();
        let registry = DockerRegistry::start(&program, directory.path(), config).unwrap();
        let client = Client::new(Sources::default().config(&Way::Http));
        Some(Self {
            host: registry.address.to_string(),
            client,
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap(),
            auth: RegistryAuth::Basic("user".to_owned(), "secret".to_owned()),
            _registry: registry,
            _directory: directory,
        })
    }

    fn reference(&self, repository: &str, tag: &str) -> Reference {
        let reference = format!("{}/{repository}:{tag}", self.host);
        reference.parse().unwrap()
    }

    fn push(
        &self,
        repository: &str,
        name: &str,
        manifest: Value,
        media_type: &'static str,
    ) -> Manifest {
        let digest = digest(manifest.to_string().as_bytes());
        let mut reference = self.reference(repository, "latest");
        if name.is_empty() {
            reference = reference.clone_with_digest(digest.clone());
        } else {
            reference = self.reference(repository, name);
        }
        let body = manifest.to_string().into_bytes();
        let pushed = async {
            let push = RegistryOperation::Push;
            self.client.auth(&reference, &self.auth, push).await?;
            let media_type = media_type.parse().unwrap();
            self.client
                .push_manifest_raw(&reference, body, media_type)
                .await
        };
        self.runtime.block_on(pushed).unwrap();
        Manifest {
            json: manifest,
            digest,
            media_type,
        }
    }

    /// An image for one architecture; without a tag it is part of an index.
    pub(crate) fn single(
        &self,
        repository: &str,
        tag: &str,
        architecture: &str,
        [_, of_manifest, of_config]: Types,
    ) -> Manifest {
        let config = config(architecture).to_string().into_bytes();
        let (size, digest) = (config.len(), digest(&config));
        let reference = self.reference(repository, "latest");
        let pushed = async {
            let push = RegistryOperation::Push;
            self.client.auth(&reference, &self.auth, push).await?;
            self.client.push_blob(&reference, config, &digest).await
        };
        self.runtime.block_on(pushed).unwrap();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": of_manifest,
            "config": {"mediaType": of_config, "digest": digest, "size": size},
            "layers": [],
        });
        self.push(repository, tag, manifest, of_manifest)
    }

    fn index(
        &self,
        repository: &str,
        tag: &str,
        manifests: &[Value],
        [of_index, ..]: Types,
    ) -> Manifest {
        let manifest = json!({"schemaVersion": 2, "mediaType": of_index, "manifests": manifests});
        self.push(repository, tag, manifest, of_index)
    }

    /// As buildx pushes it, with attestations, and with an image for Windows.
    pub(crate) fn index_of_oci(&self, repository: &str) -> Manifest {
        let single = |architecture: &str| self.single(repository, "", architecture, OCI);
        let attestation =
            single("unknown").entry(&json!({"os": "unknown", "architecture": "unknown"}));
        let manifests = [
            single("amd64").entry(&json!({"os": "linux", "architecture": "amd64"})),
            single("arm64")
                .entry(&json!({"os": "linux", "architecture": "arm64", "variant": "v8"})),
            single("s390x").entry(&json!({"os": "linux", "architecture": "s390x"})),
            single("windows").entry(
                &json!({"os": "windows", "architecture": "ppc64le", "os.version": "10.0.1"}),
            ),
            attestation,
        ];
        self.index(repository, "1", &manifests, OCI)
    }

    /// As docker pushes it, with two variants of arm.
    pub(crate) fn list_of_docker(&self, repository: &str) -> Manifest {
        let single = |architecture: &str| self.single(repository, "", architecture, DOCKER);
        let manifests = [
            single("amd64").entry(&json!({"os": "linux", "architecture": "amd64"})),
            single("arm").entry(&json!({"os": "linux", "architecture": "arm", "variant": "v7"})),
            single("arm64")
                .entry(&json!({"os": "linux", "architecture": "arm64", "variant": "v8"})),
        ];
        self.index(repository, "1", &manifests, DOCKER)
    }

    /// An index in an index.
    pub(crate) fn nested_index(&self, repository: &str) -> Manifest {
        let single = |architecture: &str| self.single(repository, "", architecture, OCI);
        let s390x = single("s390x").entry(&json!({"os": "linux", "architecture": "s390x"}));
        let mut inner = self
            .index(repository, "inner", &[s390x], OCI)
            .entry(&Value::Null);
        inner.as_object_mut().unwrap().remove("platform");
        let arm64 = single("arm64").entry(&json!({"os": "linux", "architecture": "arm64"}));
        self.index(repository, "1", &[inner, arm64], OCI)
    }
}
