//! The losses of an update: what the object before has, and the object after does not.
//!
//! Each template counts as if it were alone, and as if nothing rejected the object. A rule adds nothing to this comparison.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use operator_models::forecast::ImportStop;
use operator_models::hco::architectures::supported;
use operator_models::hco::golden_image::{GoldenImage, accepted_images};
use operator_models::hco::import::Import;

use crate::change::Side;
use crate::words::names;

/// The losses of an update by template, as the end of a fact about an existing problem, without a period; `None` stands for
/// the object as a whole. `accepted` is the side before as if HCO and SSP rejected nothing.
pub(crate) fn losses(
    before: &Side<'_>,
    accepted: &Side<'_>,
    after: &Side<'_>,
) -> BTreeMap<Option<String>, Cow<'static, str>> {
    let unrejected = after.unrejected();
    let accepted = [accepted, unrejected.as_ref().unwrap_or(after)];
    let [had, has] = accepted.map(imports);
    let [stopped, stops] = accepted.map(stops);
    let of_templates = has.iter().filter_map(|(name, now)| {
        let had = had.get(name)?.as_ref()?;
        let loss = lost_import(had, now.as_ref(), after).or_else(|| {
            let known = stopped.get(name).cloned().unwrap_or_default();
            let stop = stops.get(name)?.difference(&known).next()?;
            Some(effect(*stop).into())
        });
        Some((Some((*name).to_owned()), loss?))
    });
    let is_newly_rejected = !before.is_rejected() && after.is_rejected();
    let rejected = "with this change, the object is also rejected".into();
    let of_object = is_newly_rejected.then_some((None, rejected));
    of_templates.chain(of_object).collect()
}

fn effect(stop: ImportStop) -> &'static str {
    match stop {
        ImportStop::DataSource | ImportStop::DataImportCron => "this change also stops SSP",
        ImportStop::CronJob => "with this change, its image is not imported any more",
        ImportStop::OtherTemplate => "with this change, another template takes its DataSource",
    }
}

/// The loss of a template that had an import for these architectures, as [`imports`] returns them.
fn lost_import(
    had: &BTreeSet<&str>,
    has: Option<&BTreeSet<&str>>,
    after: &Side<'_>,
) -> Option<Cow<'static, str>> {
    let is_lost = |name: &&str| {
        after.workload().contains_key(*name) && !has.is_some_and(|has| has.contains(name))
    };
    let lost: Vec<&str> = had.iter().copied().filter(is_lost).collect();
    match has {
        None if lost.is_empty() => Some("this change also ends its import".into()),
        Some(_) if lost.is_empty() => None,
        // One image is left for the only architecture.
        Some(has) if has.is_empty() && lost.len() == 1 => None,
        _ => Some(format!("this change also ends its import for {}", names(lost)).into()),
    }
}

/// The architectures for which an object's templates are imported; `None` for a template without an import. The set is empty
/// if there is one image for all of them, because the import is off or the template has no annotation.
fn imports<'a>(side: &'a Side<'a>) -> BTreeMap<&'a str, Option<BTreeSet<&'a str>>> {
    let configuration = &side.configuration;
    let mut imports: BTreeMap<&str, Option<BTreeSet<&str>>> = BTreeMap::new();
    for image in accepted_images(configuration.hco, &configuration.installation.common) {
        let known = imports.entry(image.name).or_default();
        if let Some(architectures) = imports_of(&image, side) {
            known.get_or_insert_default().extend(architectures);
        }
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

fn imports_of<'a>(image: &GoldenImage<'a>, side: &'a Side<'a>) -> Option<BTreeSet<&'a str>> {
    let value = match side.configuration.import {
        Import::Disabled => None,
        Import::Enabled => image.annotation.possible(),
    };
    let Some(value) = value else {
        return Some(BTreeSet::new());
    };
    let kept = supported(value, &side.census?.workload);
    if kept.is_empty() {
        None
    } else if side.configuration.ssp_import == Import::Disabled {
        Some(BTreeSet::new())
    } else {
        Some(kept)
    }
}
