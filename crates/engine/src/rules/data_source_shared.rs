use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_templates("data-source-shared", Level::Deny).about_golden_images();

/// Two templates manage one DataSource, or create DataImportCrons with the same name.
pub(crate) struct SharedDataSource<'f> {
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
    prediction: &'f Prediction<'f>,
) -> impl Iterator<Item = SharedDataSource<'f>> {
    prediction
        .iter()
        .flat_map(|forecast| of_data_sources(forecast).chain(of_data_import_crons(forecast)))
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

impl<'f> Violation<'f> for SharedDataSource<'f> {
    fn template(&self) -> Option<&'f str> {
        Some(self.loser.name)
    }

    /// A common template that is not in a status may not exist, and HCO maintains common templates.
    fn is_doubtful(&self, configuration: &'f Configuration<'f>) -> bool {
        let is_unlisted = |template: &SspTemplate<'_>| {
            let mut listed = configuration.status_templates().iter();
            template.index.is_none() && !listed.any(|listed| listed.name == template.name)
        };
        self.loser.index.is_none() || self.winner.is_some_and(is_unlisted)
    }

    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        let path = configuration.path_of_index(self.loser.index);
        match (self.loser.index, &self.shared) {
            (None, _) => path,
            (Some(_), Shared::DataSource(_)) => path.keys(&["spec", "managedDataSource"]),
            (Some(_), Shared::DataImportCron(_)) => path.keys(&["metadata", "name"]),
        }
    }

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
