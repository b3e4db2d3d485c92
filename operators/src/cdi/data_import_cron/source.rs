//! The source of a `DataImportCron`.

use kubernetes::json::{Object, WrongType};

use crate::cdi::data_import_cron::{Refusal, url};

/// The kinds of sources that a `DataVolume` can have.
const KINDS: [&str; 10] = [
    "http", "s3", "gcs", "registry", "pvc", "upload", "blank", "imageio", "vddk", "snapshot",
];

/// The source of a template.
#[derive(Debug, Default)]
pub(super) struct Source {
    kinds: usize,
    pub(super) is_clone: bool,
    registry: Option<Registry>,
    pvc: Option<Pvc>,
}

#[derive(Debug)]
struct Registry {
    url: Option<String>,
    image_stream: Option<String>,
    pull_method: Option<String>,
}

#[derive(Debug)]
struct Pvc {
    namespace: String,
    name: String,
}

impl Source {
    pub(super) fn read<'a>(volume: &Object<'a>) -> Result<Self, WrongType<'a>> {
        let source = volume.object("source");
        let kinds = KINDS.iter().filter(|kind| source.field(kind).is_present());
        let registry = source.field("registry");
        let pvc = source.field("pvc");
        let is_clone = pvc.is_present()
            || source.field("snapshot").is_present()
            || volume.field("sourceRef").is_present();
        Ok(Self {
            kinds: kinds.count(),
            is_clone,
            registry: match registry.is_present() {
                true => {
                    let registry = registry.object();
                    Some(Registry {
                        url: registry.field("url").string()?,
                        image_stream: registry.field("imageStream").string()?,
                        pull_method: registry.field("pullMethod").string()?,
                    })
                }
                false => None,
            },
            pvc: match pvc.is_present() {
                true => {
                    let pvc = pvc.object();
                    Some(Pvc {
                        namespace: pvc.field("namespace").string()?.unwrap_or_default(),
                        name: pvc.field("name").string()?.unwrap_or_default(),
                    })
                }
                false => None,
            },
        })
    }

    /// A `DataImportCron` imports from a registry or clones a PVC.
    pub(super) fn examine_kind(&self) -> Option<Refusal> {
        (self.registry.is_none() && self.pvc.is_none()).then_some(Refusal::SourceMissing)
    }

    /// MIRRORS: containerized-data-importer pkg/apiserver/webhooks/util.go, validateNumberOfSources and
    /// validateDataVolumeSourceRegistry; datavolume-validate.go, validateDataVolumeSpec.
    pub(super) fn examine(&self) -> Option<Refusal> {
        if self.kinds > 1 {
            return Some(Refusal::SourcesMultiple);
        }
        if let Some(registry) = &self.registry {
            return registry.examine();
        }
        let pvc = self.pvc.as_ref()?;
        (pvc.namespace.is_empty() || pvc.name.is_empty()).then_some(Refusal::PvcIncomplete)
    }

    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, isControllerPolledSource.
    pub(super) fn needs_cron_job(&self) -> bool {
        self.pvc.is_none()
            && self.registry.as_ref().is_some_and(|registry| {
                registry.image_stream.is_none() && registry.pull_method.as_deref() != Some("node")
            })
    }
}

impl Registry {
    fn examine(&self) -> Option<Refusal> {
        if self.url.is_some() == self.image_stream.is_some() {
            return Some(Refusal::UrlOrImageStream);
        }
        if let Some(url) = &self.url {
            match url::scheme(url).as_deref() {
                None => return Some(Refusal::UrlInvalid(url.clone())),
                Some("docker" | "oci-archive") => {}
                Some(_) => return Some(Refusal::UrlScheme(url.clone())),
            }
        }
        let pull_method = self.pull_method.as_deref();
        if let Some(other) = pull_method
            && !["pod", "node"].contains(&other)
        {
            return Some(Refusal::PullMethodUnknown(other.to_owned()));
        }
        let image_stream = self.image_stream.as_deref()?;
        if image_stream.is_empty() {
            return Some(Refusal::ImageStreamEmpty);
        }
        (pull_method != Some("node")).then_some(Refusal::ImageStreamWithoutNode)
    }
}
