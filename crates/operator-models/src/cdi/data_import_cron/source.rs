//! The source of a `DataImportCron`.

use kube_objects::json::{Field, Object, Reading, WrongType};

use crate::cdi::data_import_cron::{Rejection, url};

/// The kinds of sources that a `DataVolume` can have.
const KINDS: [&str; 10] = [
    "http", "s3", "gcs", "registry", "pvc", "upload", "blank", "imageio", "vddk", "snapshot",
];

/// The source of a template.
#[derive(Debug, Default)]
pub(super) struct Source {
    kinds: usize,
    pub(super) is_clone: bool,
    registry: Option<RegistrySource>,
    pvc: Option<Pvc>,
}

#[derive(Debug)]
struct RegistrySource {
    url: Option<String>,
    image_stream: Option<String>,
    pull_method: Option<String>,
}

#[derive(Debug)]
struct Pvc {
    namespace: String,
    name: String,
}

impl Pvc {
    fn read<'a>(field: &Field<'a>) -> Result<Option<Self>, WrongType<'a>> {
        let pvc = field.object();
        let mut reading = Reading::default();
        let read = Self {
            namespace: reading.text(&pvc, "namespace"),
            name: reading.text(&pvc, "name"),
        };
        reading.finish(Some(read).filter(|_| field.is_present()))
    }
}

impl Source {
    pub(super) fn read<'a>(volume: &Object<'a>) -> Result<Self, WrongType<'a>> {
        let source = volume.object("source");
        let has = |kind: &&'static str| source.field(kind).is_present();
        Ok(Self {
            kinds: KINDS.iter().filter(|kind| has(kind)).count(),
            is_clone: has(&"pvc") || has(&"snapshot") || volume.field("sourceRef").is_present(),
            registry: RegistrySource::read(&source.field("registry"))?,
            pvc: Pvc::read(&source.field("pvc"))?,
        })
    }

    /// A `DataImportCron` imports from a registry or clones a PVC.
    pub(super) fn examine_kind(&self) -> Option<Rejection> {
        (self.registry.is_none() && self.pvc.is_none()).then_some(Rejection::SourceMissing)
    }

    /// MIRRORS: containerized-data-importer pkg/apiserver/webhooks/datavolume-validate.go, validateDataVolumeSpec;
    /// util.go, validateNumberOfSources.
    pub(super) fn examine(&self) -> Option<Rejection> {
        if self.kinds > 1 {
            return Some(Rejection::SourcesMultiple);
        }
        if let Some(registry) = &self.registry {
            return registry.examine();
        }
        let pvc = self.pvc.as_ref()?;
        (pvc.namespace.is_empty() || pvc.name.is_empty()).then_some(Rejection::PvcIncomplete)
    }

    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, isControllerPolledSource.
    pub(super) fn needs_cron_job(&self) -> bool {
        self.pvc.is_none()
            && self.registry.as_ref().is_some_and(|registry| {
                registry.image_stream.is_none() && registry.pull_method.as_deref() != Some("node")
            })
    }
}

impl RegistrySource {
    fn read<'a>(field: &Field<'a>) -> Result<Option<Self>, WrongType<'a>> {
        let registry = field.object();
        let mut reading = Reading::default();
        let read = Self {
            url: reading.string(&registry, "url"),
            image_stream: reading.string(&registry, "imageStream"),
            pull_method: reading.string(&registry, "pullMethod"),
        };
        reading.finish(Some(read).filter(|_| field.is_present()))
    }

    /// MIRRORS: containerized-data-importer pkg/apiserver/webhooks/util.go, validateDataVolumeSourceRegistry.
    fn examine(&self) -> Option<Rejection> {
        if self.url.is_some() == self.image_stream.is_some() {
            return Some(Rejection::UrlOrImageStream);
        }
        if let Some(url) = &self.url {
            match url::scheme(url).as_deref() {
                None => return Some(Rejection::UrlInvalid(url.clone())),
                Some("docker" | "oci-archive") => {}
                Some(other) => return Some(Rejection::UrlScheme(other.to_owned())),
            }
        }
        let pull_method = self.pull_method.as_deref();
        if let Some(other) = pull_method
            && !["pod", "node"].contains(&other)
        {
            return Some(Rejection::PullMethodUnknown(other.to_owned()));
        }
        let image_stream = self.image_stream.as_deref()?;
        if image_stream.is_empty() {
            return Some(Rejection::ImageStreamEmpty);
        }
        (pull_method != Some("node")).then_some(Rejection::ImageStreamWithoutNode)
    }
}
