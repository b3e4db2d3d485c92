//! The objects that are really in a cluster.

use kubernetes::sorted::Map;
use std::rc::Rc;

use kubernetes::json::{Json, Object, WrongType};

use crate::cdi::data_import_cron::Spec;
use crate::ssp::data_sources::Key;

/// The label with the name of the cron that a DataSource or a disk belongs to.
const CRON: &str = "cdi.kubevirt.io/dataImportCron";
/// The label for CDI's clean-up after a cron.
const CLEAN_UP: &str = "cdi.kubevirt.io/dataImportCron.cleanup";
/// The annotation with the type of the object that an object belongs to.
const OWNER: &str = "operator-sdk/primary-resource-type";
/// SSP, in that annotation.
const SSP: &str = "SSP.ssp.kubevirt.io";

/// The objects of a cluster, by kind. A kind is `None` if it was not read.
#[derive(Debug, Default)]
pub struct Objects<'a> {
    pub(super) crons: Option<Map<Key, RealCron<'a>>>,
    pub(super) sources: Option<Map<Key, RealSource>>,
    /// PersistentVolumeClaims and VolumeSnapshots.
    pub(super) disks: Option<Map<Key, RealDisk>>,
}

#[derive(Debug)]
pub(super) struct RealCron<'a> {
    pub(super) spec: Spec<'a>,
    pub(super) is_of_ssp: bool,
    /// The name of the disk that it imported last.
    pub(super) disk: Option<String>,
}

#[derive(Debug)]
pub(super) struct RealSource {
    pub(super) points_to: Option<String>,
    pub(super) disk: Option<String>,
    pub(super) is_of_ssp: bool,
    pub(super) cron: Option<Rc<str>>,
    pub(super) is_cleaned_up: bool,
}

#[derive(Debug)]
pub(super) struct RealDisk {
    pub(super) cron: Option<Rc<str>>,
    pub(super) is_cleaned_up: bool,
}

impl<'a> Objects<'a> {
    /// Reads objects, and lists of objects. An empty list says that there are none of its kind; kinds that do not matter
    /// here are passed over.
    ///
    /// # Errors
    ///
    /// A field has another type than its schema says.
    pub fn read(objects: impl IntoIterator<Item = Json<'a>>) -> Result<Self, WrongType<'a>> {
        let mut read = Self::default();
        for json in objects {
            let object = Object::root(json);
            let kind = object.field("kind").string()?.unwrap_or_default();
            if let Some(kind) = kind.strip_suffix("List") {
                read.kind(kind);
                object.field("items").list(|_, item| {
                    let item = item.object();
                    let own = item.field("kind").string()?;
                    read.add(own.as_deref().unwrap_or(kind), &item)
                })?;
            } else {
                read.add(&kind, &object)?;
            }
        }
        Ok(read)
    }

    /// A kind that was read.
    fn kind(&mut self, kind: &str) {
        match kind {
            "DataImportCron" => _ = self.crons.get_or_insert_default(),
            "DataSource" => _ = self.sources.get_or_insert_default(),
            "PersistentVolumeClaim" | "VolumeSnapshot" => _ = self.disks.get_or_insert_default(),
            _ => {}
        }
    }

    fn add(&mut self, kind: &str, object: &Object<'a>) -> Result<(), WrongType<'a>> {
        self.kind(kind);
        let metadata = object.object("metadata");
        let namespace = metadata.field("namespace").string()?.unwrap_or_default();
        let name = metadata.field("name").string()?.unwrap_or_default();
        let key = Key::new(&namespace, &name);
        let is_of_ssp = || {
            let owner = metadata.object("annotations").entry(OWNER)?;
            Ok(owner.as_deref() == Some(SSP))
        };
        let labels = metadata.object("labels");
        let cron = labels
            .entry(CRON)?
            .filter(|cron| !cron.is_empty())
            .map(Rc::from);
        let is_cleaned_up = labels.entry(CLEAN_UP)?.as_deref() == Some("true");
        match kind {
            "DataImportCron" => {
                let last = object.object("status").object("lastImportedPVC");
                let cron = RealCron {
                    spec: Spec::read(&object.object("spec"))?,
                    is_of_ssp: is_of_ssp()?,
                    disk: last.field("name").string()?,
                };
                self.crons.get_or_insert_default().insert(key, cron);
            }
            "DataSource" => {
                let source = object.object("spec").object("source");
                let name = |kind| source.object(kind).field("name").string();
                let source = RealSource {
                    points_to: name("dataSource")?,
                    disk: match name("pvc")? {
                        Some(name) => Some(name),
                        None => name("snapshot")?,
                    },
                    is_of_ssp: is_of_ssp()?,
                    cron,
                    is_cleaned_up,
                };
                self.sources.get_or_insert_default().insert(key, source);
            }
            "PersistentVolumeClaim" | "VolumeSnapshot" => {
                let disk = RealDisk {
                    cron,
                    is_cleaned_up,
                };
                self.disks.get_or_insert_default().insert(key, disk);
            }
            _ => {}
        }
        Ok(())
    }
}
