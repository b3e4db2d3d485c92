//! See `data-import-cron-rejected.md`.

use kube_objects::edit::{Edit, Edits};
use operator_models::cdi::data_import_cron::{Cause, Rejection};
use operator_models::forecast::Changes;

use super::prelude::*;
use crate::change::Prediction;
use crate::rejected_path::rejected_path;
use crate::words::rejection;

pub(crate) static RULE: Rule = Rule::about_templates("data-import-cron-rejected", Level::Deny)
    .about_golden_images();

/// The API server or CDI's webhook rejects the DataImportCron of a template.
pub(crate) struct RejectedCron<'f> {
    template: &'f str,
    index: usize,
    reason: &'f Rejection,
}

/// A name that is rejected is a finding of `template-name-invalid`.
///
/// MIRRORS: containerized-data-importer `pkg/apiserver/webhooks/dataimportcron-validate.go`,
/// `validateDataImportCronSpec`;
/// ssp-operator `internal/controllers/ssp_controller.go`, reconcileOperands: the first error ends the reconcile.
pub(crate) fn check<'f>(
    _: &'f Configuration<'f>,
    prediction: &'f Prediction<'f>,
    _: Option<&'f Changes>,
) -> impl Iterator<Item = RejectedCron<'f>> {
    prediction.iter().flat_map(|forecast| {
        let rejected = forecast.first_of_templates(|cron| {
            let reason = cron.rejected();
            reason.filter(|reason| reason.cause() == Cause::Other)
        });
        rejected.map(|(template, index, reason)| RejectedCron {
            template: template.name,
            index,
            reason,
        })
    })
}

impl<'f> Violation<'f> for RejectedCron<'f> {
    fn template(&self) -> Option<&'f str> {
        Some(self.template)
    }

    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        rejected_path(configuration, self.index, self.reason)
    }

    fn fact(&self, _: &'f Configuration<'f>) -> String {
        format!(
            "The image of template {} is not imported, and SSP stops: unwanted imports stay, and VM templates are not updated. The DataImportCron is rejected ({}).",
            quote(self.template),
            rejection(self.reason)
        )
    }

    fn fixes(&self, configuration: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        // CDI can have another reason after this one, so a person has to check the result.
        let edits = edits(self.path(configuration), self.reason);
        vec![Proposal::edits(advice(self.reason), edits)]
    }
}

/// The edits, if the correct value is certain.
fn edits(path: FieldPath, reason: &Rejection) -> Vec<Edit> {
    let edits = Edits::default();
    match reason {
        Rejection::FieldUnsettable(_) => edits.remove(path),
        Rejection::ImageStreamWithoutNode => edits.add(path, "node"),
        _ => edits,
    }
    .finish()
}

/// The advice for a rejection.
fn advice(reason: &Rejection) -> &'static str {
    match reason {
        Rejection::StorageDuplicate => "remove storage or pvc",
        Rejection::StorageMissing
        | Rejection::SizeNotPositive
        | Rejection::SizeTooSmall
        | Rejection::SizeInvalid
        | Rejection::SizeMissing => {
            "set the size of the disk, for example storage: {resources: {requests: {storage: 30Gi}}}"
        }
        Rejection::AccessModeMissing
        | Rejection::AccessModesMultiple
        | Rejection::AccessModeUnknown(_) => {
            "set one access mode, for example accessModes: [ReadWriteOnce]"
        }
        Rejection::SourceMissing | Rejection::SourcesMultiple => {
            "set one source, for example registry: {url: \"docker://quay.io/containerdisks/fedora:latest\"}"
        }
        Rejection::UrlOrImageStream => "set either url or imageStream",
        Rejection::UrlInvalid(_) | Rejection::UrlScheme(_) => {
            "set the URL of an image, for example docker://quay.io/containerdisks/fedora:latest"
        }
        Rejection::PullMethodUnknown(_) => "set pullMethod to pod or node",
        Rejection::ImageStreamEmpty => "set the name of the image stream",
        Rejection::ImageStreamWithoutNode => "use the pull method node",
        Rejection::PvcIncomplete => "set the name and the namespace of the PVC",
        Rejection::ScheduleInvalid => {
            "use five fields, each in its range, for example \"0 */12 * * *\""
        }
        Rejection::ImportsToKeepNegative => "set importsToKeep to 1 or more",
        Rejection::GarbageCollectUnknown(_) => "set garbageCollect to Outdated or Never",
        Rejection::FieldUnsettable(_) => "use only fields that CDI allows",
        Rejection::NamespaceInvalid => "use the name of a namespace",
        _ => "correct the field",
    }
}
