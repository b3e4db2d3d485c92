use super::prelude::*;
use crate::rejection::explain;

pub(crate) static RULE: Rule =
    Rule::about_templates("data-import-cron-rejected", Level::Deny).about_golden_images();

/// The API server or CDI's webhook rejects a DataImportCron. A name that is rejected is a finding of
/// `template-name-invalid`.
///
/// MIRRORS: containerized-data-importer `pkg/apiserver/webhooks/dataimportcron-validate.go`,
/// `validateDataImportCronSpec`;
/// ssp-operator `internal/controllers/ssp_controller.go`, reconcileOperands: the first error ends the reconcile.
pub(crate) fn check<'f>(side: &'f Side<'f>) -> impl Iterator<Item = Violation<'f>> {
    let configuration = &side.configuration;
    let forecast = match &side.forecast {
        Ok(forecast) => Some(forecast),
        Err(NoForecast::Mistyped(forecast)) => Some(&**forecast),
        Err(_) => None,
    };
    forecast.into_iter().flat_map(move |forecast| {
        let of_common = forecast.common_namespace_rejected();
        let rejected = |cron: &'f Cron| {
            cron.rejected()
                .filter(|reason| reason.invalid_name().is_none())
        };
        forecast
            .first_of_templates(rejected)
            .map(move |(template, index, reason)| {
                Violation::of(template.name, move || {
                    let explained = explain(reason);
                    let path = configuration
                        .path_of_index(Some(index), &[])
                        .join(&explained.field);
                    // The patch, if the correct value is certain. CDI can have another reason after this one, so a person
                    // has to check the result.
                    let patch = match reason {
                        Rejection::FieldUnsettable(_) => Some(PatchOperation::remove(&path)),
                        Rejection::ImageStreamWithoutNode => {
                            Some(PatchOperation::add(&path, "node"))
                        }
                        _ => None,
                    };
                    Description {
                        path,
                        fact: format!(
                            "The image of template {} is not imported, and SSP stops: unwanted imports stay, and VM templates are not updated. The DataImportCron is rejected ({}).",
                            quote(template.name),
                            explained.reason
                        ),
                        fixes: vec![Proposal::edits(explained.advice, Vec::from_iter(patch))],
                    }
                })
            })
            .chain(of_common.then(|| of_common_templates(configuration)))
    })
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
