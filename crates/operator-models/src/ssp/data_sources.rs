//! The DataImportCrons and DataSources that SSP wants. SSP stores its crons by the DataSource that they manage, so if two
//! crons manage one DataSource, the later one silently replaces the other.
//!
//! MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, getDataSourcesAndCrons.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::rc::Rc;

use super::architecture::Architecture;
use super::bundle;
use crate::cdi::data_import_cron::{Rejection, Verdict, examine_names};
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
    pub namespace: Rc<str>,
    pub name: Rc<str>,
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        // Nearly all objects have the same namespace, and a request can name thousands of them.
        let namespaces = if Rc::ptr_eq(&self.namespace, &other.namespace) {
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
    pub fn new(namespace: impl Into<Rc<str>>, name: impl Into<Rc<str>>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    #[must_use]
    pub fn beside(&self, name: impl Into<Rc<str>>) -> Self {
        Self {
            namespace: Rc::clone(&self.namespace),
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
}

/// A DataSource that SSP wants, in the namespace for golden images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedSource {
    Pointer(String),
    /// It has its own image, if a cron imports one, and this architecture label.
    Own(Option<Architecture>),
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
    /// The DataSources in the namespace for golden images that belong to VM templates of the bundle.
    pub bundle_sources: BTreeMap<String, WantedSource>,
    /// The other DataSources, each of which points to another one, in the order in which SSP creates them.
    pub pointers: Vec<(String, String)>,
    /// The crons that SSP does not create, sorted by template and name.
    pub lost: Vec<LostCron>,
}

impl Wanted {
    /// `architectures` has the cluster's architectures in SSP's order, with the import off only the first one.
    pub fn new(
        templates: &[SspTemplate<'_>],
        architectures: &[Architecture],
        is_multi_arch: bool,
        golden_namespace: &Rc<str>,
    ) -> Self {
        let mut wanted = Self::default();
        let mut replaced = Vec::new();
        for (index, template) in templates.iter().enumerate() {
            let namespace = match template.namespace.as_str() {
                "" => Rc::clone(golden_namespace),
                namespace => namespace.into(),
            };
            for (source, name, architecture) in names(template, architectures, is_multi_arch) {
                let source = Key::new(Rc::clone(&namespace), source);
                let key = source.beside(name);
                let of_cdi = template.cdi_cron(&key, &source, architecture);
                let cron = Cron {
                    template: index,
                    verdict: examine_names(&of_cdi, &template.verdict),
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
        wanted.add_bundle_sources(architectures, is_multi_arch);
        if is_multi_arch {
            wanted.add_pointers(templates, architectures);
            wanted.drop_crons_of_pointers(golden_namespace);
        }
        wanted
            .lost
            .sort_by_cached_key(|LostCron { cron, .. }| (cron.template, cron.key.clone()));
        wanted
    }

    /// MIRRORS: getDataSourceInfos, getDataSourceInfosMultiArch.
    fn add_bundle_sources(&mut self, architectures: &[Architecture], is_multi_arch: bool) {
        for (source, of_source) in bundle::SOURCES {
            let Some(default) = first_common(architectures, of_source) else {
                continue;
            };
            let sources = &mut self.bundle_sources;
            if !is_multi_arch {
                sources.insert(source.to_owned(), WantedSource::Own(None));
                continue;
            }
            let pointer = WantedSource::Pointer(default.suffixed(source));
            sources.insert(source.to_owned(), pointer);
            for known in of_source
                .iter()
                .filter(|known| architectures.contains(known))
            {
                sources.insert(known.suffixed(source), WantedSource::Own(Some(*known)));
            }
        }
    }

    /// MIRRORS: addDataSourceReferenceForCrons, which compares names regardless of the namespace.
    fn add_pointers(&mut self, templates: &[SspTemplate<'_>], architectures: &[Architecture]) {
        let mut seen = BTreeSet::new();
        for template in templates {
            let name = template.spec.managed_data_source.as_str();
            if seen.contains(name) || self.bundle_sources.contains_key(name) {
                continue;
            }
            let annotated = template.architectures.as_deref().unwrap_or_default();
            if let Some(default) = first_common(architectures, annotated) {
                seen.insert(name);
                self.pointers
                    .push((name.to_owned(), default.suffixed(name)));
            }
        }
    }

    /// MIRRORS: getDataSourcesAndCrons, which omits the cron of a DataSource that is not updated automatically.
    fn drop_crons_of_pointers(&mut self, golden_namespace: &Rc<str>) {
        let of_bundle = self.bundle_sources.iter().filter_map(|(name, source)| {
            matches!(source, WantedSource::Pointer(_)).then_some(name)
        });
        for name in of_bundle.chain(self.pointers.iter().map(|(name, _)| name)) {
            let key = Key::new(Rc::clone(golden_namespace), name.as_str());
            let dropped = self.crons.remove(&key);
            self.lost
                .extend(dropped.map(|cron| LostCron { cron, to: None }));
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
) -> Vec<(String, String, Option<Architecture>)> {
    let managed = template.spec.managed_data_source.as_str();
    if let Some(annotated) = &template.architectures
        && is_multi_arch
    {
        return Architecture::ALL
            .into_iter()
            .filter(|known| annotated.contains(known) && architectures.contains(known))
            .map(|known| {
                (
                    known.suffixed(managed),
                    known.suffixed(template.name),
                    Some(known),
                )
            })
            .collect();
    }
    let source = bundle::source(managed)
        .filter(|_| is_multi_arch)
        .and_then(|of_source| first_common(architectures, of_source))
        .map_or_else(|| managed.to_owned(), |default| default.suffixed(managed));
    vec![(source, template.name.to_owned(), None)]
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
