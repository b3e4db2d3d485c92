//! The policy in a registry, with the same push and pull as kwctl, and the container image of hco-preflight.
//!
//! MIRRORS: kubewarden-controller crates/policy-fetcher/src/registry/mod.rs and crates/kwctl/src/push.rs.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use http::HeaderValue;
use oci_client::client::{Client, Config, ImageLayer};
use oci_client::manifest::{
    OCI_IMAGE_INDEX_MEDIA_TYPE, OCI_IMAGE_MEDIA_TYPE, OciImageManifest, WASM_CONFIG_MEDIA_TYPE,
    WASM_LAYER_MEDIA_TYPE,
};
use oci_client::secrets::RegistryAuth;
use oci_client::{Reference, errors::OciDistributionError};
use registry::{Deadline, Logins, Sources};
use serde::Deserialize;

use crate::image::{self, Image, Labels};
use crate::metadata_of;

/// A client that pushes policies and pulls them.
#[derive(Debug, Default)]
pub struct Registry {
    /// Registries that differ from the default.
    pub sources: Sources,
}

/// The result of a push.
#[derive(Debug, PartialEq, Eq)]
pub struct Pushed {
    /// Registry and repository, without a tag.
    pub repository: String,
    /// The digest of the manifest.
    pub digest: String,
}

impl Pushed {
    fn new(reference: &Reference, digest: String) -> Self {
        Self {
            repository: format!("{}/{}", reference.registry(), reference.repository()),
            digest,
        }
    }
}

/// The part of a module's metadata that is sent to a registry.
#[derive(Deserialize)]
struct Annotations {
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl Registry {
    /// Pushes an annotated module to `registry/repository:tag`.
    ///
    /// # Errors
    ///
    /// If the module is not annotated, or the registry rejects it.
    pub fn push(&self, module: &[u8], reference: &str) -> Result<Pushed> {
        let metadata = metadata_of(module)?
            .context("the module is not annotated; `make annotated-policy.wasm` does that")?;
        let Annotations { annotations } =
            serde_json::from_slice(metadata).context("the module's metadata")?;
        let reference = parse(reference)?;
        let layers = [ImageLayer::new(
            module.to_owned(),
            WASM_LAYER_MEDIA_TYPE.to_owned(),
            None,
        )];
        let config = Config {
            data: b"{}".as_slice().into(),
            media_type: WASM_CONFIG_MEDIA_TYPE.to_owned(),
            annotations: None,
        };
        let annotations = annotations_of_the_manifest(annotations);
        let manifest = OciImageManifest::build(&layers, &config, Some(annotations));
        let auth = auth(&reference)?;
        let pushed = self.attempt(&reference, async |client: Client| {
            client
                .push(
                    &reference,
                    &layers,
                    config.clone(),
                    &auth,
                    Some(manifest.clone()),
                )
                .await
        });
        let url = pushed
            .with_context(|| format!("{reference} cannot be pushed"))?
            .manifest_url;
        let digest = url.rsplit('/').next().unwrap_or_default();
        ensure!(
            digest.starts_with("sha256:"),
            "{reference} was pushed, but the registry returned no digest: {url}"
        );
        Ok(Pushed::new(&reference, digest.to_owned()))
    }

    /// Pushes the image of hco-preflight, made from static binaries, to `registry/repository:tag`.
    ///
    /// # Errors
    ///
    /// If the registry rejects it.
    pub fn push_image(
        &self,
        binaries: &[(&'static str, Vec<u8>)],
        licence: &[u8],
        labels: &Labels,
        reference: &str,
    ) -> Result<Pushed> {
        let images: Vec<Image> = binaries
            .iter()
            .map(|(architecture, binary)| Image::assemble(architecture, binary, licence, labels))
            .collect::<Result<_>>()?;
        let index = image::index(&images, labels)?;
        let reference = parse(reference)?;
        let host = reference.resolve_registry();
        let auth = auth(&reference)?;
        let pushed = self.attempt(&reference, async |client: Client| {
            client.store_auth_if_needed(host, &auth).await;
            for image in &images {
                for blob in [&image.layer, &image.config] {
                    let digest = image::digest(blob);
                    client.push_blob(&reference, blob.clone(), &digest).await?;
                }
                let by_digest = reference.clone_with_digest(image::digest(&image.manifest));
                let kind = HeaderValue::from_static(OCI_IMAGE_MEDIA_TYPE);
                client
                    .push_manifest_raw(&by_digest, image.manifest.clone(), kind)
                    .await?;
            }
            let kind = HeaderValue::from_static(OCI_IMAGE_INDEX_MEDIA_TYPE);
            client
                .push_manifest_raw(&reference, index.clone(), kind)
                .await
        });
        pushed.with_context(|| format!("{reference} cannot be pushed"))?;
        Ok(Pushed::new(&reference, image::digest(&index)))
    }

    /// Pulls the module of `registry/repository:tag` or `registry/repository@digest`.
    ///
    /// # Errors
    ///
    /// If the registry does not return it, or the artifact is not a policy.
    pub fn pull(&self, reference: &str) -> Result<Vec<u8>> {
        let reference = parse(reference)?;
        let auth = auth(&reference)?;
        let image = self.attempt(&reference, async |client: Client| {
            client
                .pull(&reference, &auth, vec![WASM_LAYER_MEDIA_TYPE])
                .await
        });
        let image = image.with_context(|| format!("{reference} cannot be pulled"))?;
        let layer = image.layers.into_iter().next();
        let layer =
            layer.with_context(|| format!("{reference} has no layer, so it is not a policy"))?;
        Ok(layer.data.to_vec())
    }

    /// Tries an operation with each allowed way to reach a registry, until it succeeds.
    fn attempt<T>(
        &self,
        reference: &Reference,
        act: impl AsyncFn(Client) -> Result<T, OciDistributionError>,
    ) -> Result<T> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let mut failures = Vec::new();
        for way in self.sources.ways(reference.resolve_registry())? {
            let client = Client::new(self.sources.config(&way));
            match runtime.block_on(act(client)) {
                Ok(done) => return Ok(done),
                Err(error) => failures.push(format!("{}: {}", way.name(), words(error))),
            }
        }
        bail!("{}", failures.join("; "))
    }
}

/// The error, and a hint if there is one.
fn words(error: OciDistributionError) -> String {
    let hint = match error {
        OciDistributionError::AuthenticationFailure(_)
        | OciDistributionError::UnauthorizedError { .. }
        | OciDistributionError::ServerError {
            code: 401 | 403, ..
        } => "; log in with `docker login`",
        _ => "",
    };
    let error = format!("{:#}", anyhow::Error::new(error));
    format!("{}{hint}", error.trim_end())
}

fn parse(reference: &str) -> Result<Reference> {
    let bare = reference.strip_prefix("registry://").unwrap_or(reference);
    bare.parse().with_context(|| {
        format!("`{reference}` must be as in registry.example.com/policies/name:v1.2.3")
    })
}

/// The credentials that `docker login` and `podman login` store, or anonymous access.
fn auth(reference: &Reference) -> Result<RegistryAuth> {
    let deadline = Deadline::within(Duration::from_secs(30));
    let login = Logins::of_the_environment().find(reference, deadline)?;
    Ok(login.credentials)
}

/// The annotations that have one line, because the specification does not allow others, and the source under the
/// name that registries and Renovate use.
fn annotations_of_the_manifest(annotations: BTreeMap<String, String>) -> BTreeMap<String, String> {
    const SOURCE: &str = "org.opencontainers.image.source";
    let mut kept: BTreeMap<String, String> = annotations
        .into_iter()
        .filter(|(_, value)| value.lines().count() <= 1)
        .map(|(key, value)| (key, value.trim().to_owned()))
        .collect();
    if let Some(source) = kept.get("io.kubewarden.policy.source").cloned() {
        kept.entry(SOURCE.to_owned()).or_insert(source);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_of_many_lines_stay_out_of_the_manifest() {
        let kept = annotations_of_the_manifest(BTreeMap::from([
            ("a".to_owned(), "one\n".to_owned()),
            ("b".to_owned(), "one\ntwo".to_owned()),
            ("io.kubewarden.policy.source".to_owned(), "there".to_owned()),
        ]));
        let kept: Vec<(&str, &str)> = kept.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(
            kept,
            [
                ("a", "one"),
                ("io.kubewarden.policy.source", "there"),
                ("org.opencontainers.image.source", "there"),
            ]
        );
    }

    #[test]
    fn a_module_without_metadata_is_not_pushed() {
        let error = Registry::default()
            .push(b"\0asm\x01\0\0\0", "localhost:1/policy:v1")
            .unwrap_err();
        assert!(error.to_string().contains("not annotated"), "{error}");
    }
}
