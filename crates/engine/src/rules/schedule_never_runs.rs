use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_templates("schedule-never-runs", Level::Deny).about_golden_images();

/// A schedule with which no image is ever imported.
pub(crate) struct UselessSchedule<'f> {
    template: &'f str,
    index: usize,
    /// Whether there is no schedule; otherwise, it has a time zone.
    is_empty: bool,
}

/// A name for which no CronJob can be created is a finding of `template-name-invalid`.
///
/// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, initCron; kubernetes
/// pkg/apis/batch/validation/validation.go, validateScheduleFormat, for a time zone.
pub(crate) fn check<'f>(
    prediction: &'f Prediction<'f>,
) -> impl Iterator<Item = UselessSchedule<'f>> {
    prediction.iter().flat_map(|forecast| {
        let useless = forecast.first_of_templates(|cron| {
            let mut reasons = cron.verdict.never_runs.iter();
            reasons.find(|reason| **reason != NeverRuns::NameTooLong)
        });
        useless.map(|(template, index, reason)| UselessSchedule {
            template: template.name,
            index,
            is_empty: *reason == NeverRuns::ScheduleEmpty,
        })
    })
}

impl<'f> Violation<'f> for UselessSchedule<'f> {
    fn template(&self) -> Option<&'f str> {
        Some(self.template)
    }

    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        let template = configuration.path_of_index(Some(self.index));
        template.keys(&["spec", "schedule"])
    }

    fn fact(&self, _: &'f Configuration<'f>) -> String {
        let name = quote(self.template);
        if self.is_empty {
            format!("The image of template {name} is never imported: the template has no schedule.")
        } else {
            format!(
                "The image of template {name} is never imported: its schedule has a time zone, with which no CronJob can be created."
            )
        }
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        vec![Proposal::advice(if self.is_empty {
            "set a schedule, for example \"0 */12 * * *\""
        } else {
            "remove the time zone, and convert the hours to the time zone of the control plane, usually UTC"
        })]
    }
}
