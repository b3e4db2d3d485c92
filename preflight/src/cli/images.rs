//! Images in registries: for the module with `--images`, and for people with `images`.

#[cfg(feature = "images")]
use std::collections::BTreeSet;
use std::sync::Arc;
#[cfg(feature = "images")]
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
#[cfg(feature = "images")]
use engine::Image;
use hco_preflight::{Failing, HostCalls, handler_error};
#[cfg(feature = "images")]
use hco_preflight::{Registries, Request};
use serde_json::Value;

use super::args::Subject;

#[cfg(feature = "images")]
pub(crate) use self::read::run;

/// Answers for images, beside a host that answers everything else.
struct Beside {
    images: Arc<dyn HostCalls>,
    other: Arc<dyn HostCalls>,
}

impl HostCalls for Beside {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let host = match namespace {
            "oci" => &self.images,
            _ => &self.other,
        };
        host.call(namespace, operation, payload)
    }
}

/// Answers for images with one host, for everything else with the other.
pub(crate) fn beside(images: &Arc<dyn HostCalls>, other: Arc<dyn HostCalls>) -> Arc<dyn HostCalls> {
    let images = Arc::clone(images);
    Arc::new(Beside { images, other })
}

/// Answers for images: from their registries with `--images`, else with an error.
pub(crate) struct Images {
    pub(crate) host: Arc<dyn HostCalls>,
    #[cfg(feature = "images")]
    registries: Option<Arc<Registries>>,
}

/// Collects the images that a module asks for, and reads none.
#[cfg(feature = "images")]
#[derive(Default)]
struct Collector(Mutex<BTreeSet<Image>>);

#[cfg(feature = "images")]
impl HostCalls for Collector {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        if let Request::OciManifest { image } = Request::parse(namespace, operation, payload)?
            && let Some(Ok(image)) = Image::at(&format!("docker://{image}"))
        {
            let mut images = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            images.insert(image);
        }
        Err(handler_error("the image is read later"))
    }
}

impl Images {
    /// With `--images`, all settings verify images. Otherwise no settings of this project's module do, and a note says so.
    #[cfg(feature = "images")]
    pub(crate) fn new(
        subject: &Subject,
        settings: Vec<&mut Value>,
        is_foreign: bool,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        if !subject.verified.images {
            if !is_foreign {
                ignore_images(settings, notes);
            }
            return Ok(Self {
                host: failing("images are not looked up without --images"),
                registries: None,
            });
        }
        for settings in settings.into_iter().filter_map(Value::as_object_mut) {
            if settings
                .get("images")
                .is_none_or(|images| images == "ignore")
            {
                settings.insert("images".to_owned(), Value::from("verify"));
            }
        }
        let registries = read::registries(subject.verified.sources_path.as_deref())?;
        let registries = Arc::new(registries);
        Ok(Self {
            host: Arc::clone(&registries) as _,
            registries: Some(registries),
        })
    }

    #[cfg(not(feature = "images"))]
    #[expect(
        clippy::unnecessary_wraps,
        reason = "it has the signature of the one above"
    )]
    pub(crate) fn new(
        _: &Subject,
        settings: Vec<&mut Value>,
        is_foreign: bool,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        if !is_foreign {
            ignore_images(settings, notes);
        }
        let host = failing("this hco-preflight is built without the feature `images`");
        Ok(Self { host })
    }

    /// Reads the images that an evaluation asks for, several at a time. The module asks for one after the other, and slow
    /// registries would reach the deadline of the evaluation.
    #[cfg(feature = "images")]
    pub(crate) fn read_ahead(&self, evaluate: impl FnOnce(&Arc<dyn HostCalls>)) {
        let Some(registries) = &self.registries else {
            return;
        };
        let collector = Arc::new(Collector::default());
        evaluate(&(Arc::clone(&collector) as _));
        let mut images = collector.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !images.is_empty() {
            // The answers are cached.
            read::architectures(registries, std::mem::take(&mut images));
        }
    }

    #[cfg(not(feature = "images"))]
    #[expect(clippy::unused_self, reason = "it has the signature of the one above")]
    pub(crate) fn read_ahead(&self, _: impl FnOnce(&Arc<dyn HostCalls>)) {}
}

#[cfg(feature = "images")]
const NOT_LOOKED_UP: &str = "images are not looked up, although the settings have `images: verify`; to look them up as the policy in the cluster does, add --images";
#[cfg(not(feature = "images"))]
const NOT_LOOKED_UP: &str = "images are not looked up, although the settings have `images: verify`: this hco-preflight is built without the feature `images`";

/// Removes the look-ups from these settings, and the repairs that need them. If there were any, a note says so.
fn ignore_images(settings: Vec<&mut Value>, notes: &mut Vec<String>) {
    let mut any = false;
    for settings in settings.into_iter().filter_map(Value::as_object_mut) {
        if settings.get("images").is_none_or(|it| it == "ignore") {
            continue;
        }
        settings.remove("images");
        any = true;
        let repairs = settings.get_mut("repair").and_then(Value::as_object_mut);
        if let Some(repairs) = repairs {
            repairs.retain(|_, repair| repair != "from-image");
        }
    }
    if any {
        notes.push(NOT_LOOKED_UP.to_owned());
    }
}

fn failing(why: &str) -> Arc<dyn HostCalls> {
    Arc::new(Failing::new(handler_error(why)))
}

#[cfg(feature = "images")]
mod read;
