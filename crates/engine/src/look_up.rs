//! Which images of an object are looked up. A request makes few look-ups, and they are decided before the rules that read
//! them are checked.

use kube_objects::sorted::{Map, Set};
use std::rc::Rc;

use kube_objects::text;
use operator_models::cdi::image::{Image, Unknown};
use operator_models::hco::golden_image::{Annotation, GoldenImage};
use operator_models::hco::import::Import;

use crate::catalogue::RULES;
use crate::facts::Facts;
use crate::images::{AnswerCache, Lookups, identity, url};
use crate::rule::{Level, Reads};
use crate::settings::{ImageChecks, Settings, Updates};

/// Whether there is an image to look up.
pub(crate) fn has_images(facts: &Facts<'_>, settings: &Settings) -> bool {
    let mut images = facts.golden_images.iter();
    images.any(|image| is_checked(image, settings))
}

/// Looks up the images of an object.
pub(crate) fn look_up(
    facts: &Facts<'_>,
    settings: &Settings,
    answers: &AnswerCache<'_>,
) -> Lookups {
    let existing = existing(facts, settings);
    let mut lookups = Lookups::default();
    // The templates of each image.
    let mut images: Map<Image, Vec<(String, String)>> = Map::new();
    for image in facts.golden_images.iter() {
        if !is_checked(image, settings) || existing.contains(&identity(facts.common, image)) {
            continue;
        }
        let url = url(facts.common, image);
        let key = || (image.name.to_owned(), url.unwrap_or_default().to_owned());
        match url.and_then(Image::of_cron) {
            None => drop(lookups.other_sources.insert(text::quote(image.name))),
            Some(Err(why)) => {
                let answer = Rc::new(Err(Unknown::Url(why)));
                lookups.answers.insert(key(), answer);
            }
            Some(Ok(image)) if !settings.allows(image.host()) => {
                lookups.unlisted_hosts.insert(text::quote(image.host()));
            }
            Some(Ok(image)) => images.or_default(image).push(key()),
        }
    }
    // Beyond what an annotation lists, a fix needs to know what it can add.
    let workload = facts.census_if_read().map(|census| &census.workload);
    let workload = workload.into_iter().flat_map(Map::keys);
    let workload: Set<String> = workload.cloned().collect();
    for (image, templates) in images {
        let Some(answer) = answers.ask(image, &workload) else {
            lookups.excess += 1;
            continue;
        };
        for template in templates {
            lookups.answers.insert(template, answer.clone());
        }
    }
    lookups
}

/// Whether an image is looked up according to the settings.
fn is_checked(image: &GoldenImage<'_>, settings: &Settings) -> bool {
    let is_selected = match image.annotation {
        Annotation::Spec(_) => true,
        Annotation::Shipped(_) => settings.images == ImageChecks::VerifyAll,
        Annotation::Unknown => false,
    };
    let mut rules = RULES.iter().filter(|rule| rule.reads == Reads::Images);
    is_selected && rules.any(|rule| settings.level(rule, Some(image.name)) != Level::Ignore)
}

/// The images that the object before the update already had, so that an outage of a registry or a changed tag does not
/// deny an update of something else. Of an image that HCO ships, only the architectures of the nodes matter, so it counts
/// as new if the update adds one of them.
fn existing(facts: &Facts<'_>, settings: &Settings) -> Set<String> {
    let is_carried =
        |old: &&Facts<'_>| settings.updates == Updates::Ratchet && old.import == Import::Enabled;
    let Some(old) = facts.old.filter(is_carried) else {
        return Set::new();
    };
    let censuses = facts.census_if_read().zip(old.census_if_read());
    let adds_architecture = censuses.is_some_and(|(new, old)| {
        let mut names = new.workload.keys();
        names.any(|name| !old.workload.contains_key(name))
    });
    let images = old.golden_images.iter();
    let images = images
        .filter(|image| !adds_architecture || matches!(image.annotation, Annotation::Spec(_)));
    images.map(|image| identity(old.common, image)).collect()
}
