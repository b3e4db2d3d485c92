//! Where the imports of templates stop, and the templates that want the same object.

use std::collections::{BTreeMap, BTreeSet};

use crate::cdi::data_import_cron::Rejection;
use crate::forecast::{CreatedBy, Cron, Forecast, SspTemplate};
use crate::ssp::architecture::Architecture;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ImportStop {
    /// SSP stops at a DataSource of the template, before it creates any DataImportCron.
    DataSource,
    DataImportCron,
    CronJob,
    /// Another template has its DataSource.
    OtherTemplate,
}

/// Two templates that want one object.
pub struct Conflict<'f> {
    /// The template that does not get it, or may not get it.
    pub loser: &'f SspTemplate<'f>,
    /// `None` if SSP itself uses the DataSource.
    pub winner: Option<&'f SspTemplate<'f>>,
    /// Whether both want a DataImportCron with this name, of which SSP creates only one, in a random order. Otherwise, they
    /// want a DataSource with this name.
    pub is_about_crons: bool,
    pub name: &'f str,
    /// The names of the objects that the template does not get, or may not get: all its DataSources, or one DataImportCron.
    pub names: BTreeSet<&'f str>,
    /// The architectures that the winner takes; empty if the template has no import left, or if that is not certain.
    pub architectures: BTreeSet<&'static str>,
}

impl Forecast<'_> {
    /// The templates that want the same DataSource, once for each template that loses, then those that want the same
    /// DataImportCron.
    pub fn conflicts(&self) -> impl Iterator<Item = Conflict<'_>> {
        // The templates with pointers, by the name of the pointer.
        let pointers: BTreeMap<&str, &SspTemplate<'_>> = self
            .templates
            .iter()
            .filter(|template| template.architectures.is_some())
            .map(|template| (template.spec.managed_data_source.as_str(), template))
            .collect();
        let by_template = self
            .lost
            .chunk_by(|one, other| one.template == other.template);
        let imported: BTreeSet<usize> = self.crons.iter().map(|cron| cron.template).collect();
        let sources = by_template.filter_map(move |lost| {
            let cron = lost.first()?;
            let name = &*cron.source.name;
            let replacing = cron.replaced_by.and_then(|index| self.templates.get(index));
            let is_partial = imported.contains(&cron.template);
            let of_winner = lost
                .iter()
                .filter(|other| is_partial && other.replaced_by == cron.replaced_by)
                .filter_map(|other| other.architecture);
            Some(Conflict {
                loser: self.templates.get(cron.template)?,
                winner: replacing.or_else(|| pointers.get(name).copied()),
                is_about_crons: false,
                name,
                names: lost.iter().map(|lost| &*lost.source.name).collect(),
                architectures: of_winner.map(Architecture::name).collect(),
            })
        });
        let mut first = BTreeMap::new();
        let same_name = self
            .crons
            .iter()
            .filter(|cron| self.same_name.contains(&cron.key));
        let crons = same_name.filter_map(move |cron| {
            let loser = self.templates.get(cron.template)?;
            let winner = *first.entry(&cron.key).or_insert(loser);
            (winner.name != loser.name).then_some(Conflict {
                loser,
                winner: Some(winner),
                is_about_crons: true,
                name: &cron.key.name,
                names: BTreeSet::from([&*cron.key.name]),
                architectures: BTreeSet::new(),
            })
        });
        sources.chain(crons)
    }

    /// The templates and names of the crons that import no image, although the annotation lists their architecture.
    pub fn not_imported(&self) -> BTreeSet<(&str, &str)> {
        self.crons
            .iter()
            .filter(|cron| !cron.verdict.imports())
            .chain(&self.lost)
            .filter_map(|cron| Some((self.templates.get(cron.template)?.name, &*cron.key.name)))
            .collect()
    }

    /// Where the imports of templates stop, by name. A displaced template also counts as if it were alone.
    pub fn stops(&self) -> BTreeMap<&str, BTreeSet<ImportStop>> {
        let wanted = self.crons.iter().map(|cron| {
            let is_shared = self.same_name.contains(&cron.key);
            (cron, is_shared, self.rejected_source(cron))
        });
        let lost = self.lost.iter().map(|cron| (cron, true, None));
        let mut stops: BTreeMap<&str, BTreeSet<ImportStop>> = BTreeMap::new();
        for (cron, is_shared, rejected_source) in wanted.chain(lost) {
            if let Some(template) = self.templates.get(cron.template) {
                let found = [
                    rejected_source.map(|_| ImportStop::DataSource),
                    cron.rejected().map(|_| ImportStop::DataImportCron),
                    cron.never_runs().first().map(|_| ImportStop::CronJob),
                    is_shared.then_some(ImportStop::OtherTemplate),
                ];
                let known = stops.entry(template.name).or_default();
                known.extend(found.into_iter().flatten());
            }
        }
        stops
    }

    /// Why the API server rejects the DataSource of a cron, or the one that points to it.
    ///
    /// DIVERGES: the API server also rejects a DataSource that CDI creates (pkg/controller/dataimportcron-controller.go,
    /// updateDataSource). The rows of the operators' code do not say so, because a fake client takes any name, and the
    /// rules fire exactly where the rows say that something is lost.
    pub fn rejected_source(&self, cron: &Cron) -> Option<&Rejection> {
        let managed = &self.templates.get(cron.template)?.spec.managed_data_source;
        let own = self.source(&cron.source.name);
        let of_ssp = own.filter(|source| source.creator != CreatedBy::Cdi);
        let rejected = of_ssp.and_then(|source| source.rejected.as_ref());
        rejected.or_else(|| self.source(managed)?.rejected.as_ref())
    }
}
