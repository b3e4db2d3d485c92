//! See `data-import-cron-rejected.md`.

use kubernetes::edit::{Edit, Edits};
use kubernetes::path::FieldPath;
use kubernetes::text::quote;
use operators::cdi::data_import_cron::{Cause, Refusal};
use operators::forecast::Cron;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;
use crate::words::refusal;

/// A name that is rejected is a finding of `template-name-invalid`.
///
/// MIRRORS: containerized-data-importer `pkg/apiserver/webhooks/dataimportcron-validate.go`,
/// `validateDataImportCronSpec`;
/// ssp-operator `internal/controllers/ssp_controller.go`, reconcileOperands: the first error ends the reconcile.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let Some(forecast) = facts.forecast else {
        return;
    };
    let reason = |cron: &'a Cron| cron.refused().filter(|it| it.cause() == Cause::Other);
    for (template, index, reason) in forecast.first_of_templates(reason) {
        findings.add(Identity::template(template.name), || Finding {
            path: facts.path_of_refusal(index, reason),
            fact: format!(
                "The image of template {} is not imported, and SSP stops for all: it removes nothing, and updates no VM template. The DataImportCron is rejected ({}).",
                quote(template.name),
                refusal(reason)
            ),
            // Another reason can be behind this one, so a person has to look.
            fixes: vec![Fix::edits(
                advice(reason).to_owned(),
                edits(facts.path_of_refusal(index, reason), reason),
            )],
        });
    }
}

/// The edits, where a value is certain.
fn edits(path: FieldPath, reason: &Refusal) -> Vec<Edit> {
    let edits = Edits::default();
    match reason {
        Refusal::FieldUnsettable(_) => edits.remove(path),
        Refusal::ImageStreamWithoutNode => edits.add(path, "node"),
        _ => edits,
    }
    .finish()
}

/// What to do about it.
fn advice(reason: &Refusal) -> &'static str {
    match reason {
        Refusal::StorageDuplicate => "remove storage or pvc",
        Refusal::StorageMissing
        | Refusal::SizeNotPositive
        | Refusal::SizeTooSmall
        | Refusal::SizeInvalid
        | Refusal::SizeMissing => {
            "set the size of the disk, for example storage: {resources: {requests: {storage: 30Gi}}}"
        }
        Refusal::AccessModeMissing
        | Refusal::AccessModesMultiple
        | Refusal::AccessModeUnknown(_) => {
            "set one access mode, for example accessModes: [ReadWriteOnce]"
        }
        Refusal::SourceMissing | Refusal::SourcesMultiple => {
            "set one source, for example registry: {url: \"docker://quay.io/containerdisks/fedora:latest\"}"
        }
        Refusal::UrlOrImageStream => "set either url or imageStream",
        Refusal::UrlInvalid(_) | Refusal::UrlScheme(_) => {
            "set the URL of an image, for example docker://quay.io/containerdisks/fedora:latest"
        }
        Refusal::PullMethodUnknown(_) => "set pullMethod to pod or node",
        Refusal::ImageStreamEmpty => "set the name of the image stream",
        Refusal::ImageStreamWithoutNode => "use the pull method node",
        Refusal::PvcIncomplete => "set the name and the namespace of the PVC",
        Refusal::ScheduleInvalid => "use five fields, for example \"0 */12 * * *\"",
        Refusal::ImportsToKeepNegative => "set importsToKeep to 1 or more",
        Refusal::GarbageCollectUnknown(_) => "set garbageCollect to Outdated or Never",
        Refusal::FieldUnsettable(_) => "leave out what must not be set",
        Refusal::NamespaceInvalid => "use the name of a namespace",
        _ => "correct the field",
    }
}
