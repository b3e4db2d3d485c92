//! What registries say about the images of a request. A registry is far away, so a request asks for few images, each
//! of them once, and only when a rule needs it.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use crate::facts::Facts;
use crate::golden_image::{Annotation, GoldenImage};
use crate::image::{self, Image, Registry};
use crate::import::Import;
use crate::settings::{Images, Settings, Updates};
use crate::text;

/// The architectures that a registry lists for an image, or why it does not.
pub(crate) type Answer = Result<BTreeSet<String>, String>;

/// The images of a request and the answers of their registries.
pub(crate) struct Registries<'a> {
    registry: &'a dyn Registry,
    settings: &'a Settings,
    asked: OnceCell<Asked>,
}

/// What is asked, and what is not.
#[derive(Default)]
struct Asked {
    images: Vec<(String, OnceCell<Answer>)>,
    /// How many more images there are.
    more: usize,
    /// The hosts that the settings do not list.
    hosts: BTreeSet<String>,
    /// The templates whose image is not in a registry.
    others: BTreeSet<String>,
    /// What the old object already has, by [`identity`]: it is not looked up.
    known: BTreeSet<String>,
}

impl<'a> Registries<'a> {
    /// `None` if the settings ask for no look-up.
    pub(crate) fn new(registry: &'a dyn Registry, settings: &'a Settings) -> Option<Self> {
        (settings.images != Images::Ignore).then_some(Self {
            registry,
            settings,
            asked: OnceCell::new(),
        })
    }

    /// What the registry says about the image; `None` if it is not asked.
    pub(crate) fn answer(
        &self,
        facts: &Facts<'_>,
        image: &GoldenImage<'_>,
    ) -> Option<Result<&BTreeSet<String>, &str>> {
        let asked = self.asked.get_or_init(|| self.choose(facts));
        if !self.is_checked(image) || asked.known.contains(&identity(facts, image)) {
            return None;
        }
        match Image::at(url(facts, image)?)? {
            Err(mistake) => Some(Err(mistake)),
            Ok(image) => {
                let image = image.to_string();
                let (image, answer) = asked.images.iter().find(|(known, _)| *known == image)?;
                let answer = answer.get_or_init(|| image::architectures(image, self.registry));
                Some(answer.as_ref().map_err(String::as_str))
            }
        }
    }

    /// What HCO ships is HCO's promise, and a cluster without the internet cannot look it up.
    fn is_checked(&self, image: &GoldenImage<'_>) -> bool {
        match image.annotation {
            Annotation::Spec(_) => true,
            Annotation::Shipped(_) => self.settings.images == Images::VerifyAll,
            Annotation::Unknown => false,
        }
    }

    fn choose(&self, facts: &Facts<'_>) -> Asked {
        /// So many images a request asks for. Registries answer one after the other, and the API server waits for 10 s.
        const MOST: usize = 10;
        let mut asked = Asked::default();
        let ratchet = self.settings.updates == Updates::Ratchet;
        if let Some(old) = facts
            .old
            .filter(|old| ratchet && old.import == Import::Enabled)
        {
            let known = old.images.iter().map(|image| identity(old, image));
            asked.known.extend(known);
        }
        let mut images = BTreeSet::new();
        for image in &facts.images {
            if !self.is_checked(image) || asked.known.contains(&identity(facts, image)) {
                continue;
            }
            match url(facts, image).and_then(Image::at) {
                None => drop(asked.others.insert(text::quote(image.name))),
                Some(Err(_)) => {}
                Some(Ok(image)) if !self.settings.allows(image.host()) => {
                    asked.hosts.insert(text::quote(image.host()));
                }
                Some(Ok(image)) => drop(images.insert(image.to_string())),
            }
        }
        asked.more = images.len().saturating_sub(MOST);
        let images = images.into_iter().take(MOST);
        asked.images = images.map(|image| (image, OnceCell::new())).collect();
        asked
    }

    /// A line for each reason why images were not checked.
    pub(crate) fn not_checked(&self) -> Vec<String> {
        const SHOWN: usize = 3;
        let Some(asked) = self.asked.get() else {
            return Vec::new();
        };
        let list = |set: &BTreeSet<String>| {
            let items: Vec<&String> = set.iter().collect();
            text::list(&items, SHOWN)
        };
        let mut lines = Vec::new();
        if asked.more > 0 {
            let images = if asked.more == 1 {
                "image was"
            } else {
                "images were"
            };
            let more = asked.more;
            lines.push(format!(
                "{more} {images} not checked: a request looks up at most {}.",
                asked.images.len()
            ));
        }
        if !asked.hosts.is_empty() {
            let hosts = list(&asked.hosts);
            lines.push(format!(
                "Images at {hosts} were not checked: the setting registries does not list the host."
            ));
        }
        if !asked.others.is_empty() {
            let others = list(&asked.others);
            lines.push(format!(
                "The images of templates {others} were not checked: they are not in a registry."
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

/// What makes a look-up say the same as before: the template, its image, and its annotation.
pub(crate) fn identity(facts: &Facts<'_>, image: &GoldenImage<'_>) -> String {
    let annotation = match image.template {
        Some(template) => template.architectures.as_deref(),
        None => image.annotation.value().map(|value| value.0),
    };
    let url = url(facts, image).unwrap_or_default();
    format!("{} {url} {annotation:?}", image.name)
}
