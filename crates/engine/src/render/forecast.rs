//! The part of the report with the forecast and the changes.

use kube_objects::text::cut;
use operator_models::cdi::data_import_cron::NeverRuns;
use operator_models::forecast::{Changes, Cron, Forecast, Stopped};
use operator_models::ssp::architecture::Architecture;
use operator_models::ssp::data_sources::Key;

use crate::facts::Facts;
use crate::rejected_path::rejected_path;
use crate::report::{
    ChangesReport, CronChangesReport, CronReport, DataSourceChangesReport, DataSourceReport,
    ForecastReport, RetargetReport,
};
use crate::words::rejection;

/// The forecast of an object.
pub(super) fn forecast(facts: &Facts<'_>) -> Option<ForecastReport> {
    let forecast = facts.forecast()?;
    let sources = forecast.of_templates();
    Some(ForecastReport {
        crons: forecast
            .crons
            .iter()
            .map(|it| cron(facts, forecast, it))
            .collect(),
        data_sources: sources
            .map(|(key, source)| DataSourceReport {
                namespace: key.namespace.to_string(),
                name: key.name.to_string(),
                points_to: source.points_to.clone(),
                architecture_label: source.architecture_label.clone().into_owned(),
                filled: source.filled,
            })
            .collect(),
        lost: forecast
            .lost_templates()
            .into_iter()
            .map(str::to_owned)
            .collect(),
        left_out: forecast
            .left_out
            .iter()
            .map(|it| (*it).to_owned())
            .collect(),
        stopped: forecast.stopped.map(Stopped::name),
    })
}

fn cron(facts: &Facts<'_>, forecast: &Forecast<'_>, cron: &Cron) -> CronReport {
    let template = forecast.templates.get(cron.template);
    let index = template.and_then(|template| template.index);
    CronReport {
        template: template.map_or_else(String::new, |template| template.name.to_owned()),
        namespace: cron.key.namespace.to_string(),
        name: cron.key.name.to_string(),
        architecture: cron.architecture.map_or("", Architecture::name).to_owned(),
        managed_data_source: cron.source.name.to_string(),
        rejected: cron.rejected().map(|reason| cut(rejection(reason), 256)),
        rejected_path: cron
            .rejected()
            .zip(index)
            .map(|(reason, index)| rejected_path(facts, index, reason).to_string()),
        never_runs: cron.verdict.never_runs.first().map(|reason| match reason {
            NeverRuns::ScheduleEmpty => "the schedule is empty",
            NeverRuns::TimeZone => "the schedule contains a time zone",
            NeverRuns::NameTooLong => "the name is too long for a CronJob",
        }),
    }
}

/// The changes that an update causes.
pub(super) fn changes(changes: &Changes) -> ChangesReport {
    let crons = changes.crons.as_ref();
    let sources = &changes.data_sources;
    ChangesReport {
        crons: crons.map(|crons| CronChangesReport {
            created: names(&crons.created),
            deleted: names(&crons.deleted),
            recreated: names(&crons.recreated),
            changed_fields: crons.changed_fields.clone(),
        }),
        data_sources: DataSourceChangesReport {
            created: names(&sources.created),
            deleted: names(&sources.deleted),
            retargeted: sources
                .retargeted
                .iter()
                .map(|retarget| RetargetReport {
                    name: retarget.key.to_string(),
                    from: retarget.from.clone(),
                    to: retarget.to.clone(),
                })
                .collect(),
        },
        empty_meanwhile: names(&changes.empty_meanwhile),
        lost_image: names(&changes.lost_image),
    }
}

fn names<'k>(keys: impl IntoIterator<Item = &'k Key>) -> Vec<String> {
    keys.into_iter().map(Key::to_string).collect()
}
