//! The names of `DataSource`s, which the API server checks.

use kube_objects::label::value_error;
use kube_objects::name::is_dns1123_subdomain;

/// Why the API server rejects a `DataSource`. If SSP creates the `DataSource`, SSP then creates no `DataImportCron` at
/// all. If CDI creates it, the accepted `DataImportCron` never imports an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceRejection {
    NameMissing,
    NameInvalid,
    NameTooLong,
    /// The name of its `DataImportCron` is too long for a label.
    CronLabelTooLong,
    /// The name of its `DataImportCron` contains a character that the value of a label cannot have.
    CronLabelInvalid,
}

/// Checks the name of a `DataSource`, and the name of its `DataImportCron`, which is the value of its label
/// `cdi.kubevirt.io/dataImportCron`; `None` if SSP creates it without the label.
///
/// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, reconcileDataSource; containerized-data-importer
/// pkg/controller/dataimportcron-controller.go, updateDataSource; k8s.io/apimachinery pkg/api/validation/objectmeta.go,
/// `ValidateObjectMeta`.
pub fn examine_names(name: &str, cron: Option<&str>) -> Option<SourceRejection> {
    match name.len() {
        0 => return Some(SourceRejection::NameMissing),
        254.. => return Some(SourceRejection::NameTooLong),
        _ if !is_dns1123_subdomain(name) => return Some(SourceRejection::NameInvalid),
        _ => {}
    }
    let cron = cron?;
    if cron.len() > 63 {
        return Some(SourceRejection::CronLabelTooLong);
    }
    value_error(cron).map(|_| SourceRejection::CronLabelInvalid)
}
