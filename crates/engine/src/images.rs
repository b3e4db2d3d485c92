//! What registries answered about images. Each look-up takes time, so each image is looked up only once.

use kube_objects::sorted::{Map, Set};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use kube_objects::text;
use operator_models::cdi::image::{Contents, Image, Registry, Unknown};
use operator_models::hco::golden_image::{CommonTemplates, GoldenImage};

/// What is known about the images of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Images<'a> {
    /// The settings do not ask for look-ups, or this is the object before the update.
    NotWanted,
    /// The settings ask for look-ups, but none is made. Then no fix of an annotation is complete.
    Skipped,
    LookedUp(&'a Lookups),
}

/// What an image has, or why that is unknown. Thousands of templates can have the same image.
pub(crate) type Answer = Rc<Result<Contents, Unknown>>;

/// The most look-ups of a request. The host makes one after the other while the API server waits.
const LIMIT: usize = 20;

/// The images of a request that were looked up, and why others were not.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    /// By the name of the template and the URL.
    pub(crate) answers: Map<(String, String), Answer>,
    /// The number of images that exceed the limit.
    pub(crate) excess: usize,
    /// Hosts that the settings do not list.
    pub(crate) unlisted_hosts: Set<String>,
    /// Templates whose source is not a registry.
    pub(crate) other_sources: Set<String>,
}

impl Images<'_> {
    /// What the image of a template has, or why that is unknown; `None` if it was not looked up.
    pub(crate) fn of(&self, name: &str, url: &str) -> Option<Result<&Contents, &Unknown>> {
        let Self::LookedUp(lookups) = self else {
            return None;
        };
        let answer = lookups.answers.get(&(name.to_owned(), url.to_owned()))?;
        Some(answer.as_ref().as_ref())
    }

    /// Why images were not checked, one sentence for each reason.
    pub(crate) fn not_checked(&self) -> Vec<String> {
        match self {
            Self::NotWanted | Self::Skipped => Vec::new(),
            Self::LookedUp(lookups) => lookups.not_checked(),
        }
    }
}

/// What the registry answered in this request, so that it is asked once: an object that is repaired is judged again.
pub(crate) struct AnswerCache<'a> {
    registry: &'a dyn Registry,
    answers: RefCell<Map<Image, Answer>>,
    /// How many look-ups are left.
    left: Cell<usize>,
}

impl<'a> AnswerCache<'a> {
    pub(crate) fn new(registry: &'a dyn Registry) -> Self {
        Self {
            registry,
            answers: RefCell::default(),
            left: Cell::new(LIMIT),
        }
    }

    /// What the registry answers about an image, or answered before; `None` if too few look-ups are left for all that could
    /// be needed. So it does not depend on the answers which images are looked up.
    ///
    /// A repair of the placement leaves fewer architectures, for which the answer holds too.
    pub(crate) fn ask(&self, image: Image, architectures: &Set<String>) -> Option<Answer> {
        if let Some(known) = self.answers.borrow().get(&image) {
            return Some(known.clone());
        }
        let left = self.left.get();
        self.left
            .set(left.checked_sub(Image::look_ups(architectures.len()))?);
        let answer = Rc::new(image.contents(architectures, self.registry));
        self.answers.borrow_mut().insert(image, answer.clone());
        Some(answer)
    }
}

impl Lookups {
    fn not_checked(&self) -> Vec<String> {
        const SHOWN: usize = 3;
        let list = |set: &Set<String>| {
            let items: Vec<&String> = set.iter().collect();
            text::list(&items, SHOWN)
        };
        let mut lines = Vec::new();
        if self.excess > 0 {
            let images = if self.excess == 1 {
                "image was"
            } else {
                "images were"
            };
            lines.push(format!(
                "{} {images} not checked: a request makes at most {LIMIT} lookups.",
                self.excess
            ));
        }
        if !self.unlisted_hosts.is_empty() {
            let hosts = list(&self.unlisted_hosts);
            lines.push(format!(
                "Images at {hosts} were not checked: the setting registries does not list the host."
            ));
        }
        if !self.other_sources.is_empty() {
            let templates = list(&self.other_sources);
            lines.push(format!(
                "Images of templates {templates} were not checked: the source has no docker:// URL."
            ));
        }
        lines
    }
}

/// The URL of an image.
pub(crate) fn url<'a>(common: &'a CommonTemplates, image: &GoldenImage<'a>) -> Option<&'a str> {
    let registry = match image.template {
        Some(template) => template.source.registry(),
        None => common.get(image.name)?.registry.as_ref(),
    };
    registry?.url.as_deref()
}

/// The image and the annotation. If neither changes, an update does not look up the image again.
pub(crate) fn identity(common: &CommonTemplates, image: &GoldenImage<'_>) -> String {
    let annotation = match image.template {
        Some(template) => template.architectures.as_deref(),
        None => image.annotation.value().map(|value| value.0),
    };
    let url = url(common, image).unwrap_or_default();
    format!("{} {url} {annotation:?}", image.name)
}
