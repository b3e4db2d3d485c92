//! See `schedule-never-runs.md`.

use kube_objects::text::quote;
use operator_models::cdi::data_import_cron::NeverRuns;
use operator_models::forecast::Cron;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;

/// A name for which no CronJob can be created is a finding of `template-name-invalid`.
///
/// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, initCron; kubernetes
/// pkg/apis/batch/validation/validation.go, validateScheduleFormat, for a time zone.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let Some(forecast) = facts.forecast else {
        return;
    };
    let reason = |cron: &'a Cron| {
        let mut reasons = cron.verdict.never_runs.iter();
        reasons.find(|reason| **reason != NeverRuns::NameTooLong)
    };
    for (template, index, reason) in forecast.first_of_templates(reason) {
        let is_empty = *reason == NeverRuns::ScheduleEmpty;
        findings.add(Identity::template(template.name), || {
            let name = quote(template.name);
            Finding {
                path: facts
                    .path_of_index(Some(index))
                    .keys(&["spec", "schedule"]),
                fact: if is_empty {
                    format!("The image of template {name} is never imported: the template has no schedule.")
                } else {
                    format!(
                        "The image of template {name} is never imported: its schedule has a time zone, with which no CronJob can be created."
                    )
                },
                fixes: vec![Fix::advice(if is_empty {
                    "set a schedule, for example \"0 */12 * * *\""
                } else {
                    "remove the time zone, and convert the hours to the time zone of the control plane, usually UTC"
                })],
            }
        });
    }
}
