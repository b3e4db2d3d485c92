//! The names of `DataSource`s, which the API server checks.

use kube_objects::label::value_error;
use kube_objects::name::is_dns1123_subdomain;

use crate::cdi::data_import_cron::Rejection;

/// Checks the name of a `DataSource`, and the name of its `DataImportCron`, which is the value of its label
/// `cdi.kubevirt.io/dataImportCron`; `None` if SSP creates it without the label. If SSP creates a rejected `DataSource`, SSP
/// then creates no `DataImportCron` at all. If CDI creates it, the accepted `DataImportCron` never imports an image.
///
/// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, reconcileDataSource; containerized-data-importer
/// pkg/controller/dataimportcron-controller.go, updateDataSource; k8s.io/apimachinery pkg/api/validation/objectmeta.go,
/// `ValidateObjectMeta`.
pub fn examine_names(name: &str, cron: Option<&str>) -> Option<Rejection> {
    match name.len() {
        0 => return Some(Rejection::ManagedDataSourceMissing),
        254.. => return Some(Rejection::ManagedDataSourceTooLongForObject),
        _ if !is_dns1123_subdomain(name) => return Some(Rejection::ManagedDataSourceInvalid),
        _ => {}
    }
    let cron = cron?;
    if cron.len() > 63 {
        return Some(Rejection::CronLabelTooLong);
    }
    value_error(cron).map(|_| Rejection::CronLabelInvalid)
}
