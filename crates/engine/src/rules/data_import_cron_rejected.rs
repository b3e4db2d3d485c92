use super::prelude::*;
use crate::rejection::explain;

pub(crate) static RULE: Rule =
    Rule::about_templates("data-import-cron-rejected", Level::Deny).about_golden_images();

/// The API server or CDI's webhook rejects a DataImportCron, or HCO's schema rejects its template. A rejected name is a
/// finding of `template-name-invalid`.
///
/// MIRRORS: containerized-data-importer `pkg/apiserver/webhooks/dataimportcron-validate.go`,
/// `validateDataImportCronSpec`;
/// ssp-operator `internal/controllers/ssp_controller.go`, reconcileOperands: the first error ends the reconcile.
pub(crate) fn check<'f>(side: &'f Side<'f>) -> impl Iterator<Item = Violation<'f>> {
    let configuration = &side.configuration;
    let forecast = side.readable_forecast();
    forecast.into_iter().flat_map(move |forecast| {
        let of_common = forecast.common_namespace_rejected();
        let rejected = |cron: &'f Cron| {
            cron.rejected()
                .filter(|reason| reason.invalid_name().is_none())
        };
        forecast
            .first_of_templates(rejected)
            .map(move |(template, index, reason)| Violation {
                consequence: reason.is_of_schema().then_some(Consequence::HcoDenies),
                ..Violation::of(template.name, move || {
                    describe(configuration, template.name, index, reason)
                })
            })
            .chain(of_common.then(|| of_common_templates(configuration)))
    })
}

fn describe<'f>(
    configuration: &Configuration<'_>,
    template: &str,
    index: usize,
    reason: &Rejection,
) -> Description<'f> {
    let (name, explained) = (quote(template), explain(reason));
    let template = configuration.path_of_index(Some(index), &[]);
    let path = template.join(&explained.field);
    // The patch, if the correct value is certain. CDI can have another reason after this one, so a person has to check
    // the result.
    let patch = match reason {
        Rejection::FieldUnsettable(_) | Rejection::ContentTypeUnknown(_) => {
            Some(PatchOperation::remove(&path))
        }
        Rejection::ImageStreamWithoutNode => Some(PatchOperation::add(&path, "node")),
        _ => None,
    };
    let why = explained.reason;
    let fact = if reason.is_of_schema() {
        format!("Template {name} is not valid ({why})")
    } else {
        format!(
            "The image of template {name} is not imported, and SSP stops: unwanted imports stay, and VM templates are not updated. The DataImportCron is rejected ({why})."
        )
    };
    Description {
        path,
        fact,
        fixes: vec![Proposal::edits(explained.advice, Vec::from_iter(patch))],
    }
}

/// The API server rejects the DataImportCrons of the templates that HCO adds, because their namespace is invalid.
fn of_common_templates<'f>(configuration: &'f Configuration<'f>) -> Violation<'f> {
    Violation::new(move || {
        Description {
        path: configuration.hco.fields.common_namespace.path(),
        fact: "No common golden image is imported, and SSP stops, because this is not the name of a namespace.".to_owned(),
        fixes: vec![Proposal::advice(explain(&Rejection::NamespaceInvalid).advice)],
    }
    })
}
