//! Look-ups of images in their registries, with `--images`.

use std::sync::Arc;

use anyhow::Result;
use cluster::Notes;
use policy_host::{HostCalls, Registries};
use serde_json::{Map, Value};

use crate::args::Subject;
use crate::images::registries;

/// With `--images`, all settings verify images, in these registries. Otherwise, no settings do, and a note says so.
pub(super) fn verify<'v>(
    subject: &Subject,
    settings: impl Iterator<Item = &'v mut Value>,
    notes: &mut Notes,
) -> Result<Option<Arc<Registries>>> {
    for settings in settings.filter_map(Value::as_object_mut) {
        let is_verified = settings.get("images").is_some_and(|mode| mode != "ignore");
        if subject.images && !is_verified {
            settings.insert("images".to_owned(), Value::from("verify"));
        } else if !subject.images && is_verified {
            ignore(settings);
            notes.push("the settings have `images: verify`, but images are not looked up; to look them up like the policy in the cluster, add --images");
        }
    }
    let sources = subject.sources_path.as_deref();
    let registries = subject.images.then(|| registries(sources));
    Ok(registries.transpose()?.map(Arc::new))
}

/// Removes the look-ups, and the repairs that need them.
fn ignore(settings: &mut Map<String, Value>) {
    settings.remove("images");
    let repairs = settings.get_mut("repair").and_then(Value::as_object_mut);
    if let Some(repairs) = repairs {
        repairs.retain(|_, repair| repair != "from-image");
    }
}

/// A host that answers requests for images, and lets another one answer all other requests.
pub(super) fn beside(
    images: &Arc<dyn HostCalls>,
    other: &Arc<dyn HostCalls>,
) -> Arc<dyn HostCalls> {
    let (images, other) = (Arc::clone(images), Arc::clone(other));
    Arc::new(move |namespace: &str, operation: &str, payload: &[u8]| {
        let host = if namespace == "oci" { &images } else { &other };
        host.call(namespace, operation, payload)
    })
}
