//! The existing objects in a cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube_objects::json::{Field, Object, WrongType};
use strum::EnumString;

use crate::cdi::data_import_cron::Spec;
use crate::ssp::data_sources::Key;

const CRON: &str = "cdi.kubevirt.io/dataImportCron";
const CLEAN_UP: &str = "cdi.kubevirt.io/dataImportCron.cleanup";
/// The annotation with the type of an object's owner.
const OWNER: &str = "operator-sdk/primary-resource-type";
const SSP: &str = "SSP.ssp.kubevirt.io";

/// The objects of each kind that was read, in the order in which they were read. If two objects have the same name, the
/// last one counts.
#[derive(Debug, Default)]
pub struct Objects<'a>(BTreeMap<Kind, Vec<Real<'a>>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, EnumString)]
pub(super) enum Kind {
    DataImportCron,
    DataSource,
    PersistentVolumeClaim,
    VolumeSnapshot,
}

#[derive(Debug)]
pub(super) struct Real<'a> {
    pub(super) kind: Kind,
    pub(super) key: Key,
    pub(super) spec: Option<Spec<'a>>,
    /// Whether SSP deletes it when it is no longer wanted.
    pub(super) is_of_ssp: bool,
    pub(super) points_to: Option<String>,
    /// The name of a DataSource's disk, or of the disk that a cron imported last.
    pub(super) disk: Option<String>,
    pub(super) labels: Labels,
}

/// The labels that CDI sets on a DataSource or on a disk, and an annotation.
#[derive(Debug, Clone, Default)]
pub(super) struct Labels {
    /// The name of its cron.
    pub(super) cron: Option<Arc<str>>,
    /// Whether CDI's clean-up deletes it after the cron.
    pub(super) is_cleaned_up: bool,
    /// When CDI used a disk last, as the number of an import.
    pub(super) last_use: usize,
}

impl Labels {
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, setDataImportCronResourceLabels:
    /// only None sets the label for the clean-up; any other value counts as All.
    pub(super) fn set(&mut self, cron: &Key, spec: &Spec<'_>) {
        self.cron = Some(Arc::clone(&cron.name));
        self.is_cleaned_up |= spec.retention_policy.as_deref() == Some("None");
    }
}

impl<'a> Objects<'a> {
    /// Reads a list of objects, which may contain lists of objects. An empty list means that there are no objects of
    /// its kind. Kinds that do not affect the forecast are ignored.
    pub fn read(list: &Field<'a>) -> Result<Self, WrongType<'a>> {
        let mut read = Self::default();
        read.list(list, "")?;
        Ok(read)
    }

    /// The objects of a kind; `None` if it was not read.
    pub(super) fn of_kind(&self, kind: Kind) -> Option<&[Real<'a>]> {
        self.0.get(&kind).map(Vec::as_slice)
    }

    /// Reads a list. If it has a kind, its items need not name it.
    fn list(&mut self, list: &Field<'a>, kind: &str) -> Result<(), WrongType<'a>> {
        let read = list.list(|_, item| {
            let object = item.object();
            let own = object.string("kind")?;
            let kind = own.as_deref().unwrap_or(kind);
            match kind.strip_suffix("List") {
                Some(kind) => {
                    if let Ok(kind) = kind.parse() {
                        self.0.entry(kind).or_default();
                    }
                    self.list(&object.field("items"), kind)
                }
                None => self.add(kind, &object),
            }
        });
        read.map(drop)
    }

    fn add(&mut self, kind: &str, object: &Object<'a>) -> Result<(), WrongType<'a>> {
        let Ok(kind) = kind.parse() else {
            return Ok(());
        };
        let metadata = object.object("metadata");
        let key = Key::new(metadata.text("namespace")?, metadata.text("name")?);
        let source = object.object("spec").object("source");
        let (points_to, disk) = match kind {
            Kind::DataImportCron => {
                let last = object.object("status").object("lastImportedPVC");
                (None, last.string("name")?)
            }
            Kind::DataSource => {
                let claim = source.object("pvc").string("name")?;
                let snapshot = source.object("snapshot").string("name")?;
                let target = source.object("dataSource").string("name")?;
                (target, claim.or(snapshot))
            }
            Kind::PersistentVolumeClaim | Kind::VolumeSnapshot => (None, None),
        };
        let labels = metadata.object("labels");
        self.0.entry(kind).or_default().push(Real {
            kind,
            key,
            is_of_ssp: metadata.object("annotations").entry(OWNER)?.as_deref() == Some(SSP),
            points_to,
            disk,
            labels: Labels {
                cron: labels
                    .entry(CRON)?
                    .filter(|cron| !cron.is_empty())
                    .map(Arc::from),
                is_cleaned_up: labels.entry(CLEAN_UP)?.as_deref() == Some("true"),
                last_use: 0,
            },
            spec: match kind {
                Kind::DataImportCron => Some(Spec::read(&object.object("spec"))?),
                Kind::DataSource | Kind::PersistentVolumeClaim | Kind::VolumeSnapshot => None,
            },
        });
        Ok(())
    }
}
