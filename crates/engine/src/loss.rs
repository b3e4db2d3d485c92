//! The losses of an update: what the object before has, and the object after does not.
//!
//! Each template counts as if it were alone, and as if nothing rejected the object. A rule adds nothing to this comparison.

use std::collections::{BTreeMap, BTreeSet};

use operator_models::forecast::ImportStop;
use operator_models::hco::golden_image::{GoldenImage, accepted_images};
use operator_models::hco::import::Import;

use crate::change::Side;
use crate::words::names;

enum Imports<'a> {
    Nothing,
    /// One image: the import is off, or the template has no annotation.
    Once,
    For(BTreeSet<&'a str>),
}

/// The loss of a template or of the object through an update.
#[derive(Debug, Clone)]
pub(crate) enum Loss {
    Image,
    Architectures(Vec<String>),
    Stop(ImportStop),
    Acceptance,
}

/// The losses of an update by template; `None` stands for the object as a whole. `accepted` are the same sides as if HCO and
/// SSP rejected nothing.
pub(crate) fn losses(
    before: &Side<'_>,
    after: &Side<'_>,
    accepted: [&Side<'_>; 2],
) -> BTreeMap<Option<String>, Loss> {
    let [had, has] = accepted.map(imports);
    let [stopped, stops] = accepted.map(stops);
    let of_templates = has.iter().filter_map(|(name, now)| {
        let had = had
            .get(name)
            .filter(|had| !matches!(had, Imports::Nothing))?;
        let loss = lost_import(had, now, after).or_else(|| {
            let known = stopped.get(name).cloned().unwrap_or_default();
            let stop = stops.get(name)?.difference(&known).next()?;
            Some(Loss::Stop(*stop))
        });
        Some((Some((*name).to_owned()), loss?))
    });
    let is_newly_rejected = !before.is_rejected() && after.is_rejected();
    let of_object = is_newly_rejected.then_some((None, Loss::Acceptance));
    of_templates.chain(of_object).collect()
}

impl Loss {
    /// The end of a fact about an existing problem, without a period.
    pub(crate) fn text(&self) -> String {
        let text = match self {
            Self::Image => "this change also ends its import",
            Self::Architectures(lost) => {
                return format!("this change also ends its import for {}", names(lost));
            }
            Self::Stop(ImportStop::DataSource | ImportStop::DataImportCron) => {
                "this change also stops SSP"
            }
            Self::Stop(ImportStop::CronJob) => {
                "with this change, its image is not imported any more"
            }
            Self::Stop(ImportStop::OtherTemplate) => {
                "with this change, another template takes its DataSource"
            }
            Self::Acceptance => "with this change, the object is also rejected",
        };
        text.to_owned()
    }
}

/// The import that a template had, and no longer has.
fn lost_import(had: &Imports<'_>, has: &Imports<'_>, after: &Side<'_>) -> Option<Loss> {
    let workload = after.census.map(|census| &census.workload);
    let lost = |before: &BTreeSet<&str>, now: &BTreeSet<&str>| -> Vec<String> {
        let left = before
            .iter()
            .filter(|name| workload.is_some_and(|workload| workload.contains_key(**name)));
        let lost = left.filter(|name| !now.contains(*name));
        lost.map(|name| (*name).to_owned()).collect()
    };
    let none = BTreeSet::new();
    match (had, has) {
        (Imports::Nothing, _) | (Imports::Once, Imports::Once | Imports::For(_)) => None,
        (Imports::Once, Imports::Nothing) => Some(Loss::Image),
        (Imports::For(before), Imports::Once) => Some(lost(before, &none))
            .filter(|lost| lost.len() > 1)
            .map(Loss::Architectures),
        (Imports::For(before), Imports::Nothing) => Some(match lost(before, &none) {
            lost if lost.is_empty() => Loss::Image,
            lost => Loss::Architectures(lost),
        }),
        (Imports::For(before), Imports::For(now)) => Some(lost(before, now))
            .filter(|lost| !lost.is_empty())
            .map(Loss::Architectures),
    }
}

/// How an object's templates are imported.
fn imports<'a>(side: &'a Side<'a>) -> BTreeMap<&'a str, Imports<'a>> {
    let configuration = &side.configuration;
    let mut imports = BTreeMap::new();
    for image in accepted_images(configuration.hco, &configuration.installation.common) {
        let known = imports.remove(image.name).unwrap_or(Imports::Nothing);
        imports.insert(image.name, known.with(imports_of(&image, side)));
    }
    imports
}

/// Where the imports of an object's templates stop.
fn stops<'a>(side: &'a Side<'a>) -> BTreeMap<&'a str, BTreeSet<ImportStop>> {
    let forecast = side.forecast.as_ref();
    forecast
        .map(|forecast| forecast.stops())
        .unwrap_or_default()
}

fn imports_of<'a>(image: &GoldenImage<'a>, side: &'a Side<'a>) -> Imports<'a> {
    let value = match side.configuration.import {
        Import::Disabled => None,
        Import::Enabled => image.annotation.possible(),
    };
    match (value, side.census) {
        (None, _) => Imports::Once,
        (Some(_), None) => Imports::Nothing,
        (Some(value), Some(census)) => match value.supported(&census.workload) {
            kept if kept.is_empty() => Imports::Nothing,
            _ if side.configuration.ssp_import == Import::Disabled => Imports::Once,
            kept => Imports::For(kept),
        },
    }
}

impl Imports<'_> {
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::For(mut one), Self::For(other)) => {
                one.extend(other);
                Self::For(one)
            }
            (Self::For(one), _) | (_, Self::For(one)) => Self::For(one),
            (Self::Once, _) | (_, Self::Once) => Self::Once,
            (Self::Nothing, Self::Nothing) => Self::Nothing,
        }
    }
}
