//! The forecast: the objects that SSP, CDI, and KubeVirt create from a HyperConverged on the nodes of a cluster.

mod changes;
mod effects;
mod objects;
mod state;
mod wanted;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cdi::data_import_cron::Rejection;
use crate::cdi::data_source;
use crate::hco::golden_image::{accepted_images, golden_images, is_invalid};
use crate::hco::import::Import;
use crate::hco::jsonpatch::SspPatch;
use crate::ssp::architecture::{Architecture, architectures, unknown_architecture};
use crate::ssp::data_sources::Key;
use crate::ssp::template::ssp_templates;

pub use self::changes::{Changes, CronChanges, DataSourceChanges, Retarget, changes, lost_image};
pub use self::effects::{Conflict, ImportStop};
pub use self::objects::Objects;
pub use self::state::{Disk, State};
pub use crate::cdi::data_import_cron::ImageOrigin;
pub use crate::ssp::data_sources::{CreatedBy, Cron, DataSource};
pub use crate::ssp::template::{Given, SspTemplate};

/// Why the cluster does not change: who rejects the object, or what is not known.
#[derive(Debug)]
pub enum NoForecast<'a> {
    /// The nodes were not read, or cannot be read.
    NodesUnknown,
    NotDeployed,
    /// HCO rejects the HyperConverged, or fails to reconcile it.
    ByHco,
    /// A field of a template has a wrong type or an unknown contentType, so that the schema of HCO, or HCO, rejects the
    /// HyperConverged. The forecast is the one without this rejection.
    ///
    /// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/mutator/hyperConvergedMutator.go, which decodes the
    /// whole object.
    Mistyped(Box<Forecast<'a>>),
    /// SSP rejects this architecture of a node, whether the import is on or off.
    UnknownArchitecture(&'a str),
    /// SSP rejects the object, because the import is on and no node has an architecture.
    NoArchitecture,
    NameMissing,
}

/// Why SSP stops, or why the result is undetermined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// A DataSource is rejected: SSP creates no cron at all.
    DataSource,
    /// A cron is rejected: SSP creates the other crons, and does not delete crons that it no longer wants.
    DataImportCron,
    /// Two crons have the same name. SSP creates the first one, in a random order, and does not compare it with the
    /// second, because its cache has one entry for each name. SSP itself does not stop.
    ///
    /// MIRRORS: ssp-operator e918359d internal/common/resource.go, Reconcile; internal/common/cache.go, `VersionCache`.
    SameName,
}

#[derive(Debug)]
pub struct Forecast<'a> {
    pub import: Import,
    /// The architectures for which SSP creates VM templates and DataSources, in its order.
    pub architectures: Vec<Architecture>,
    pub golden_namespace: &'a Arc<str>,
    /// The templates that HCO passes to SSP, by name.
    pub templates: Vec<SspTemplate<'a>>,
    /// The crons that SSP wants, sorted by template and name.
    pub crons: Vec<Cron>,
    pub data_sources: BTreeMap<Key, DataSource>,
    /// The names of the DataSources that SSP creates for templates of the spec, in its order.
    pointers: Vec<Key>,
    /// The crons that do not exist because of another template, sorted by template and name.
    pub lost: Vec<Cron>,
    /// The names that several crons with different DataSources share.
    pub same_name: BTreeSet<Key>,
    pub stopped: Option<Stopped>,
    /// The templates that a jsonpatch annotation changes; `None` if it can change all. The forecast is that without the
    /// change.
    pub uncertain: Option<BTreeSet<String>>,
}

impl<'a> Forecast<'a> {
    /// The forecast for an object, or why there is none. Whether the object contradicts itself about the import
    /// depends on the object before the update, and is not checked here.
    pub fn new(given: &Given<'a>) -> Result<Self, NoForecast<'a>> {
        if is_rejected(given) {
            return Err(NoForecast::ByHco);
        }
        let images = golden_images(given.hco, given.common);
        let templates = ssp_templates(given, &images);
        if templates.iter().any(SspTemplate::is_mistyped) {
            return Err(NoForecast::Mistyped(Box::new(Self::of_accepted(given))));
        }
        let census = given.census;
        if let Some(unknown) = unknown_architecture(census) {
            return Err(NoForecast::UnknownArchitecture(unknown));
        }
        let is_multi_arch = ssp_patch(given, &templates).enables_import(given.import);
        if is_multi_arch && census.workload.is_empty() && census.control_plane.is_empty() {
            return Err(NoForecast::NoArchitecture);
        }
        if templates.iter().any(|template| template.name.is_empty()) {
            return Err(NoForecast::NameMissing);
        }
        Ok(Self::with_templates(given, templates))
    }

    /// The forecast as if HCO and SSP rejected nothing, to compare an object that they reject with another one.
    pub fn of_accepted(given: &Given<'a>) -> Self {
        let images = accepted_images(given.hco, given.common);
        let mut templates = ssp_templates(given, &images);
        templates.retain(|template| !template.name.is_empty());
        Self::with_templates(given, templates)
    }

    fn with_templates(given: &Given<'a>, templates: Vec<SspTemplate<'a>>) -> Self {
        let patch = ssp_patch(given, &templates);
        let is_multi_arch = patch.enables_import(given.import);
        let mut forecast = Self {
            import: is_multi_arch.into(),
            architectures: architectures(given.census, is_multi_arch),
            golden_namespace: given.golden_namespace,
            same_name: BTreeSet::new(),
            templates,
            crons: Vec::new(),
            data_sources: BTreeMap::new(),
            pointers: Vec::new(),
            lost: Vec::new(),
            stopped: None,
            uncertain: patch.uncertain,
        };
        forecast.add_wanted();
        forecast.same_name = same_names(&forecast.crons);
        forecast.complete_data_sources();
        forecast.stopped = forecast.find_stop();
        forecast
    }

    /// Adds the crons to the DataSources of SSP, and the DataSources that CDI creates.
    fn complete_data_sources(&mut self) {
        let mut sources = std::mem::take(&mut self.data_sources);
        for (key, source) in &mut sources {
            if source.points_to.is_none() {
                source.cron = self.crons.iter().position(|cron| cron.source == *key);
            }
            let cron = source.cron.and_then(|index| self.crons.get(index));
            if let Some(label) = cron
                .filter(|cron| cron.verdict.manages_source())
                .and_then(|cron| self.label_of(cron))
            {
                source.architecture_label = label;
            }
            let label_of_cron = cron.map(|cron| &*cron.key.name);
            source.rejected = data_source::examine_names(&key.name, label_of_cron);
        }
        // SSP's client does not send an object without a name, so SSP stops there.
        let reaches_crons = !sources
            .values()
            .any(|source| source.rejected == Some(Rejection::ManagedDataSourceMissing));
        if self.same_name.is_empty() {
            for (index, cron) in self.crons.iter().enumerate() {
                if reaches_crons
                    && cron.verdict.manages_source()
                    && !sources.contains_key(&cron.source)
                {
                    let source = DataSource {
                        creator: CreatedBy::Cdi,
                        architecture_label: self.label_of(cron).unwrap_or_default(),
                        cron: Some(index),
                        ..DataSource::default()
                    };
                    sources.insert(cron.source.clone(), source);
                }
            }
            self.fill(&mut sources, reaches_crons);
        }
        self.data_sources = sources;
    }

    /// Sets which DataSources have a disk. CDI follows one pointer.
    fn fill(&self, sources: &mut BTreeMap<Key, DataSource>, reaches_crons: bool) {
        let imports = |source: &DataSource| {
            let cron = source.cron.and_then(|index| self.crons.get(index));
            source.rejected.is_none() && cron.is_some_and(|cron| cron.verdict.imports())
        };
        let with_disk: BTreeSet<Key> = sources
            .iter()
            .filter(|(_, source)| reaches_crons && imports(source))
            .map(|(key, _)| key.clone())
            .collect();
        for (key, source) in sources {
            let has_disk = match &source.points_to {
                Some(target) => with_disk.contains(&key.beside(target.as_str())),
                None => with_disk.contains(key),
            };
            source.filled = Some(source.rejected.is_none() && has_disk);
        }
    }

    /// The architecture label that a cron sets on its DataSource.
    fn label_of(&self, cron: &Cron) -> Option<Cow<'static, str>> {
        if let Some(architecture) = cron.architecture {
            return Some(Cow::Borrowed(architecture.name()));
        }
        let template = self.templates.get(cron.template)?;
        template.architecture_label.clone().map(Cow::Owned)
    }

    fn find_stop(&self) -> Option<Stopped> {
        let is_rejected = |source: &DataSource| source.rejected.is_some();
        if self.data_sources.values().any(is_rejected) {
            Some(Stopped::DataSource)
        } else if self.crons.iter().any(|cron| cron.rejected().is_some()) {
            Some(Stopped::DataImportCron)
        } else {
            (!self.same_name.is_empty()).then_some(Stopped::SameName)
        }
    }

    /// The DataSources whose name, or whose target's name, is the managedDataSource of a template, with or without the
    /// suffix of an architecture.
    pub fn of_templates(&self) -> impl Iterator<Item = (&Key, &DataSource)> {
        let managed: BTreeSet<&str> = self
            .templates
            .iter()
            .map(|template| template.spec.managed_data_source.as_str())
            .collect();
        self.data_sources.iter().filter(move |(key, source)| {
            [Some(&*key.name), source.points_to.as_deref()]
                .into_iter()
                .flatten()
                .flat_map(|name| unsuffixed(name).chain([name]))
                .any(|name| managed.contains(name))
        })
    }

    pub fn managed_data_source(&self, template: &str) -> Option<&str> {
        self.templates
            .iter()
            .find(|known| known.name == template)
            .map(|template| template.spec.managed_data_source.as_str())
    }

    /// The first matching cron of each template of the spec, with the index of its template. The crons of a template
    /// for several architectures follow each other. Templates that HCO ships are left out, because users cannot correct
    /// them.
    pub fn first_of_templates<'f, R>(
        &'f self,
        of: impl Fn(&'f Cron) -> Option<R>,
    ) -> impl Iterator<Item = (&'f SspTemplate<'a>, usize, R)> {
        let mut last = None;
        self.crons.iter().filter_map(move |cron| {
            let wanted = of(cron)?;
            let is_first = last.replace(cron.template) != Some(cron.template);
            let template = self.templates.get(cron.template).filter(|_| is_first)?;
            Some((template, template.index?, wanted))
        })
    }

    /// Whether SSP stops because `commonBootImageNamespace` is not the name of a namespace.
    pub fn common_namespace_rejected(&self) -> bool {
        let is_added = |cron: &Cron| {
            let template = self.templates.get(cron.template);
            template.is_some_and(|template| template.index.is_none())
        };
        self.crons
            .iter()
            .any(|cron| is_added(cron) && cron.rejected() == Some(&Rejection::NamespaceInvalid))
    }

    /// The names of the templates with at least one cron that does not exist because of another template.
    pub fn lost_templates(&self) -> BTreeSet<&str> {
        self.lost
            .iter()
            .filter_map(|lost| Some(self.templates.get(lost.template)?.name))
            .collect()
    }

    /// The DataSource of the bundle that points to this one, which is then the DataSource for the default architecture.
    fn default_of(&self, key: &Key) -> Option<&Key> {
        unsuffixed(&key.name).find_map(|name| {
            let (pointer, source) = self.data_sources.get_key_value(&key.beside(name))?;
            let is_default = source.creator == CreatedBy::Bundle
                && source.points_to.as_deref() == Some(&*key.name);
            is_default.then_some(pointer)
        })
    }

    pub fn source(&self, name: &str) -> Option<&DataSource> {
        let key = Key::new(Arc::clone(self.golden_namespace), name);
        self.data_sources.get(&key)
    }
}

/// The name of a DataSource without the suffix of an architecture, if it has one.
pub fn unsuffixed(name: &str) -> impl Iterator<Item = &str> {
    Architecture::ALL
        .into_iter()
        .filter_map(move |architecture| name.strip_suffix(architecture.name())?.strip_suffix('-'))
}

/// Whether HCO's webhooks reject an object, or HCO fails to reconcile it, apart from wrong types and contradictions about
/// the import.
///
/// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/validator/validator.go, validateHyperConverged, and validateAffinity
/// for the affinity of the workloads and of the infrastructure; controllers/handlers/golden-images/golden_images.go,
/// getDicMapFromCr.
fn is_rejected(given: &Given<'_>) -> bool {
    let hco = given.hco;
    let mut names = BTreeSet::new();
    hco.import.unreadable_v1_only(given.version).is_some()
        || !hco.placement.errors().is_empty()
        || !hco.infra.errors().is_empty()
        || hco.templates.iter().any(|template| {
            is_invalid(template, hco, given.common) || !names.insert(template.name.as_str())
        })
}

fn ssp_patch(given: &Given<'_>, templates: &[SspTemplate<'_>]) -> SspPatch {
    let names = templates.iter().map(|template| template.name);
    SspPatch::new(given.hco.ssp_patch.as_deref(), names)
}

fn same_names(crons: &[Cron]) -> BTreeSet<Key> {
    let mut names = BTreeSet::new();
    crons
        .iter()
        .map(|cron| &cron.key)
        .filter(|key| !names.insert(*key))
        .cloned()
        .collect()
}
