//! The images of a request, looked up in their registries.

use std::collections::{BTreeMap, BTreeSet};

use kube_objects::text;
use operator_models::cdi::image::{Contents, Image, Registry, Unknown};
use operator_models::hco::golden_image::{Annotation, CommonTemplates, GoldenImage};
use operator_models::hco::import::Import;
use operator_models::hco::node::Census;

use crate::rule::{Level, RepairKind};
use crate::rules::RULES;
use crate::settings::{ImageChecks, Settings, Updates};
use crate::stated::Stated;
use crate::world::World;

/// The state of the image look-ups for an object.
#[derive(Debug)]
pub(crate) enum Images {
    /// The settings do not ask for look-ups.
    NotWanted,
    /// The settings ask for look-ups, but none is made. Then no fix of an annotation is complete.
    Skipped,
    LookedUp(Lookups),
}

/// The contents of an image, or why they are unknown.
type Answer = Result<Contents, Unknown>;

/// The maximum number of look-ups for one request. The host makes them one after the other while the API server waits.
const LIMIT: usize = 20;

/// The images of a request that were looked up, and why others were not.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    answers: Vec<Answer>,
    /// The index of the answer, by the name of the template and the URL. Thousands of templates can have the same image.
    indexes: BTreeMap<(String, String), usize>,
    /// The number of images that exceed the limit.
    excess: usize,
    /// Hosts that the settings do not list.
    unlisted_hosts: BTreeSet<String>,
    /// Templates whose source is not a registry.
    other_sources: BTreeSet<String>,
}

impl Images {
    /// Looks up the images that the settings ask for. With the import off, images matter only for the fix that enables it,
    /// and not for an existing problem.
    pub(crate) fn read(
        new: &Stated<'_>,
        world: &World<'_>,
        settings: &Settings,
        registry: &dyn Registry,
    ) -> Self {
        if !settings.wants_images() || !new.deploys_golden_images {
            return Self::NotWanted;
        }
        let Some(census) = world.census(new).filter(|_| world.is_compared) else {
            return Self::Skipped;
        };
        let is_read = match new.import {
            Import::Enabled => true,
            Import::Disabled => needs_import(new, world, census, settings),
        };
        if is_read {
            Self::LookedUp(Lookups::read(new, world, census, settings, registry))
        } else {
            Self::Skipped
        }
    }

    /// The contents of the image of a template, or why they are unknown; `None` if it was not looked up.
    pub(crate) fn contents(&self, name: &str, url: &str) -> Option<Result<&Contents, &Unknown>> {
        let Self::LookedUp(lookups) = self else {
            return None;
        };
        let index = lookups.indexes.get(&(name.to_owned(), url.to_owned()))?;
        lookups.answers.get(*index).map(Result::as_ref)
    }

    /// Why images were not checked, one sentence for each reason.
    pub(crate) fn not_checked(&self) -> Vec<String> {
        match self {
            Self::NotWanted | Self::Skipped => Vec::new(),
            Self::LookedUp(lookups) => lookups.not_checked(),
        }
    }
}

/// Whether the object lacks the import, and did not lack it before.
fn needs_import(new: &Stated<'_>, world: &World<'_>, census: &Census, settings: &Settings) -> bool {
    let lacks_import = |stated: &Stated<'_>, census: &Census| {
        stated.import == Import::Disabled
            && !stated.golden_images.is_empty()
            && census.workload.len() > 1
    };
    let old = new.before.filter(|_| settings.updates == Updates::Ratchet);
    let is_existing = old.is_some_and(|old| {
        let census = world.census(old);
        census.is_some_and(|census| lacks_import(old, census))
    });
    let mut rules = RULES.iter();
    lacks_import(new, census)
        && !is_existing
        && rules.any(|rule| rule.repairs == RepairKind::Import && settings.is_checked(rule))
}

impl Lookups {
    fn read(
        new: &Stated<'_>,
        world: &World<'_>,
        census: &Census,
        settings: &Settings,
        registry: &dyn Registry,
    ) -> Self {
        let existing = existing(new, world, census, settings);
        let mut lookups = Self::default();
        // The templates of each image.
        let mut images: BTreeMap<Image, Vec<(String, String)>> = BTreeMap::new();
        for image in &new.golden_images {
            if !is_checked(image, settings) || existing.contains(&identity(&new.common, image)) {
                continue;
            }
            let url = url(&new.common, image);
            let key = || (image.name.to_owned(), url.unwrap_or_default().to_owned());
            match url.and_then(Image::of_cron) {
                None => drop(lookups.other_sources.insert(text::quote(image.name))),
                Some(Err(why)) => lookups.add(Err(Unknown::Url(why)), [key()]),
                Some(Ok(image)) if !settings.allows(image.host()) => {
                    lookups.unlisted_hosts.insert(text::quote(image.host()));
                }
                Some(Ok(image)) => images.entry(image).or_default().push(key()),
            }
        }
        // Besides the architectures in an annotation, a fix needs to know which ones it can add.
        let architectures: BTreeSet<String> = census.workload.keys().cloned().collect();
        let each = Image::look_ups(architectures.len());
        let mut left = LIMIT;
        for (image, templates) in images {
            // Reserving all look-ups in advance makes the choice of images independent of the answers.
            let Some(rest) = left.checked_sub(each) else {
                lookups.excess += 1;
                continue;
            };
            left = rest;
            lookups.add(image.contents(&architectures, registry), templates);
        }
        lookups
    }

    fn add(&mut self, answer: Answer, templates: impl IntoIterator<Item = (String, String)>) {
        let index = self.answers.len();
        self.answers.push(answer);
        let templates = templates.into_iter();
        self.indexes
            .extend(templates.map(|template| (template, index)));
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

/// Whether an image is looked up according to the settings.
fn is_checked(image: &GoldenImage<'_>, settings: &Settings) -> bool {
    let is_selected = match image.annotation {
        Annotation::Spec(_) => true,
        Annotation::Shipped(_) => settings.images == ImageChecks::VerifyAll,
        Annotation::Unknown => false,
    };
    let mut rules = RULES.iter().filter(|rule| rule.is_about_images);
    is_selected && rules.any(|rule| settings.level(rule, Some(image.name)) != Level::Ignore)
}

/// The images that the object before the update already had, so that an outage of a registry or a changed tag does not
/// deny an update of something else. For an image that HCO ships, only the architectures of the nodes matter, so it counts
/// as new if the update adds one of them.
fn existing(
    new: &Stated<'_>,
    world: &World<'_>,
    census: &Census,
    settings: &Settings,
) -> BTreeSet<String> {
    let has_ratchet = settings.updates == Updates::Ratchet;
    let old = new.before.filter(|_| has_ratchet);
    let Some(old) = old.filter(|old| old.import == Import::Enabled) else {
        return BTreeSet::new();
    };
    let before = world.census(old).filter(|old| !old.workload.is_empty());
    let adds_architecture = before.is_some_and(|before| {
        let mut names = census.workload.keys();
        names.any(|name| !before.workload.contains_key(name))
    });
    let is_existing = |image: &&GoldenImage<'_>| {
        !adds_architecture || matches!(image.annotation, Annotation::Spec(_))
    };
    let images = old.golden_images.iter().filter(is_existing);
    images.map(|image| identity(&old.common, image)).collect()
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
