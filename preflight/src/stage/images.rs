//! Images in registries, for the module: with `--images`.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use engine::Image;
use host::{Failing, HostCalls, Registries, Request, handler_error};
use serde_json::Value;

use crate::args::Subject;
use crate::notes::Notes;
use crate::registries;

/// Answers for images: from their registries with `--images`, else with an error.
pub(super) struct Images {
    pub(super) host: Arc<dyn HostCalls>,
    registries: Option<Arc<Registries>>,
}

/// Collects the images that a module asks for, and reads none.
#[derive(Default)]
struct Collector(Mutex<BTreeSet<Image>>);

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
    pub(super) fn new(
        subject: &Subject,
        settings: Vec<&mut Value>,
        is_foreign: bool,
        notes: &mut Notes,
    ) -> Result<Self> {
        if !subject.verified.images {
            if !is_foreign {
                ignore_images(settings, notes);
            }
            let why = handler_error("images are not looked up without --images");
            return Ok(Self {
                host: Arc::new(Failing::new(why)),
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
        let registries = registries::new(subject.verified.sources_path.as_deref())?;
        let registries = Arc::new(registries);
        Ok(Self {
            host: Arc::clone(&registries) as _,
            registries: Some(registries),
        })
    }

    /// Reads the images that an evaluation asks for, several at a time. The module asks for one after the other, and slow
    /// registries would reach the deadline of the evaluation.
    pub(super) fn read_ahead(&self, evaluate: impl FnOnce(&Arc<dyn HostCalls>)) {
        let Some(registries) = &self.registries else {
            return;
        };
        let collector = Arc::new(Collector::default());
        evaluate(&(Arc::clone(&collector) as _));
        let mut images = collector.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !images.is_empty() {
            // The answers are cached.
            registries::architectures(registries, std::mem::take(&mut images));
        }
    }
}

/// Removes the look-ups from these settings, and the repairs that need them. If there were any, a note says so.
fn ignore_images(settings: Vec<&mut Value>, notes: &mut Notes) {
    for settings in settings.into_iter().filter_map(Value::as_object_mut) {
        if settings.get("images").is_none_or(|it| it == "ignore") {
            continue;
        }
        settings.remove("images");
        let repairs = settings.get_mut("repair").and_then(Value::as_object_mut);
        if let Some(repairs) = repairs {
            repairs.retain(|_, repair| repair != "from-image");
        }
        notes.push("the settings have `images: verify`, but images are not looked up; to look them up like the policy in the cluster, add --images");
    }
}
