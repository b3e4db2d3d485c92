//! Finds the DataImportCrons and DataSources that SSP wants. SSP stores its crons by the DataSource that they manage, so if two
//! crons manage one DataSource, the later one silently replaces the other.
//!
//! MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, getDataSourcesAndCrons.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use super::{CreatedBy, Cron, DataSource, Forecast, SspTemplate};
use crate::hco::import::Import;
use crate::ssp::architecture::Architecture;
use crate::ssp::bundle;
use crate::ssp::data_sources::Key;

impl Forecast<'_> {
    /// Adds the crons and the DataSources that SSP wants, and the crons that it does not create because of other templates.
    pub(super) fn add_wanted(&mut self) {
        let mut crons = self.crons_by_source();
        let golden = Key::new(Arc::clone(self.golden_namespace), "");
        self.add_bundle_sources(&golden);
        if self.import == Import::Enabled {
            self.add_pointers(&golden);
            // MIRRORS: getDataSourcesAndCrons, which omits the cron of a DataSource that is not updated automatically.
            let sources = self.data_sources.iter();
            for (key, _) in sources.filter(|(_, source)| source.points_to.is_some()) {
                self.lost.extend(crons.remove(key));
            }
        }
        // The crons of one template have different names, unless their name is invalid.
        self.crons = crons.into_values().collect();
        self.crons
            .sort_by_cached_key(|cron| (cron.template, cron.key.clone(), cron.source.clone()));
        self.lost
            .sort_by_cached_key(|cron| (cron.template, cron.key.clone()));
    }

    /// The crons by the DataSources that they manage. Adds the replaced ones to the lost crons.
    fn crons_by_source(&mut self) -> BTreeMap<Key, Cron> {
        let mut crons: BTreeMap<Key, Cron> = BTreeMap::new();
        for (index, template) in self.templates.iter().enumerate() {
            let namespace = match template.namespace.as_str() {
                "" => Arc::clone(self.golden_namespace),
                namespace => namespace.into(),
            };
            for ([source, name], architecture) in self.names(template) {
                let source = Key::new(Arc::clone(&namespace), source);
                let key = source.beside(name);
                let cron = Cron {
                    template: index,
                    verdict: template.examine(&key, &source, architecture),
                    key,
                    architecture,
                    source: source.clone(),
                    replaced_by: None,
                };
                self.lost.extend(crons.insert(source, cron));
            }
        }
        for lost in &mut self.lost {
            lost.replaced_by = crons.get(&lost.source).map(|cron| cron.template);
        }
        crons
    }

    /// The crons of a template: the DataSource that each manages, its own name, and its architecture.
    ///
    /// MIRRORS: getCronsByDataSource, getCronsByDataSourceMultiArch, addToCronMap.
    fn names(&self, template: &SspTemplate<'_>) -> Vec<([String; 2], Option<Architecture>)> {
        let managed = template.spec.managed_data_source.as_str();
        let is_multi_arch = self.import == Import::Enabled;
        if let Some(annotated) = &template.architectures
            && is_multi_arch
        {
            return Architecture::ALL
                .into_iter()
                .filter(|known| annotated.contains(known) && self.architectures.contains(known))
                .map(|known| {
                    let names = [managed, template.name].map(|name| known.suffixed(name));
                    (names, Some(known))
                })
                .collect();
        }
        let source = bundle::source(managed)
            .filter(|_| is_multi_arch)
            .and_then(|of_source| first_common(&self.architectures, of_source))
            .map_or_else(|| managed.to_owned(), |default| default.suffixed(managed));
        vec![([source, template.name.to_owned()], None)]
    }

    /// MIRRORS: getDataSourceInfos, getDataSourceInfosMultiArch.
    fn add_bundle_sources(&mut self, golden: &Key) {
        for (source, of_source) in bundle::SOURCES {
            let Some(default) = first_common(&self.architectures, of_source) else {
                continue;
            };
            let key = golden.beside(source);
            let sources = &mut self.data_sources;
            if self.import == Import::Disabled {
                sources.insert(key, DataSource::default());
                continue;
            }
            let pointer = DataSource::pointer(CreatedBy::Bundle, default.suffixed(source));
            sources.insert(key, pointer);
            for known in of_source
                .iter()
                .filter(|known| self.architectures.contains(known))
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
    fn add_pointers(&mut self, golden: &Key) {
        for template in &self.templates {
            let annotated = template.architectures.as_deref().unwrap_or_default();
            let Some(default) = first_common(&self.architectures, annotated) else {
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
