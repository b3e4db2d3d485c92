//! The look-ups of images in registries. Each one takes time, so a request makes few of them, each image only once, and
//! they are decided before the rules that read them are checked.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use kubernetes::sorted;
use kubernetes::text;
use operators::cdi::image::{self, Image, Registry};
use operators::hco::golden_image::{Annotation, CommonTemplates, GoldenImage};
use operators::hco::import::Import;

use crate::catalogue::{IMAGE_ARCHITECTURES_MISMATCH, IMAGE_UNREADABLE};
use crate::facts::Facts;
use crate::rule::Level;
use crate::settings::{self, Settings, Updates};

/// What is known about the images of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Images<'a> {
    /// The settings do not ask for look-ups, or this is the object before the update.
    NotWanted,
    /// The settings ask for look-ups, but none is made. Then no fix of an annotation is complete.
    Skipped,
    LookedUp(&'a Lookups),
}

/// The architectures of an image, or why they are unknown. Thousands of templates can have the same image.
type Answer = Rc<Result<BTreeSet<String>, String>>;

/// The images of a request that were looked up, and why others were not.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    /// By the name of the template and the URL.
    answers: BTreeMap<(String, String), Answer>,
    /// The number of images that were looked up.
    count: usize,
    /// The number of images that exceed the limit.
    excess: usize,
    unlisted_hosts: BTreeSet<String>,
    /// Templates whose source is not a registry.
    other_sources: BTreeSet<String>,
}

impl Images<'_> {
    /// The architectures of the image of a template, or why they are unknown; `None` if it was not looked up.
    pub(crate) fn of(&self, name: &str, url: &str) -> Option<Result<&BTreeSet<String>, &str>> {
        let Self::LookedUp(lookups) = self else {
            return None;
        };
        let answer = lookups.answers.get(&(name.to_owned(), url.to_owned()))?;
        Some(answer.as_ref().as_ref().map_err(String::as_str))
    }

    /// Why images were not checked, one sentence for each reason.
    pub(crate) fn not_checked(&self) -> Vec<String> {
        match self {
            Self::NotWanted | Self::Skipped => Vec::new(),
            Self::LookedUp(lookups) => lookups.not_checked(),
        }
    }
}

/// The registries, and what they answered in this request. An object that is repaired is judged again.
pub(crate) struct Registries<'a> {
    registry: &'a dyn Registry,
    answers: RefCell<BTreeMap<String, Answer>>,
}

impl<'a> Registries<'a> {
    pub(crate) fn new(registry: &'a dyn Registry) -> Self {
        Self {
            registry,
            answers: RefCell::default(),
        }
    }

    fn ask(&self, image: &str) -> Answer {
        let known = self.answers.borrow().get(image).cloned();
        known.unwrap_or_else(|| {
            let answer = image::architectures(image, self.registry).and_then(plausible);
            let answer = Rc::new(answer);
            self.answers
                .borrow_mut()
                .insert(image.to_owned(), answer.clone());
            answer
        })
    }
}

/// The architectures, if no more than an image can have: they are compared with each template that uses the image.
fn plausible(architectures: BTreeSet<String>) -> Result<BTreeSet<String>, String> {
    const MOST: usize = 100;
    match architectures.len() {
        ..=MOST => Ok(architectures),
        count => Err(format!(
            "the manifest lists {count} architectures, expected at most {MOST}"
        )),
    }
}

/// Whether an image is looked up according to the settings.
fn is_checked(image: &GoldenImage<'_>, settings: &Settings) -> bool {
    let is_selected = match image.annotation {
        Annotation::Spec(_) => true,
        Annotation::Shipped(_) => settings.images == settings::Images::VerifyAll,
        Annotation::Unknown => false,
    };
    let rules = [&IMAGE_ARCHITECTURES_MISMATCH, &IMAGE_UNREADABLE];
    let mut levels = rules
        .map(|rule| settings.level(rule, Some(image.name)))
        .into_iter();
    is_selected && levels.any(|level| level != Level::Ignore)
}

impl Lookups {
    /// Whether there is an image to look up.
    pub(crate) fn has_images(facts: &Facts<'_>, settings: &Settings) -> bool {
        let mut images = facts.golden_images.iter();
        images.any(|image| is_checked(image, settings))
    }

    /// Looks up the images of an object.
    pub(crate) fn new(facts: &Facts<'_>, settings: &Settings, registries: &Registries<'_>) -> Self {
        /// The most images that one request looks up.
        const LIMIT: usize = 10;
        let existing = existing(facts, settings);
        let mut lookups = Self::default();
        // The templates of each image.
        let mut images: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        for image in &facts.golden_images {
            if !is_checked(image, settings) || existing.contains(&identity(facts.common, image)) {
                continue;
            }
            let url = url(facts.common, image);
            let key = || (image.name.to_owned(), url.unwrap_or_default().to_owned());
            match url.and_then(Image::at) {
                None => drop(lookups.other_sources.insert(text::quote(image.name))),
                Some(Err(mistake)) => {
                    lookups
                        .answers
                        .insert(key(), Rc::new(Err(mistake.to_owned())));
                }
                // MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, newSourceDataVolume.
                Some(Ok(image)) if image.has_digest() => {
                    let mistake = "the URL has a digest, but CDI adds the digest itself: use a tag";
                    lookups
                        .answers
                        .insert(key(), Rc::new(Err(mistake.to_owned())));
                }
                Some(Ok(image)) if !settings.allows(image.host()) => {
                    lookups.unlisted_hosts.insert(text::quote(image.host()));
                }
                Some(Ok(image)) => images.entry(image.to_string()).or_default().push(key()),
            }
        }
        lookups.excess = images.len().saturating_sub(LIMIT);
        for (image, templates) in images.into_iter().take(LIMIT) {
            let answer = registries.ask(&image);
            lookups.count += 1;
            for template in templates {
                lookups.answers.insert(template, answer.clone());
            }
        }
        lookups
    }

    fn not_checked(&self) -> Vec<String> {
        const SHOWN: usize = 3;
        let list = |set: &BTreeSet<String>| {
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
                "{} {images} not checked: a request looks up at most {}.",
                self.excess, self.count
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

/// The images that the object before the update already had, so that an outage of a registry or a changed tag does not
/// deny an update of something else. Of an image that HCO ships, only the architectures of the nodes matter, so it counts
/// as new if the update adds one of them.
fn existing(facts: &Facts<'_>, settings: &Settings) -> BTreeSet<String> {
    let is_carried =
        |old: &&Facts<'_>| settings.updates == Updates::Ratchet && old.import == Import::Enabled;
    let Some(old) = facts.old.filter(is_carried) else {
        return BTreeSet::new();
    };
    let censuses = facts.census_if_read().zip(old.census_if_read());
    let adds_architecture = censuses.is_some_and(|(new, old)| {
        let mut names = new.workload.keys();
        names.any(|name| !old.workload.contains_key(name))
    });
    let images = old.golden_images.iter();
    let images = images
        .filter(|image| !adds_architecture || matches!(image.annotation, Annotation::Spec(_)));
    sorted::set(images.map(|image| identity(old.common, image)))
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
