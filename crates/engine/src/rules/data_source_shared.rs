use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_templates("data-source-shared", Level::Deny).about_golden_images();

/// Two templates manage one DataSource, or create DataImportCrons with the same name.
struct SharedDataSource<'f> {
    /// The template whose image is not imported.
    loser: &'f SspTemplate<'f>,
    /// The template whose image is imported; `None` if SSP uses the DataSource itself.
    winner: Option<&'f SspTemplate<'f>>,
    shared: Shared<'f>,
}

/// The name of the object that both templates want.
enum Shared<'f> {
    DataSource(&'f str),
    DataImportCron(&'f str),
}

/// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, getCronsByDataSourceMultiArch,
/// getCronsByDataSource, and addDataSourceReferenceForCrons: SSP stores crons by the DataSource that they manage, so
/// the template whose name sorts last wins. SSP drops a cron whose DataSource has the name of a pointer.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    prediction: &'f Prediction<'f>,
) -> impl Iterator<Item = Violation<'f>> {
    let listed = configuration.status_templates();
    // A common template that is not in a status may not exist, and HCO maintains common templates.
    let is_unlisted = |template: &SspTemplate<'_>| {
        template.index.is_none() && !listed.iter().any(|listed| listed.name == template.name)
    };
    prediction
        .iter()
        .flat_map(|forecast| of_data_sources(forecast).chain(of_data_import_crons(forecast)))
        .map(move |problem| {
            let SharedDataSource { loser, winner, .. } = &problem;
            let path = match problem.shared {
                Shared::DataSource(_) => &["spec", "managedDataSource"],
                Shared::DataImportCron(_) => &["metadata", "name"],
            };
            Violation {
                is_doubtful: loser.index.is_none() || winner.is_some_and(is_unlisted),
                template: Some(loser.name),
                ..Violation::new(configuration.path_in(loser.index, path), problem)
            }
        })
}

fn of_data_sources<'f>(forecast: &'f Forecast<'f>) -> impl Iterator<Item = SharedDataSource<'f>> {
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
    first_of_templates.filter_map(move |lost| {
        let name = &*lost.cron.source.name;
        let winner = lost.to.or_else(|| pointers.get(name).copied());
        Some(SharedDataSource {
            loser: forecast.templates.get(lost.cron.template)?,
            winner: winner.and_then(|winner| forecast.templates.get(winner)),
            shared: Shared::DataSource(name),
        })
    })
}

/// Crons of the same name: SSP creates one of them, in a random order.
fn of_data_import_crons<'f>(
    forecast: &'f Forecast<'f>,
) -> impl Iterator<Item = SharedDataSource<'f>> {
    let mut first = BTreeMap::new();
    let is_shared = |cron: &&Cron| forecast.same_name.contains(&cron.key);
    forecast
        .crons
        .iter()
        .filter(is_shared)
        .filter_map(move |cron| {
            let winner = *first.entry(&cron.key).or_insert(cron.template);
            (winner != cron.template).then_some(SharedDataSource {
                loser: forecast.templates.get(cron.template)?,
                winner: forecast.templates.get(winner),
                shared: Shared::DataImportCron(&cron.key.name),
            })
        })
}

impl<'f> Problem<'f> for SharedDataSource<'f> {
    fn fact(&self, _: &'f Configuration<'f>) -> String {
        let loser = quote(self.loser.name);
        let other = match self.winner {
            Some(winner) => format!("template {}", quote(winner.name)),
            None => "SSP".to_owned(),
        };
        match self.shared {
            Shared::DataImportCron(name) => format!(
                "Only one of the images of template {loser} and {other} is imported: both create the DataImportCron {}, and which one wins is not determined.",
                quote(name)
            ),
            Shared::DataSource(name) => format!(
                "The image of template {loser} is not imported: {other} uses the same DataSource {}.",
                quote(name)
            ),
        }
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        vec![Proposal::advice(match self.shared {
            Shared::DataImportCron(_) => {
                "rename the template; names with the suffix of an architecture must differ, too"
            }
            Shared::DataSource(_) => {
                "use another managedDataSource; names with the suffix of an architecture must differ, too"
            }
        })]
    }
}
