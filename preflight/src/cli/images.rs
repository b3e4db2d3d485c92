//! Images in registries: for the module with `--images`, and for people with `images`.

use std::sync::Arc;

use anyhow::Result;
#[cfg(feature = "images")]
use engine::Image;
use hco_preflight::{Failing, HostCalls, handler_error};
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

/// What answers for images: registries, if the user wants that. Then all settings verify images, and the images of these
/// objects are read at once. Otherwise no settings of this project's module verify images, and a note says so.
#[cfg(feature = "images")]
pub(crate) fn host<'o>(
    subject: &Subject,
    mut settings: Vec<&mut Value>,
    is_foreign: bool,
    objects: impl Iterator<Item = &'o Value>,
    notes: &mut Vec<String>,
) -> Result<Arc<dyn HostCalls>> {
    if !subject.verified.images {
        if !is_foreign && ignore_images(settings) {
            notes.push(NOT_LOOKED_UP.to_owned());
        }
        return Ok(failing("registries are not asked without --images"));
    }
    for settings in settings.iter_mut().filter_map(|it| it.as_object_mut()) {
        if settings
            .get("images")
            .is_none_or(|images| images == "ignore")
        {
            settings.insert("images".to_owned(), Value::from("verify"));
        }
    }
    // Without a list the module may ask any.
    let may_be_asked = |image: &Image| {
        settings.iter().any(|settings| {
            let hosts = settings.get("registries").and_then(Value::as_array);
            hosts.is_none_or(|hosts| {
                hosts
                    .iter()
                    .filter_map(Value::as_str)
                    .any(|host| host.eq_ignore_ascii_case(image.host()))
            })
        })
    };
    let registries = read::registries(subject.verified.sources_path.as_deref())?;
    let templates = objects.flat_map(read::templates);
    let images = templates.filter_map(|template| template.image?.ok());
    // The module asks for one image after another, and may not take as long as that.
    read::architectures(&registries, images.filter(may_be_asked).collect());
    Ok(Arc::new(registries))
}

#[cfg(not(feature = "images"))]
#[expect(
    clippy::unnecessary_wraps,
    reason = "it has the signature of the one above"
)]
pub(crate) fn host<'o>(
    _: &Subject,
    settings: Vec<&mut Value>,
    is_foreign: bool,
    _: impl Iterator<Item = &'o Value>,
    notes: &mut Vec<String>,
) -> Result<Arc<dyn HostCalls>> {
    if !is_foreign && ignore_images(settings) {
        notes.push(NOT_LOOKED_UP.to_owned());
    }
    Ok(failing(
        "this hco-preflight is built without the feature `images`",
    ))
}

#[cfg(feature = "images")]
const NOT_LOOKED_UP: &str = "images are not looked up, although the settings have `images: verify`; to look them up as the policy in the cluster does, add --images";
#[cfg(not(feature = "images"))]
const NOT_LOOKED_UP: &str = "images are not looked up, although the settings have `images: verify`: this hco-preflight is built without the feature `images`";

/// Turns off the look-ups of these settings, and the repairs that need them. Whether there were any.
fn ignore_images(settings: Vec<&mut Value>) -> bool {
    let mut any = false;
    for settings in settings.into_iter().filter_map(Value::as_object_mut) {
        let Some(images) = settings.get_mut("images").filter(|it| *it != "ignore") else {
            continue;
        };
        *images = Value::from("ignore");
        any = true;
        let repairs = settings.get_mut("repair").and_then(Value::as_object_mut);
        if let Some(repairs) = repairs {
            repairs.retain(|_, repair| repair != "from-image");
        }
    }
    any
}

fn failing(why: &str) -> Arc<dyn HostCalls> {
    Arc::new(Failing::new(handler_error(why)))
}

#[cfg(feature = "images")]
mod read;
