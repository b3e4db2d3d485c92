//! Where the import of each template stops.

use std::collections::{BTreeMap, BTreeSet};

use crate::cdi::data_source::Rejection;
use crate::forecast::{CreatedBy, Cron, Forecast};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// SSP stops at a DataSource of the template, before it creates any DataImportCron.
    DataSource,
    DataImportCron,
    CronJob,
    /// Another template has its DataSource.
    OtherTemplate,
}

impl Forecast<'_> {
    /// Where the imports of templates stop, by name. A displaced template also counts as if it were alone.
    pub fn stops(&self) -> BTreeMap<&str, BTreeSet<Stop>> {
        let of_cron = |cron: &Cron, is_shared: bool| {
            let stops = [
                cron.rejected().map(|_| Stop::DataImportCron),
                cron.verdict.never_runs.first().map(|_| Stop::CronJob),
                is_shared.then_some(Stop::OtherTemplate),
            ];
            (cron.template, stops)
        };
        let of_crons = self
            .crons
            .iter()
            .map(|cron| of_cron(cron, self.same_name.contains(&cron.key)));
        let of_lost = self.lost.iter().map(|lost| of_cron(&lost.cron, true));
        let of_sources = self.crons.iter().map(|cron| {
            let rejected = self.rejected_source(cron).map(|_| Stop::DataSource);
            (cron.template, [rejected, None, None])
        });
        let mut stops: BTreeMap<&str, BTreeSet<Stop>> = BTreeMap::new();
        for (index, found) in of_crons.chain(of_lost).chain(of_sources) {
            if let Some(template) = self.templates.get(index) {
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
    pub fn rejected_source(&self, cron: &Cron) -> Option<Rejection> {
        let managed = &self.templates.get(cron.template)?.spec.managed_data_source;
        let own = self.source(&cron.source.name);
        let of_ssp = own.filter(|source| source.creator != CreatedBy::Cdi);
        let rejected = of_ssp.and_then(|source| source.rejected);
        rejected.or_else(|| self.source(managed)?.rejected)
    }
}
