//! Reads the objects that are needed to evaluate a VirtualMachine: HyperConverged, KubeVirt, DataSources, and
//! preferences. It doesn't list nodes.

use std::collections::{BTreeMap, BTreeSet};

use kube_objects::json::{Json, WrongType};
use kube_objects::name::{is_dns1123_label, is_dns1123_subdomain};
use operator_models::forecast::unsuffixed;
use operator_models::hco::node_info::Observed;
use operator_models::kubevirt::installation::KubeVirt;
use operator_models::kubevirt::preference::{Preference, PreferenceName};
use operator_models::kubevirt::virtual_machine::{
    BootSource, InferenceError, Lookup, SourceRef, VirtualMachine,
};
use operator_models::ssp::architecture::Architecture;

use crate::cluster::{self, Cluster, Resource, ServiceAccount, Unreadable, is_forbidden};

/// The cluster of a VirtualMachine.
#[derive(Debug, Default)]
pub(crate) struct Context {
    /// Whether the VMs come from a file. In a cluster, KubeVirt has inferred and compared their preferences, and has
    /// rejected what it does not accept.
    pub(crate) is_in_file: bool,
    /// The architectures of the workload nodes; `None` if they are unknown.
    pub(crate) workload: Option<BTreeSet<String>>,
    /// The architectures of the nodes on which virt-api can run; `None` if they are unknown.
    pub(crate) virt_api: Option<BTreeSet<String>>,
    pub(crate) kubevirt: KubeVirt,
    /// The first problem. A DataSource that cannot be read is not reported, unless a permission is missing.
    pub(crate) unreadable: Option<Unreadable>,
    /// The DataSources that were read, by namespace and name; `None` if they do not exist.
    data_sources: BTreeMap<(String, String), Option<BootSource>>,
    /// The preferences that were read; `None` if they do not exist.
    preferences: BTreeMap<PreferenceName, Option<Preference>>,
}

impl Context {
    /// Reads HyperConverged, KubeVirt, and the DataSources of these VMs.
    pub(crate) fn read(
        vms: &[&VirtualMachine],
        is_in_file: bool,
        cluster: &dyn Cluster,
        account: Option<&ServiceAccount>,
    ) -> Self {
        let mut reader = Reader {
            cluster,
            account,
            context: Self {
                is_in_file,
                ..Self::default()
            },
        };
        if let Some(observed) = reader.list(Resource::HyperConvergeds, Observed::read) {
            reader.context.workload = observed.workload;
            reader.context.virt_api = observed.virt_api;
        }
        let kubevirt = reader.list(Resource::KubeVirts, KubeVirt::only);
        reader.context.kubevirt = kubevirt.unwrap_or_default();
        for vm in vms {
            reader.read_data_sources(vm);
        }
        reader.context
    }

    /// A DataSource; `None` if it does not exist, or was not read.
    pub(crate) fn data_source(&self, namespace: &str, name: &str) -> Option<BootSource> {
        let key = (namespace.to_owned(), name.to_owned());
        self.data_sources.get(&key)?.clone()
    }

    /// Why KubeVirt will reject a VM whose preference it cannot infer.
    pub(crate) fn inference_error(&self, vm: &VirtualMachine) -> Option<InferenceError> {
        let is_accepted = |error: &InferenceError| {
            matches!(error, InferenceError::Snapshot(_)) && self.kubevirt.infers_from_snapshots()
        };
        let error = vm.preference_name(&mut { self }).err()?;
        (self.is_in_file && !is_accepted(&error)).then_some(error)
    }

    /// The namespace and name of the DataSource with the same image for another architecture, if it exists. SSP and CDI
    /// add the architecture to the name.
    pub(crate) fn sibling(
        &self,
        source: &SourceRef,
        architecture: Architecture,
    ) -> Option<(String, String)> {
        let found = self.data_source(&source.namespace, &source.name)?;
        let (namespace, name) = found
            .points_to
            .unwrap_or_else(|| (source.namespace.clone(), source.name.clone()));
        let base = unsuffixed(&name).next().unwrap_or(&name);
        let name = architecture.suffixed(base);
        Some((namespace, name))
    }
}

impl Lookup for &Context {
    fn data_source(&mut self, namespace: &str, name: &str) -> Option<BootSource> {
        Context::data_source(self, namespace, name)
    }

    fn preference(&mut self, name: &PreferenceName) -> Option<Preference> {
        self.preferences.get(name)?.clone()
    }
}

struct Reader<'a> {
    cluster: &'a dyn Cluster,
    account: Option<&'a ServiceAccount>,
    context: Context,
}

impl Lookup for Reader<'_> {
    fn data_source(&mut self, namespace: &str, name: &str) -> Option<BootSource> {
        /// The maximum number of DataSources that one request reads.
        ///
        /// DIVERGES: KubeVirt has no limit.
        const LIMIT: usize = 16;
        let key = (namespace.to_owned(), name.to_owned());
        if let Some(known) = self.context.data_sources.get(&key) {
            return known.clone();
        }
        // The host puts both into a path.
        let is_name = is_dns1123_label(namespace) && is_dns1123_subdomain(name);
        if !is_name || self.context.data_sources.len() >= LIMIT {
            return None;
        }
        let text = self
            .can_get_data_sources(namespace)
            .then(|| self.cluster.data_source(namespace, name));
        let read = text
            .flatten()
            .and_then(|text| BootSource::read(Json::parse(&text).ok()?).ok());
        self.context.data_sources.insert(key, read.clone());
        read
    }

    fn preference(&mut self, name: &PreferenceName) -> Option<Preference> {
        if let Some(known) = self.context.preferences.get(name) {
            return known.clone();
        }
        let namespace = name.namespace.as_deref();
        // The host puts both into a path.
        let is_name = namespace.is_none_or(is_dns1123_label) && is_dns1123_subdomain(&name.name);
        if !self.context.is_in_file || !is_name {
            return None;
        }
        let text = self.cluster.preference(name);
        let read = text.and_then(|text| Preference::read(Json::parse(&text).ok()?).ok());
        let preferences = &mut self.context.preferences;
        preferences.insert(name.clone(), read.clone());
        read
    }
}

impl Reader<'_> {
    /// Reads the DataSources that KubeVirt uses to choose the architecture, the DataSource of the boot disk, and its
    /// sibling for the architecture of the VM.
    fn read_data_sources(&mut self, vm: &VirtualMachine) {
        let kubevirt = self.context.kubevirt.clone();
        let (architecture, _) = vm.resolve(&kubevirt, self);
        // The preference of a VM that states its architecture can require another one.
        vm.preference(self);
        let Some(boot) = vm.boot_data_source() else {
            return;
        };
        if let Some(label) = boot.label(self)
            && let Some(architecture) = Architecture::parse(&architecture)
            && label != architecture.name()
            && let Some((namespace, name)) = self.context.sibling(boot, architecture)
        {
            self.data_source(&namespace, &name);
        }
    }

    fn list<T>(
        &mut self,
        resource: Resource,
        read: impl for<'l> FnOnce(Json<'l>) -> Result<T, WrongType<'l>>,
    ) -> Option<T> {
        let read = cluster::read(self.cluster, self.account, resource, |list| {
            let list = Json::parse(list).map_err(|error| error.to_string())?;
            read(list).map_err(|error| error.to_string())
        });
        read.map_err(|error| self.report(error)).ok()
    }

    fn can_get_data_sources(&mut self, namespace: &str) -> bool {
        let (verb, resource) = ("get", Resource::DataSources);
        let is_denied = |account: &&ServiceAccount| {
            is_forbidden(self.cluster, account, verb, resource, Some(namespace))
        };
        let forbidden = self.account.filter(is_denied);
        if let Some(account) = forbidden {
            let account = account.clone();
            self.report(Unreadable::Forbidden {
                resource,
                account,
                verb,
            });
        }
        forbidden.is_none()
    }

    fn report(&mut self, unreadable: Unreadable) {
        self.context.unreadable.get_or_insert(unreadable);
    }
}
