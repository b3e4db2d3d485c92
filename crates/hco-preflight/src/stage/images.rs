//! The images that the module reads, with `--images`.

use std::sync::Arc;

use anyhow::Result;
use policy_host::{HostCalls, Registries, failing, handler_error};
use serde_json::{Map, Value};

use crate::args::Subject;
use crate::notes::Notes;
use crate::registries;

/// Answers requests for images: from their registries with `--images`, else with an error.
pub(super) struct Images {
    host: Arc<dyn HostCalls>,
    registries: Option<Arc<Registries>>,
}

impl Images {
    /// With `--images`, all settings verify images. Otherwise, no settings of this project's module verify images, and
    /// a note says so.
    pub(super) fn new<'v>(
        subject: &Subject,
        settings: impl Iterator<Item = &'v mut Value>,
        notes: &mut Notes,
    ) -> Result<Self> {
        let settings = settings.filter_map(Value::as_object_mut);
        if !subject.images {
            ignore_images(settings, notes);
            let why = handler_error("images are not looked up without --images");
            return Ok(Self {
                host: failing(why),
                registries: None,
            });
        }
        for settings in settings {
            if settings
                .get("images")
                .is_none_or(|images| images == "ignore")
            {
                settings.insert("images".to_owned(), Value::from("verify"));
            }
        }
        let registries = registries::new(subject.sources_path.as_deref())?;
        let registries = Arc::new(registries);
        Ok(Self {
            host: Arc::clone(&registries) as _,
            registries: Some(registries),
        })
    }

    /// Reads the images that an evaluation requests, several at a time. The module requests one image after the other,
    /// so slow registries would exceed the deadline of the evaluation. `other` answers all other requests.
    pub(super) fn read_ahead(
        &self,
        other: &Arc<dyn HostCalls>,
        evaluate: impl Fn(&Arc<dyn HostCalls>),
    ) {
        if let Some(registries) = &self.registries {
            registries.read_ahead(|images| evaluate(&beside(images, other)));
        }
    }

    /// A host that answers requests for images, and lets another one answer all other requests.
    pub(super) fn beside(&self, other: &Arc<dyn HostCalls>) -> Arc<dyn HostCalls> {
        beside(&self.host, other)
    }
}

fn beside(images: &Arc<dyn HostCalls>, other: &Arc<dyn HostCalls>) -> Arc<dyn HostCalls> {
    let (images, other) = (Arc::clone(images), Arc::clone(other));
    Arc::new(move |namespace: &str, operation: &str, payload: &[u8]| {
        let host = if namespace == "oci" { &images } else { &other };
        host.call(namespace, operation, payload)
    })
}

/// Removes the look-ups from these settings, and the repairs that need them. If there were any, a note says so.
fn ignore_images<'v>(
    settings: impl Iterator<Item = &'v mut Map<String, Value>>,
    notes: &mut Notes,
) {
    for settings in settings {
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
