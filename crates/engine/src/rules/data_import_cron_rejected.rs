//! See `data-import-cron-rejected.md`.

use kube_objects::edit::{Edit, Edits};
use kube_objects::path::FieldPath;
use kube_objects::text::quote;
use operator_models::cdi::data_import_cron::{Cause, Rejection};
use operator_models::forecast::Cron;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;
use crate::rejected_path::rejected_path;
use crate::words::rejection;

/// A name that is rejected is a finding of `template-name-invalid`.
///
/// MIRRORS: containerized-data-importer `pkg/apiserver/webhooks/dataimportcron-validate.go`,
/// `validateDataImportCronSpec`;
/// ssp-operator `internal/controllers/ssp_controller.go`, reconcileOperands: the first error ends the reconcile.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let Some(forecast) = facts.forecast else {
        return;
    };
    let reason = |cron: &'a Cron| cron.rejected().filter(|it| it.cause() == Cause::Other);
    for (template, index, reason) in forecast.first_of_templates(reason) {
        findings.add(Identity::template(template.name), || Finding {
            path: rejected_path(facts, index, reason),
            fact: format!(
                "The image of template {} is not imported, and SSP stops: unwanted imports stay, and VM templates are not updated. The DataImportCron is rejected ({}).",
                quote(template.name),
                rejection(reason)
            ),
            // Another reason can be behind this one, so a person has to look.
            fixes: vec![Fix::edits(
                advice(reason).to_owned(),
                edits(rejected_path(facts, index, reason), reason),
            )],
        });
    }
}

/// The edits, where a value is certain.
fn edits(path: FieldPath, reason: &Rejection) -> Vec<Edit> {
    let edits = Edits::default();
    match reason {
        Rejection::FieldUnsettable(_) => edits.remove(path),
        Rejection::ImageStreamWithoutNode => edits.add(path, "node"),
        _ => edits,
    }
    .finish()
}

/// What to do about it.
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
