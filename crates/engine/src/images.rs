//! The images of a request, looked up in their registries.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use kube_objects::text;
use operator_models::cdi::image::{Contents, Image, Registry, Unknown};
use operator_models::hco::golden_image::GoldenImage;
use operator_models::hco::node::Census;
use operator_models::hco::template::Template;

use crate::configuration::Configuration;

/// The maximum number of look-ups for one request. The host makes them one after the other while the API server waits.
const LIMIT: usize = 20;

/// The images of a request that were looked up, and why others were not. By default, none is looked up.
#[derive(Debug, Default)]
pub(crate) struct Images {
    /// Whether the settings ask for look-ups, but none is made.
    pub(crate) are_skipped: bool,
    /// The images, with their annotations, that the object before the update had, and that are not looked up.
    pub(crate) existing: BTreeSet<String>,
    /// The answers by the name of the template and the URL. Thousands of templates can have the same image.
    answers: BTreeMap<(String, String), Rc<Result<Contents, Unknown>>>,
    excess: usize,
    unlisted_hosts: BTreeSet<String>,
    /// Templates whose source is not a registry.
    other_sources: BTreeSet<String>,
}

impl Images {
    pub(crate) fn skipped() -> Self {
        Self {
            are_skipped: true,
            ..Self::default()
        }
    }

    /// Whether the image is looked up only after a change of its annotation. Then no fix of the annotation is complete.
    pub(crate) fn is_skipped(
        &self,
        configuration: &Configuration<'_>,
        template: &Template<'_>,
    ) -> bool {
        let identity = || identity(configuration, &GoldenImage::of_spec(template));
        self.are_skipped || !self.existing.is_empty() && self.existing.contains(&identity())
    }

    /// The contents of an image, or why they are unknown; `None` if it is not looked up.
    pub(crate) fn contents_of(
        &self,
        configuration: &Configuration<'_>,
        image: &GoldenImage<'_>,
    ) -> Option<Result<&Contents, &Unknown>> {
        let url = url(configuration, image)?.to_owned();
        let answer = self.answers.get(&(image.name.to_owned(), url))?;
        Some((**answer).as_ref())
    }

    /// The architectures that an image supports, or why not all of them are known; `None` if it is not looked up.
    pub(crate) fn architectures_of(
        &self,
        configuration: &Configuration<'_>,
        image: &GoldenImage<'_>,
    ) -> Option<Result<&BTreeSet<String>, &Unknown>> {
        let contents = self.contents_of(configuration, image)?;
        Some(contents.and_then(|contents| {
            let unreadable = contents.unreadable().next();
            unreadable.map_or(Ok(&contents.supported), |(_, why)| Err(why))
        }))
    }

    /// Why images were not checked, one sentence for each reason.
    pub(crate) fn not_checked(&self) -> Vec<String> {
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

    pub(crate) fn look_up<'i>(
        configuration: &Configuration<'i>,
        wanted: impl Iterator<Item = &'i GoldenImage<'i>>,
        census: &Census,
        is_allowed: impl Fn(&str) -> bool,
        registry: &dyn Registry,
    ) -> Self {
        let mut images = Self::default();
        let mut templates_by_image: BTreeMap<Image, Vec<(String, String)>> = BTreeMap::new();
        for image in wanted {
            let url = url(configuration, image);
            let key = || (image.name.to_owned(), url.unwrap_or_default().to_owned());
            match url.and_then(Image::of_cron) {
                None => {
                    images.other_sources.insert(text::quote(image.name));
                }
                Some(Err(why)) => {
                    let answer = Rc::new(Err(why));
                    images.answers.insert(key(), answer);
                }
                Some(Ok(image)) if !is_allowed(image.host()) => {
                    images.unlisted_hosts.insert(text::quote(image.host()));
                }
                Some(Ok(image)) => templates_by_image.entry(image).or_default().push(key()),
            }
        }
        // Besides the architectures in an annotation, a fix needs to know which ones it can add.
        let architectures: BTreeSet<String> = census.workload.keys().cloned().collect();
        let each = Image::look_ups(architectures.len());
        let mut left = LIMIT;
        for (image, templates) in templates_by_image {
            // Reserving all look-ups in advance makes the choice of images independent of the answers.
            let Some(rest) = left.checked_sub(each) else {
                images.excess += 1;
                continue;
            };
            left = rest;
            let answer = Rc::new(image.contents(&architectures, registry));
            let answers = templates
                .into_iter()
                .map(|template| (template, Rc::clone(&answer)));
            images.answers.extend(answers);
        }
        images
    }
}

fn url<'a>(configuration: &Configuration<'a>, image: &GoldenImage<'a>) -> Option<&'a str> {
    let registry = if let Some(template) = image.template {
        template.source.registry()
    } else {
        let common = &configuration.installation.common;
        common.get(image.name)?.registry.as_ref()
    };
    registry?.url.as_deref()
}

/// The image and the annotation. If neither changes, an update does not look up the image again.
pub(crate) fn identity(configuration: &Configuration<'_>, image: &GoldenImage<'_>) -> String {
    let annotation = image.annotation.stated();
    let url = url(configuration, image).unwrap_or_default();
    format!("{} {url} {annotation:?}", image.name)
}
