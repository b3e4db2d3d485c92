//! The part of the report with the forecast and the changes.

use kube_objects::text::{Foreign, cut};
use operator_models::cdi::data_import_cron::NeverRuns;
use operator_models::forecast::{Cron, Forecast, NoForecast};
use operator_models::ssp::architecture::Architecture;

use super::names;
use crate::change::Side;
use crate::configuration::Configuration;
use crate::rejection::explain;
use crate::report::{CronReport, DataSourceReport, ForecastReport, NoForecastReport};

pub(super) fn forecast(side: &Side<'_>) -> Option<ForecastReport> {
    let forecast = side.forecast.as_ref().ok()?;
    let wanted = |wanted| cron(&side.configuration, forecast, wanted);
    Some(ForecastReport {
        crons: forecast.crons.iter().map(wanted).collect(),
        data_sources: forecast
            .of_templates()
            .map(|(key, source)| DataSourceReport {
                namespace: (&*key.namespace).into(),
                name: (&*key.name).into(),
                points_to: source.points_to.clone().map(Foreign::from),
                architecture_label: (&*source.architecture_label).into(),
                filled: source.filled,
            })
            .collect(),
        lost: names(forecast.lost_templates()),
        stopped: forecast.stopped,
    })
}

pub(super) fn none(reason: &NoForecast<'_>) -> NoForecastReport {
    match reason {
        NoForecast::NodesUnknown => NoForecastReport::NodesUnknown,
        NoForecast::NotDeployed => NoForecastReport::NotDeployed,
        NoForecast::UnknownArchitecture(name) => {
            NoForecastReport::Architecture(Foreign::from(*name))
        }
        NoForecast::NoArchitecture => NoForecastReport::NoArchitecture,
        NoForecast::ByHco | NoForecast::NameMissing | NoForecast::Mistyped(_) => {
            NoForecastReport::RejectedByHco
        }
    }
}

fn cron(configuration: &Configuration<'_>, forecast: &Forecast<'_>, cron: &Cron) -> CronReport {
    let template = forecast.templates.get(cron.template);
    let index = template.and_then(|template| template.index);
    CronReport {
        template: template.map_or("", |template| template.name).into(),
        namespace: (&*cron.key.namespace).into(),
        name: (&*cron.key.name).into(),
        architecture: cron.architecture.map_or("", Architecture::name).into(),
        managed_data_source: (&*cron.source.name).into(),
        rejected: cron
            .rejected()
            .map(|rejection| cut(explain(rejection).reason, 256).into()),
        rejected_path: cron.rejected().zip(index).map(|(rejection, index)| {
            let template = configuration.path_of_index(Some(index), &[]);
            let path = template.join(&explain(rejection).field);
            path.to_string().into()
        }),
        never_runs: cron.never_runs().first().map(|reason| {
            Foreign::from(match reason {
                NeverRuns::ScheduleEmpty => "the schedule is empty",
                NeverRuns::TimeZone => "the schedule contains a time zone",
                NeverRuns::NameTooLong => "the name is too long for a CronJob",
            })
        }),
    }
}
