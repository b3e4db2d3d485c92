//! The look-ups of images in registries. Each one takes time, so a request makes few of them, each image only once, and
//! only after the nodes are read.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use kubernetes::text;
use operators::cdi::image::{self, Image, Registry};
use operators::hco::golden_image::{Annotation, GoldenImage};
use operators::hco::import::Import;

use crate::facts::Facts;
use crate::rule::Level;
use crate::rules::{image_architectures_mismatch, image_unreadable};
use crate::settings::{Images, Settings, Updates};

/// The architectures of an image, or why they are unknown.
type Answer = Result<BTreeSet<String>, String>;

/// The images of a request and the answers of their registries.
pub(crate) struct Registries<'a> {
    registry: &'a dyn Registry,
    settings: &'a Settings,
    selection: OnceCell<Selection>,
}

/// The images to look up, and the reasons for not looking up the others.
#[derive(Default)]
struct Selection {
    images: Vec<(String, OnceCell<Answer>)>,
    /// How many images exceed the limit.
    excess: usize,
    /// The hosts that the settings do not list.
    unlisted_hosts: BTreeSet<String>,
    /// The templates with a source that is not a registry.
    other_sources: BTreeSet<String>,
    /// The images that the old object already has, by [`identity`].
    existing: BTreeSet<String>,
}

impl<'a> Registries<'a> {
    /// `None` if the settings do not ask for look-ups.
    pub(crate) fn new(registry: &'a dyn Registry, settings: &'a Settings) -> Option<Self> {
        (settings.images != Images::Ignore).then_some(Self {
            registry,
            settings,
            selection: OnceCell::new(),
        })
    }

    /// The architectures of the image, or why they are unknown; `None` if it is not looked up.
    pub(crate) fn answer(
        &self,
        facts: &Facts<'_>,
        image: &GoldenImage<'_>,
    ) -> Option<Result<&BTreeSet<String>, &str>> {
        let selection = self.selection.get_or_init(|| self.select(facts));
        if !self.is_checked(image) || selection.existing.contains(&identity(facts, image)) {
            return None;
        }
        match Image::at(url(facts, image)?)? {
            Err(mistake) => Some(Err(mistake)),
            // MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, newSourceDataVolume.
            Ok(image) if image.has_digest() => Some(Err(
                "the URL has a digest, but CDI adds the digest itself: use a tag",
            )),
            Ok(image) => {
                let image = image.to_string();
                let mut images = selection.images.iter();
                let (image, answer) = images.find(|(selected, _)| *selected == image)?;
                let answer = answer.get_or_init(|| image::architectures(image, self.registry));
                Some(answer.as_ref().map_err(String::as_str))
            }
        }
    }

    /// Whether a rule about images checks this image. HCO is responsible for the images of its own templates, and a
    /// cluster without internet access cannot look them up.
    fn is_checked(&self, image: &GoldenImage<'_>) -> bool {
        let is_selected = match image.annotation {
            Annotation::Spec(_) => true,
            Annotation::Shipped(_) => self.settings.images == Images::VerifyAll,
            Annotation::Unknown => false,
        };
        let rules = [&image_architectures_mismatch::RULE, &image_unreadable::RULE];
        let mut levels = rules
            .map(|rule| self.settings.level(rule, Some(image.name)))
            .into_iter();
        is_selected && levels.any(|level| level != Level::Ignore)
    }

    fn select(&self, facts: &Facts<'_>) -> Selection {
        /// The look-ups run one after the other, and the API server waits for at most 10 seconds.
        const LIMIT: usize = 10;
        let mut selection = Selection::default();
        let ratchet = self.settings.updates == Updates::Ratchet;
        if let Some(old) = facts
            .old
            .filter(|old| ratchet && old.import == Import::Enabled)
        {
            let existing = old.images.iter().map(|image| identity(old, image));
            selection.existing.extend(existing);
        }
        let mut images = BTreeSet::new();
        for image in &facts.images {
            if !self.is_checked(image) || selection.existing.contains(&identity(facts, image)) {
                continue;
            }
            match url(facts, image).and_then(Image::at) {
                None => drop(selection.other_sources.insert(text::quote(image.name))),
                Some(Err(_)) => {}
                Some(Ok(image)) if image.has_digest() => {}
                Some(Ok(image)) if !self.settings.allows(image.host()) => {
                    selection.unlisted_hosts.insert(text::quote(image.host()));
                }
                Some(Ok(image)) => drop(images.insert(image.to_string())),
            }
        }
        selection.excess = images.len().saturating_sub(LIMIT);
        let images = images.into_iter().take(LIMIT);
        selection.images = images.map(|image| (image, OnceCell::new())).collect();
        selection
    }

    /// One line for each reason why images were not checked.
    pub(crate) fn not_checked(&self) -> Vec<String> {
        const SHOWN: usize = 3;
        let Some(selection) = self.selection.get() else {
            return Vec::new();
        };
        let list = |set: &BTreeSet<String>| {
            let items: Vec<&String> = set.iter().collect();
            text::list(&items, SHOWN)
        };
        let mut lines = Vec::new();
        if selection.excess > 0 {
            let images = if selection.excess == 1 {
                "image was"
            } else {
                "images were"
            };
            lines.push(format!(
                "{} {images} not checked: a request looks up at most {}.",
                selection.excess,
                selection.images.len()
            ));
        }
        if !selection.unlisted_hosts.is_empty() {
            let hosts = list(&selection.unlisted_hosts);
            lines.push(format!(
                "Images at {hosts} were not checked: the setting registries does not list the host."
            ));
        }
        if !selection.other_sources.is_empty() {
            let templates = list(&selection.other_sources);
            lines.push(format!(
                "Images of templates {templates} were not checked: the source has no docker:// URL."
            ));
        }
        lines
    }
}

/// The URL of the registry that an image is imported from.
pub(crate) fn url<'a>(facts: &Facts<'a>, image: &GoldenImage<'a>) -> Option<&'a str> {
    let registry = match image.template {
        Some(template) => template.source.registry(),
        None => facts.common.get(image.name)?.registry.as_ref(),
    };
    registry?.url.as_deref()
}

/// The template, its image, and its annotation. If none of these changes, a look-up cannot find a new problem.
pub(crate) fn identity(facts: &Facts<'_>, image: &GoldenImage<'_>) -> String {
    let annotation = match image.template {
        Some(template) => template.architectures.as_deref(),
        None => image.annotation.value().map(|value| value.0),
    };
    let url = url(facts, image).unwrap_or_default();
    format!("{} {url} {annotation:?}", image.name)
}
