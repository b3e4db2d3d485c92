//! The source of a `DataImportCron`.

use kube_objects::json::{Object, WrongType};

use crate::cdi::data_import_cron::{Rejection, url};
use crate::hco::template::RegistrySource;

/// The kinds of sources that a `DataVolume` can have.
pub const SOURCE_KINDS: [&str; 10] = [
    "http", "s3", "gcs", "registry", "pvc", "upload", "blank", "imageio", "vddk", "snapshot",
];

#[derive(Debug, Default)]
pub(super) struct Source {
    kinds: usize,
    pub(super) is_clone: bool,
    registry: Option<RegistrySource>,
    /// Whether the PVC has a name and a namespace; `None` without a PVC.
    is_pvc_complete: Option<bool>,
}

impl Source {
    pub(super) fn read<'a>(volume: &Object<'a>) -> Result<Self, WrongType<'a>> {
        let source = volume.object("source");
        let has = |kind: &&'static str| source.field(kind).is_present();
        let pvc = source.object("pvc");
        let names = [pvc.text("namespace")?, pvc.text("name")?];
        let is_pvc_complete = !names.iter().any(String::is_empty);
        Ok(Self {
            kinds: SOURCE_KINDS.iter().filter(|kind| has(kind)).count(),
            is_clone: has(&"pvc") || has(&"snapshot") || volume.field("sourceRef").is_present(),
            registry: RegistrySource::read(&source.field("registry"))?,
            is_pvc_complete: has(&"pvc").then_some(is_pvc_complete),
        })
    }

    /// A `DataImportCron` imports from a registry or clones a PVC.
    pub(super) fn examine_kind(&self) -> Option<Rejection> {
        (self.registry.is_none() && self.is_pvc_complete.is_none())
            .then_some(Rejection::SourceMissing)
    }

    /// MIRRORS: containerized-data-importer pkg/apiserver/webhooks/datavolume-validate.go, validateDataVolumeSpec;
    /// util.go, validateNumberOfSources.
    pub(super) fn examine(&self) -> Option<Rejection> {
        if self.kinds > 1 {
            return Some(Rejection::SourcesMultiple);
        }
        if let Some(registry) = &self.registry {
            return examine_registry(registry);
        }
        (self.is_pvc_complete == Some(false)).then_some(Rejection::PvcIncomplete)
    }

    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, isControllerPolledSource.
    pub(super) fn needs_cron_job(&self) -> bool {
        self.is_pvc_complete.is_none()
            && self.registry.as_ref().is_some_and(|registry| {
                registry.image_stream.is_none() && registry.pull_method.as_deref() != Some("node")
            })
    }
}

/// MIRRORS: containerized-data-importer pkg/apiserver/webhooks/util.go, validateDataVolumeSourceRegistry.
fn examine_registry(registry: &RegistrySource) -> Option<Rejection> {
    if registry.url.is_some() == registry.image_stream.is_some() {
        return Some(Rejection::UrlOrImageStream);
    }
    if let Some(url) = &registry.url {
        match url::scheme(url).as_deref() {
            None => return Some(Rejection::UrlInvalid(url.clone())),
            Some("docker" | "oci-archive") => {}
            Some(other) => return Some(Rejection::UrlScheme(other.to_owned())),
        }
    }
    let pull_method = registry.pull_method.as_deref();
    if let Some(other) = pull_method
        && !["pod", "node"].contains(&other)
    {
        return Some(Rejection::PullMethodUnknown(other.to_owned()));
    }
    let image_stream = registry.image_stream.as_deref()?;
    if image_stream.is_empty() {
        return Some(Rejection::ImageStreamEmpty);
    }
    (pull_method != Some("node")).then_some(Rejection::ImageStreamWithoutNode)
}
