//! The DataImportCrons and DataSources that SSP wants.

use std::borrow::Cow;

pub use kube_objects::key::Key;

use super::architecture::Architecture;
use crate::cdi::data_import_cron::{NeverRuns, Rejection, Verdict};
use crate::hco::version::HcoVersion;

pub const GOLDEN_IMAGES_NAMESPACE: &str = "kubevirt-os-images";

pub const OPENSHIFT_GOLDEN_IMAGES_NAMESPACE: &str = "openshift-virtualization-os-images";

/// The namespace of golden images for a version of HCO or OpenShift Virtualization.
///
/// MIRRORS: ssp-operator internal/constants.go, `GoldenImagesNamespace`, which OpenShift Virtualization changes.
pub fn golden_images_namespace(version: &str) -> &'static str {
    if HcoVersion::is_openshift_virtualization(version) {
        OPENSHIFT_GOLDEN_IMAGES_NAMESPACE
    } else {
        GOLDEN_IMAGES_NAMESPACE
    }
}

/// A DataImportCron that SSP wants.
#[derive(Debug, Clone)]
pub struct Cron {
    pub template: usize,
    pub key: Key,
    /// The architecture of its suffix, which is also the platform of its registry.
    pub architecture: Option<Architecture>,
    pub source: Key,
    /// Whether it is rejected, and whether it ever imports an image.
    pub verdict: Verdict,
    /// The template whose cron replaces it, even if SSP drops that cron too.
    pub replaced_by: Option<usize>,
}

impl Cron {
    pub fn rejected(&self) -> Option<&Rejection> {
        self.verdict.rejected.as_ref()
    }

    /// Why it never imports an image, although it is accepted.
    pub fn never_runs(&self) -> &[NeverRuns] {
        &self.verdict.never_runs
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CreatedBy {
    /// SSP creates it for a VM template of its bundle.
    #[default]
    Bundle,
    /// SSP creates it so that users can use the name without a suffix.
    Pointer,
    /// CDI creates it for its cron.
    Cdi,
}

#[derive(Debug, Clone, Default)]
pub struct DataSource {
    pub creator: CreatedBy,
    /// The DataSource that it points to, in the same namespace.
    pub points_to: Option<String>,
    /// Its architecture label, empty if it has none.
    pub architecture_label: Cow<'static, str>,
    /// The index of the cron that manages it in the list of the forecast.
    pub cron: Option<usize>,
    pub rejected: Option<Rejection>,
    /// Whether a disk will exist for it; `None` if two crons have the same name.
    pub filled: Option<bool>,
}

impl DataSource {
    pub(crate) fn pointer(creator: CreatedBy, to: String) -> Self {
        Self {
            creator,
            points_to: Some(to),
            ..Self::default()
        }
    }
}
