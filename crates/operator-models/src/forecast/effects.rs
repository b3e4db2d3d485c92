//! Where the import of each template stops.

use std::collections::{BTreeMap, BTreeSet};

use crate::cdi::data_import_cron::{Verdict, examine_names};
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
    /// Where the imports of templates stop, by the name of the template. A template that another one displaces also counts
    /// as if it were alone.
    pub fn stops(&self) -> BTreeMap<&str, BTreeSet<Stop>> {
        let of_verdict = |verdict: &Verdict| {
            let rejected = verdict.rejected.as_ref().map(|_| Stop::DataImportCron);
            let never_runs = verdict.never_runs.first().map(|_| Stop::CronJob);
            [rejected, never_runs]
        };
        let of_crons = self.crons.iter().map(|cron| {
            let [rejected, never_runs] = of_verdict(&cron.verdict);
            let is_shared = self.same_name.contains(&cron.key);
            let source = self.rejected_source(cron).map(|_| Stop::DataSource);
            let shared = is_shared.then_some(Stop::OtherTemplate);
            (cron.template, [rejected, never_runs, source, shared])
        });
        let of_lost = self.lost.iter().filter_map(|lost| {
            let template = self.templates.get(lost.template)?;
            let cron = template.cdi_cron(&lost.key, &lost.source, lost.architecture);
            let [rejected, never_runs] = of_verdict(&examine_names(&cron, &template.verdict));
            let displaced = Some(Stop::OtherTemplate);
            Some((lost.template, [rejected, never_runs, displaced, None]))
        });
        let mut stops: BTreeMap<&str, BTreeSet<Stop>> = BTreeMap::new();
        for (index, found) in of_crons.chain(of_lost) {
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
