//! The boot sources of a report. Names in changes are `NAMESPACE/NAME`.

use serde::Deserialize;

use crate::foreign::Foreign;

/// The objects that the operators create from a HyperConverged.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Forecast {
    pub(crate) crons: Vec<Cron>,
    /// The DataSources that belong to a template.
    pub(crate) data_sources: Vec<DataSource>,
    /// The templates for which SSP drops or overwrites a DataImportCron.
    pub(crate) lost: Vec<Foreign>,
    /// The templates that SSP does not get, because their annotation lists no workload architecture.
    #[serde(default)]
    pub(crate) left_out: Vec<Foreign>,
    /// The reason why SSP stops.
    pub(crate) stopped: Option<Foreign>,
}

/// A DataImportCron.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Cron {
    pub(crate) template: Foreign,
    pub(crate) namespace: Foreign,
    pub(crate) name: Foreign,
    /// The architecture of its suffix; empty without one.
    pub(crate) architecture: Foreign,
    pub(crate) managed_data_source: Foreign,
    /// Why it is rejected.
    pub(crate) rejected: Option<Foreign>,
    /// The field that causes the rejection.
    pub(crate) rejected_path: Option<Foreign>,
    /// Why it never imports an image.
    pub(crate) never_runs: Option<Foreign>,
}

/// A DataSource.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DataSource {
    pub(crate) namespace: Foreign,
    pub(crate) name: Foreign,
    pub(crate) points_to: Option<Foreign>,
    /// Its architecture label; empty without one.
    pub(crate) architecture_label: Foreign,
    /// Whether a disk will exist for it.
    pub(crate) filled: Option<bool>,
}

/// The changes in the cluster.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Changes {
    /// `None` if two DataImportCrons have the same name.
    pub(crate) crons: Option<CronChanges>,
    pub(crate) data_sources: DataSourceChanges,
    /// The DataSources without a disk until an import is complete.
    pub(crate) empty_meanwhile: Vec<Foreign>,
    /// The DataSources that permanently lose their disk.
    pub(crate) lost_image: Vec<Foreign>,
}

/// The changes of DataImportCrons.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CronChanges {
    pub(crate) created: Vec<Foreign>,
    pub(crate) deleted: Vec<Foreign>,
    pub(crate) recreated: Vec<Foreign>,
    /// The changed fields of the spec that cause this, for each recreated DataImportCron.
    #[serde(default)]
    changed_fields: Vec<Vec<Foreign>>,
}

impl CronChanges {
    /// The changed fields that cause a DataImportCron to be deleted and created again.
    pub(crate) fn changed_fields(&self, key: &str) -> &[Foreign] {
        let index = self.recreated.iter().position(|it| it.raw() == key);
        let fields = index.and_then(|index| self.changed_fields.get(index));
        fields.map_or(&[], Vec::as_slice)
    }
}

/// The changes of DataSources.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct DataSourceChanges {
    pub(crate) created: Vec<Foreign>,
    pub(crate) deleted: Vec<Foreign>,
    pub(crate) retargeted: Vec<Retarget>,
}

/// A DataSource that points to another DataSource; `None` for its own disk.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Retarget {
    pub(crate) name: Foreign,
    pub(crate) from: Option<Foreign>,
    pub(crate) to: Option<Foreign>,
}

impl Cron {
    /// `NAMESPACE/NAME`.
    pub(crate) fn key(&self) -> String {
        key(&self.namespace, &self.name)
    }

    /// The DataSource that it manages, as `NAMESPACE/NAME`.
    pub(crate) fn source(&self) -> String {
        key(&self.namespace, &self.managed_data_source)
    }
}

impl DataSource {
    /// `NAMESPACE/NAME`.
    pub(crate) fn key(&self) -> String {
        key(&self.namespace, &self.name)
    }

    /// The DataSource that it points to, as `NAMESPACE/NAME`.
    pub(crate) fn target(&self) -> Option<String> {
        let to = self.points_to.as_ref()?;
        Some(key(&self.namespace, to))
    }
}

fn key(namespace: &Foreign, name: &Foreign) -> String {
    format!("{}/{}", namespace.raw(), name.raw())
}
