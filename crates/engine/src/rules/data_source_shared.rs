use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_templates("data-source-shared", Level::Deny).about_golden_images();

/// The name of the object that two templates want.
#[derive(Clone, Copy)]
enum Shared<'f> {
    DataSource(&'f str),
    DataImportCron(&'f str),
}

/// Two templates manage one DataSource, or create DataImportCrons with the same name.
///
/// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, getCronsByDataSourceMultiArch,
/// getCronsByDataSource, and addDataSourceReferenceForCrons: SSP stores crons by the DataSource that they manage, so
/// the template whose name sorts last wins. SSP drops a cron whose DataSource has the name of a pointer.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    prediction: &'f Prediction<'f>,
    _: Option<&'f Changes>,
) -> impl Iterator<Item = Violation<'f>> {
    prediction.iter().flat_map(move |forecast| {
        data_sources(forecast)
            .chain(data_import_crons(forecast))
            .filter_map(move |(loser, winner, shared)| {
                let template = |index: usize| forecast.templates.get(index);
                let winner = winner.and_then(template);
                Some(violation(configuration, template(loser)?, winner, shared))
            })
    })
}

/// The template that loses a DataSource, and the one that gets it; `None` if SSP uses the DataSource itself.
fn data_sources<'f>(
    forecast: &'f Forecast<'f>,
) -> impl Iterator<Item = (usize, Option<usize>, Shared<'f>)> {
    // The templates with pointers, by the name of the pointer.
    let templates = forecast.templates.iter().enumerate();
    let pointers: BTreeMap<&str, usize> = templates
        .filter(|(_, template)| template.architectures.is_some())
        .map(|(index, template)| (template.spec.managed_data_source.as_str(), index))
        .collect();
    let mut seen = BTreeSet::new();
    let first_of_templates = forecast
        .lost
        .iter()
        .filter(move |lost| seen.insert(lost.cron.template));
    first_of_templates.map(move |lost| {
        let name = &*lost.cron.source.name;
        let winner = lost.to.or_else(|| pointers.get(name).copied());
        (lost.cron.template, winner, Shared::DataSource(name))
    })
}

/// Crons of the same name: SSP creates one of them, in a random order.
fn data_import_crons<'f>(
    forecast: &'f Forecast<'f>,
) -> impl Iterator<Item = (usize, Option<usize>, Shared<'f>)> {
    let mut first = BTreeMap::new();
    let is_shared = |cron: &&Cron| forecast.same_name.contains(&cron.key);
    let crons = forecast.crons.iter().filter(is_shared);
    crons.filter_map(move |cron| {
        let winner = *first.entry(&cron.key).or_insert(cron.template);
        let shared = Shared::DataImportCron(&cron.key.name);
        (winner != cron.template).then_some((cron.template, Some(winner), shared))
    })
}

fn violation<'f>(
    configuration: &'f Configuration<'f>,
    loser: &'f SspTemplate<'f>,
    winner: Option<&'f SspTemplate<'f>>,
    shared: Shared<'f>,
) -> Violation<'f> {
    // A common template that is not in a status may not exist, and HCO maintains common templates.
    let is_unlisted = |template: &SspTemplate<'_>| {
        let mut listed = configuration.status_templates().iter();
        template.index.is_none() && !listed.any(|listed| listed.name == template.name)
    };
    let describe = move || {
        let template = quote(loser.name);
        let other = match winner {
            Some(winner) => format!("template {}", quote(winner.name)),
            None => "SSP".to_owned(),
        };
        let (field, fact, advice) = match shared {
            Shared::DataImportCron(name) => (
                ["metadata", "name"],
                format!(
                    "Only one of the images of template {template} and {other} is imported: both create the DataImportCron {}, and which one wins is not determined.",
                    quote(name)
                ),
                "rename the template; names with the suffix of an architecture must differ, too",
            ),
            Shared::DataSource(name) => (
                ["spec", "managedDataSource"],
                format!(
                    "The image of template {template} is not imported: {other} uses the same DataSource {}.",
                    quote(name)
                ),
                match loser.index {
                    Some(_) => {
                        "use another managedDataSource; names with the suffix of an architecture must differ, too"
                    }
                    None => {
                        "use another managedDataSource; to replace the image of a common template, use its name"
                    }
                },
            ),
        };
        // Users cannot correct a template that HCO adds.
        let index = loser.index.or_else(|| winner?.index);
        Description {
            path: configuration.path_of_index(index, &field),
            fact,
            fixes: vec![Proposal::advice(advice)],
        }
    };
    Violation {
        is_doubtful: is_unlisted(loser) || winner.is_some_and(is_unlisted),
        ..Violation::of(loser.name, describe)
    }
}
