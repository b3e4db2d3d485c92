use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_templates("schedule-never-runs", Level::Deny).about_golden_images();

/// With this schedule, no image is ever imported. A name for which no CronJob can be created is a finding of
/// `template-name-invalid`.
///
/// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, initCron; kubernetes
/// pkg/apis/batch/validation/validation.go, validateScheduleFormat, for a time zone.
pub(crate) fn check<'f>(side: &'f Side<'f>) -> impl Iterator<Item = Violation<'f>> {
    side.forecast.iter().flat_map(move |forecast| {
        let useless = forecast.first_of_templates(|cron| {
            cron.never_runs().iter().find(|reason| **reason != NeverRuns::NameTooLong)
        });
        useless.map(move |(template, index, reason)| {
            Violation::of(template.name, move || {
                let (why, fix) = if *reason == NeverRuns::ScheduleEmpty {
                    (
                        "the template has no schedule",
                        "set a schedule, for example \"0 */12 * * *\"",
                    )
                } else {
                    (
                        "its schedule has a time zone, with which no CronJob can be created",
                        "remove the time zone, and convert the hours to the time zone of the control plane, usually UTC",
                    )
                };
                Description {
                    path: side.configuration.path_of_index(Some(index), &["spec", "schedule"]),
                    fact: format!(
                        "The image of template {} is never imported: {why}.",
                        quote(template.name)
                    ),
                    fixes: vec![Proposal::advice(fix)],
                }
            })
        })
    })
}
