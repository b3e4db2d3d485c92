//! Common templates that upstream ships and the HCO of the cluster does not: what a forecast has of them does not happen.

use std::collections::BTreeSet;

use serde_json::Value;

use super::snapshot::Snapshot;
use crate::foreign::Foreign;
use crate::object_name::{key, name};
use crate::report::{Changes, DataSource, Report};
use crate::templates;

/// The unshipped templates in a forecast.
pub(super) struct Unshipped {
    crons: Names,
    /// Pointers among them.
    sources: Names,
}

/// Names in a forecast.
struct Names {
    all: BTreeSet<String>,
    /// The objects in the cluster.
    real: BTreeSet<String>,
}

impl Names {
    fn of(all: BTreeSet<String>, kind: &str, snapshot: &Snapshot) -> Self {
        let real = snapshot.of(kind).map(|it| key(&it)).collect();
        Self { all, real }
    }

    /// Whether what the forecast says of a name happens.
    fn happens(&self, name: &Foreign) -> bool {
        !self.all.contains(name.raw()) || self.real.contains(name.raw())
    }
}

impl Unshipped {
    /// The unshipped ones according to HCO: it lists all common templates in the status of the first object once it has seen
    /// it. The other objects have templates that it has not seen.
    ///
    /// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
    /// `GetDataImportCronTemplates`.
    pub(super) fn of(objects: &[&Value], report: &Report, snapshot: &Snapshot) -> Self {
        let is_shipped = |template: &str| {
            let Some(object) = objects.first() else {
                return true;
            };
            let seen = object.pointer("/status/observedGeneration");
            let is_seen = seen.is_some() && seen == object.pointer("/metadata/generation");
            let is_common =
                |it: &Value| it.pointer("/status/commonTemplate") == Some(&Value::Bool(true));
            let is_it = |it: &Value| name(it) == template;
            let mut specs = objects.iter().copied().flat_map(templates::of_spec);
            !is_seen
                || !templates::of_status(object).any(is_common)
                || templates::of_status(object).any(is_it)
                || specs.any(|(_, it)| is_it(it))
        };
        let forecasts = [&report.forecast_before, &report.forecast];
        let forecasts = forecasts.into_iter().flatten();
        let (mut crons, mut sources) = (BTreeSet::new(), BTreeSet::new());
        for cron in forecasts.clone().flat_map(|it| &it.crons) {
            if !is_shipped(cron.template.raw()) {
                crons.insert(cron.key());
                sources.insert(cron.source());
            }
        }
        let pointers = forecasts.flat_map(|it| &it.data_sources).filter(|source| {
            let target = source.target();
            target.is_some_and(|target| sources.contains(&target))
        });
        let pointers: Vec<String> = pointers.map(DataSource::key).collect();
        sources.extend(pointers);
        Self {
            crons: Names::of(crons, "DataImportCron", snapshot),
            sources: Names::of(sources, "DataSource", snapshot),
        }
    }

    /// Leaves them out of the forecasts of a report, and of its changes.
    pub(super) fn leave_out_of(&self, report: &mut Report) {
        let forecasts = [&mut report.forecast_before, &mut report.forecast];
        for forecast in forecasts.into_iter().flatten() {
            let (crons, sources) = (&self.crons.all, &self.sources.all);
            forecast.crons.retain(|it| !crons.contains(&it.key()));
            forecast
                .data_sources
                .retain(|it| !sources.contains(&it.key()));
        }
        if let Some(changes) = &mut report.changes {
            self.leave_out_of_changes(changes);
        }
    }

    pub(super) fn leave_out_of_changes(&self, changes: &mut Changes) {
        let happens = |name: &Foreign| self.crons.happens(name);
        if let Some(crons) = &mut changes.crons {
            crons.created.retain(happens);
            crons.deleted.retain(happens);
        }
        let happens = |name: &Foreign| self.sources.happens(name);
        let sources = &mut changes.data_sources;
        for names in [
            &mut sources.created,
            &mut sources.deleted,
            &mut changes.empty_meanwhile,
            &mut changes.lost_image,
        ] {
            names.retain(happens);
        }
        sources.retargeted.retain(|it| happens(&it.name));
    }
}
