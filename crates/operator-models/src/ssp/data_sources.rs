//! The DataImportCrons and DataSources that SSP wants. SSP stores its crons by the DataSource that they manage, so if two
//! crons manage one DataSource, the later one silently replaces the other.
//!
//! MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, getDataSourcesAndCrons.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::architecture::Architecture;
use super::bundle;
use crate::cdi::data_import_cron::{NeverRuns, Rejection, Verdict};
use crate::cdi::data_source;
use crate::hco::version::HcoVersion;
use crate::ssp::template::SspTemplate;

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

/// The name of an object in a namespace, ordered by namespace, then by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        // Nearly all objects have the same namespace, and a request can name thousands of them.
        let namespaces = if Arc::ptr_eq(&self.namespace, &other.namespace) {
            Ordering::Equal
        } else {
            self.namespace.cmp(&other.namespace)
        };
        namespaces.then_with(|| self.name.cmp(&other.name))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Key {
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    #[must_use]
    pub fn beside(&self, name: impl Into<Arc<str>>) -> Self {
        Self {
            namespace: Arc::clone(&self.namespace),
            name: name.into(),
        }
    }
}

/// The form in a report: `namespace/name`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
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
    pub rejected: Option<data_source::SourceRejection>,
    /// Whether a disk will exist for it; `None` if two crons have the same name.
    pub filled: Option<bool>,
}

impl DataSource {
    fn pointer(creator: CreatedBy, to: String) -> Self {
        Self {
            creator,
            points_to: Some(to),
            ..Self::default()
        }
    }
}

/// A cron that SSP would create from a template alone, but does not create because of the other templates.
#[derive(Debug)]
pub struct LostCron {
    pub cron: Cron,
    /// The template whose cron replaces it, even if SSP drops that cron too; `None` if SSP drops it in favor of a
    /// DataSource that points to another one.
    pub to: Option<usize>,
}

#[derive(Debug, Default)]
pub struct Wanted {
    pub crons: BTreeMap<Key, Cron>,
    /// The DataSources in the namespace for golden images, without their crons.
    pub data_sources: BTreeMap<Key, DataSource>,
    /// The DataSources that do not belong to the bundle, in the order in which SSP creates them.
    pub pointers: Vec<Key>,
    /// The crons that SSP does not create, sorted by template and name.
    pub lost: Vec<LostCron>,
}

impl Wanted {
    /// `architectures` has the cluster's architectures in SSP's order, with the import off only the first one.
    pub fn new(
        templates: &[SspTemplate<'_>],
        architectures: &[Architecture],
        is_multi_arch: bool,
        golden_namespace: &Arc<str>,
    ) -> Self {
        let mut wanted = Self::default();
        let mut replaced = Vec::new();
        for (index, template) in templates.iter().enumerate() {
            let namespace = match template.namespace.as_str() {
                "" => Arc::clone(golden_namespace),
                namespace => namespace.into(),
            };
            for ([source, name], architecture) in names(template, architectures, is_multi_arch) {
                let source = Key::new(Arc::clone(&namespace), source);
                let key = source.beside(name);
                let of_cdi = template.cdi_cron(&key, &source, architecture);
                let cron = Cron {
                    template: index,
                    verdict: template.examine(&of_cdi),
                    key,
                    architecture,
                    source: source.clone(),
                };
                replaced.extend(wanted.crons.insert(source, cron));
            }
        }
        for cron in replaced {
            let to = wanted.crons.get(&cron.source).map(|cron| cron.template);
            wanted.lost.push(LostCron { cron, to });
        }
        let golden = Key::new(Arc::clone(golden_namespace), "");
        wanted.add_bundle_sources(&golden, architectures, is_multi_arch);
        if is_multi_arch {
            wanted.add_pointers(&golden, templates, architectures);
            wanted.drop_crons_of_pointers();
        }
        wanted
            .lost
            .sort_by_cached_key(|LostCron { cron, .. }| (cron.template, cron.key.clone()));
        wanted
    }

    /// MIRRORS: getDataSourceInfos, getDataSourceInfosMultiArch.
    fn add_bundle_sources(
        &mut self,
        golden: &Key,
        architectures: &[Architecture],
        is_multi_arch: bool,
    ) {
        for (source, of_source) in bundle::SOURCES {
            let Some(default) = first_common(architectures, of_source) else {
                continue;
            };
            let key = golden.beside(source);
            let sources = &mut self.data_sources;
            if !is_multi_arch {
                sources.insert(key, DataSource::default());
                continue;
            }
            let pointer = DataSource::pointer(CreatedBy::Bundle, default.suffixed(source));
            sources.insert(key, pointer);
            for known in of_source
                .iter()
                .filter(|known| architectures.contains(known))
            {
                let own = DataSource {
                    architecture_label: known.name().into(),
                    ..DataSource::default()
                };
                sources.insert(golden.beside(known.suffixed(source)), own);
            }
        }
    }

    /// MIRRORS: addDataSourceReferenceForCrons, which compares names regardless of the namespace.
    fn add_pointers(
        &mut self,
        golden: &Key,
        templates: &[SspTemplate<'_>],
        architectures: &[Architecture],
    ) {
        for template in templates {
            let annotated = template.architectures.as_deref().unwrap_or_default();
            let Some(default) = first_common(architectures, annotated) else {
                continue;
            };
            let name = template.spec.managed_data_source.as_str();
            let key = golden.beside(name);
            if let Entry::Vacant(vacant) = self.data_sources.entry(key.clone()) {
                let target = default.suffixed(name);
                vacant.insert(DataSource::pointer(CreatedBy::Pointer, target));
                self.pointers.push(key);
            }
        }
    }

    /// MIRRORS: getDataSourcesAndCrons, which omits the cron of a DataSource that is not updated automatically.
    fn drop_crons_of_pointers(&mut self) {
        for (key, source) in &self.data_sources {
            if source.points_to.is_some() {
                let dropped = self.crons.remove(key);
                self.lost
                    .extend(dropped.map(|cron| LostCron { cron, to: None }));
            }
        }
    }
}

/// The crons of a template: the DataSource that each manages, its own name, and its architecture.
///
/// MIRRORS: getCronsByDataSource, getCronsByDataSourceMultiArch, addToCronMap.
fn names(
    template: &SspTemplate<'_>,
    architectures: &[Architecture],
    is_multi_arch: bool,
) -> Vec<([String; 2], Option<Architecture>)> {
    let managed = template.spec.managed_data_source.as_str();
    if let Some(annotated) = &template.architectures
        && is_multi_arch
    {
        return Architecture::ALL
            .into_iter()
            .filter(|known| annotated.contains(known) && architectures.contains(known))
            .map(|known| {
                let names = [managed, template.name].map(|name| known.suffixed(name));
                (names, Some(known))
            })
            .collect();
    }
    let source = bundle::source(managed)
        .filter(|_| is_multi_arch)
        .and_then(|of_source| first_common(architectures, of_source))
        .map_or_else(|| managed.to_owned(), |default| default.suffixed(managed));
    vec![([source, template.name.to_owned()], None)]
}

/// The first architecture of the cluster that is in `among`.
///
/// MIRRORS: getDefaultDataSourceArch.
fn first_common(architectures: &[Architecture], among: &[Architecture]) -> Option<Architecture> {
    architectures
        .iter()
        .copied()
        .find(|architecture| among.contains(architecture))
}
