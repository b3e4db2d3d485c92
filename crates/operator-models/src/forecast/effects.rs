//! Where the import of each template stops.

use std::collections::{BTreeMap, BTreeSet};

use crate::cdi::data_source::Rejection;
use crate::forecast::{CreatedBy, Cron, Forecast};

/// Where the import of a template stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// SSP stops at a DataSource of the template, before it creates any DataImportCron.
    DataSource,
    /// SSP stops at a DataImportCron of the template.
    DataImportCron,
    /// CDI never imports the image.
    CronJob,
    /// Another template has its DataSource.
    OtherTemplate,
}

impl Forecast<'_> {
    /// Where the imports of templates stop, by the name of the template.
    pub fn stops(&self) -> BTreeMap<&str, BTreeSet<Stop>> {
        let of_crons = self.crons.iter().flat_map(|cron| {
            let is_shared = self.same_name.contains(&cron.key);
            [
                (self.rejected_source(cron).is_some(), Stop::DataSource),
                (cron.rejected().is_some(), Stop::DataImportCron),
                (!cron.verdict.never_runs.is_empty(), Stop::CronJob),
                (is_shared, Stop::OtherTemplate),
            ]
            .into_iter()
            .filter_map(|(is_stopped, stop)| is_stopped.then_some((cron.template, stop)))
        });
        let of_lost = self
            .lost
            .iter()
            .map(|lost| (lost.template, Stop::OtherTemplate));
        let mut stops: BTreeMap<&str, BTreeSet<Stop>> = BTreeMap::new();
        for (index, stop) in of_crons.chain(of_lost) {
            if let Some(template) = self.templates.get(index) {
                stops.entry(template.name).or_default().insert(stop);
            }
        }
        stops
    }

    /// Why the API server rejects the DataSource of a cron, or the one that points to it.
    ///
    /// DIVERGES: the API server also rejects a DataSource that CDI creates (pkg/controller/dataimportcron-controller.go,
    /// updateDataSource). The rows of the operators' code do not say so, because a fake client takes any name, and the
    /// rules fire exactly where the rows say that something is lost.
    pub fn rejected_source(&self, cron: &Cron) -> Option<Rejection> {
        let managed = &self.templates.get(cron.template)?.spec.managed_data_source;
        let own = self
            .source(self.golden_namespace, &cron.source.name)
            .filter(|source| source.creator != CreatedBy::Cdi);
        let pointer = self.source(self.golden_namespace, managed);
        own.into_iter()
            .chain(pointer)
            .find_map(|source| source.rejected)
    }
}
