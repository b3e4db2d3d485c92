use super::prelude::*;
use crate::rejection;

pub(crate) static RULE: Rule =
    Rule::about_templates("data-import-cron-rejected", Level::Deny).about_golden_images();

/// The API server or CDI's webhook rejects a DataImportCron.
pub(crate) enum RejectedCron<'f> {
    /// The DataImportCron of a template of the spec.
    OfTemplate {
        template: &'f str,
        index: usize,
        reason: &'f Rejection,
    },
    /// The DataImportCrons of the templates that HCO adds, because their namespace is invalid.
    OfCommonTemplates,
}

/// A name that is rejected is a finding of `template-name-invalid`.
///
/// MIRRORS: containerized-data-importer `pkg/apiserver/webhooks/dataimportcron-validate.go`,
/// `validateDataImportCronSpec`;
/// ssp-operator `internal/controllers/ssp_controller.go`, reconcileOperands: the first error ends the reconcile.
pub(crate) fn check<'f>(prediction: &'f Prediction<'f>) -> impl Iterator<Item = RejectedCron<'f>> {
    let forecast = match prediction {
        Ok(forecast) => Some(forecast),
        Err(NoForecast::Mistyped(forecast)) => Some(&**forecast),
        Err(_) => None,
    };
    forecast.into_iter().flat_map(|forecast| {
        let of_common = forecast.common_namespace_rejected();
        forecast
            .first_of_templates(|cron| {
                cron.rejected()
                    .filter(|reason| reason.cause() == Cause::Other)
            })
            .map(|(template, index, reason)| RejectedCron::OfTemplate {
                template: template.name,
                index,
                reason,
            })
            .chain(of_common.then_some(RejectedCron::OfCommonTemplates))
    })
}

impl<'f> Violation<'f> for RejectedCron<'f> {
    fn template(&self) -> Option<&'f str> {
        match self {
            Self::OfTemplate { template, .. } => Some(template),
            Self::OfCommonTemplates => None,
        }
    }

    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        match self {
            Self::OfTemplate { index, reason, .. } => {
                rejection::path(&configuration.path_of_index(Some(*index)), reason)
            }
            Self::OfCommonTemplates => configuration.hco.fields.common_namespace.path(),
        }
    }

    fn fact(&self, _: &'f Configuration<'f>) -> String {
        match self {
            Self::OfTemplate {
                template, reason, ..
            } => format!(
                "The image of template {} is not imported, and SSP stops: unwanted imports stay, and VM templates are not updated. The DataImportCron is rejected ({}).",
                quote(template),
                rejection::reason(reason)
            ),
            Self::OfCommonTemplates => {
                "No common golden image is imported, and SSP stops, because this is not the name of a namespace.".to_owned()
            }
        }
    }

    fn fixes(&self, configuration: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        let Self::OfTemplate { reason, .. } = self else {
            return vec![Proposal::advice(rejection::advice(
                &Rejection::NamespaceInvalid,
            ))];
        };
        // The edits, if the correct value is certain. CDI can have another reason after this one, so a person has to check
        // the result.
        let (edits, path) = (Edits::default(), self.path(configuration));
        let edits = match reason {
            Rejection::FieldUnsettable(_) => edits.remove(path),
            Rejection::ImageStreamWithoutNode => edits.add(path, "node"),
            _ => edits,
        };
        vec![Proposal::edits(rejection::advice(reason), &edits.finish())]
    }
}
