//! Common templates that upstream ships, but the cluster's HCO does not. The forecast for them does not apply.

use std::collections::BTreeSet;

use serde_json::Value;

use super::snapshot::Snapshot;
use crate::foreign::Foreign;
use crate::object_name::{key, name};
use crate::report::{Changes, DataSource, Report};
use crate::templates;

/// The objects of these templates in a forecast.
pub(super) struct Unshipped {
    crons: Names,
    /// The names of their DataSources, including pointers.
    sources: Names,
}

/// Names in a forecast.
struct Names {
    all: BTreeSet<String>,
    /// The names of existing objects.
    real: BTreeSet<String>,
}

impl Names {
    fn of(all: BTreeSet<String>, kind: &str, snapshot: &Snapshot) -> Self {
        let real = snapshot.of(kind).map(|it| key(&it)).collect();
        Self { all, real }
    }

    /// Whether the forecast for a name applies.
    fn happens(&self, name: &Foreign) -> bool {
        !self.all.contains(name.raw()) || self.real.contains(name.raw())
    }
}

impl Unshipped {
    /// Finds the templates that HCO does not ship. After HCO has reconciled the first object, it lists all common
    /// templates in the status. The other objects have templates that HCO has not reconciled yet.
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

    /// Removes them from the forecasts and the changes of a report.
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
