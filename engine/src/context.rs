//! What the policy reads of a cluster to judge a VirtualMachine: HyperConverged, KubeVirt, and DataSources. It lists no
//! nodes.

use std::cell::{Cell, RefCell};

use kubernetes::json::{Json, WrongType};
use kubernetes::name::{is_dns1123_label, is_dns1123_subdomain};
use kubernetes::sorted::{Map, Set};
use operators::hco::node_info::workload_architectures;
use operators::kubevirt::installation::KubeVirt;
use operators::kubevirt::virtual_machine::DataSource;

use crate::cluster::{Cluster, Permission, Resource, ServiceAccount, is_forbidden};

/// Why something cannot be read.
#[derive(Debug, Clone)]
pub(crate) struct Unreadable {
    pub(crate) resource: Resource,
    pub(crate) reason: Reason,
}

/// The reason why something cannot be read.
#[derive(Debug, Clone)]
pub(crate) enum Reason {
    /// The API server reports that the service account of the policy-server does not have this permission.
    Forbidden(&'static str),
    /// The host returned an error, or something else than a list.
    Error(String),
}

/// The cluster of a VirtualMachine.
pub(crate) struct Context<'a> {
    cluster: &'a dyn Cluster,
    account: Option<&'a ServiceAccount>,
    /// The architectures of the workload nodes; `None` if they are unknown.
    pub(crate) workload: Option<Set<String>>,
    pub(crate) kubevirt: KubeVirt,
    /// The first problem.
    unreadable: RefCell<Option<Unreadable>>,
    /// The DataSources that were asked for.
    data_sources: RefCell<Map<(String, String), Option<DataSource>>>,
    /// The namespaces with an answer to whether the DataSources can be read.
    namespaces: RefCell<Map<String, bool>>,
    count: Cell<usize>,
}

impl<'a> Context<'a> {
    /// Reads HyperConverged and KubeVirt.
    pub(crate) fn read(cluster: &'a dyn Cluster, account: Option<&'a ServiceAccount>) -> Self {
        let mut context = Self {
            cluster,
            account,
            workload: None,
            kubevirt: KubeVirt::default(),
            unreadable: RefCell::default(),
            data_sources: RefCell::default(),
            namespaces: RefCell::default(),
            count: Cell::new(0),
        };
        let workload = context.list(Resource::HyperConvergeds, workload_architectures);
        let kubevirt = context.list(Resource::KubeVirts, KubeVirt::only);
        context.workload = workload.flatten();
        context.kubevirt = kubevirt.unwrap_or_default();
        context
    }

    /// The first thing that cannot be read. A DataSource that cannot be had is passed over, unless a permission is missing.
    pub(crate) fn unreadable(&self) -> Option<Unreadable> {
        self.unreadable.borrow().clone()
    }

    /// The service account of the policy-server, if the settings name it.
    pub(crate) fn account(&self) -> Option<&'a ServiceAccount> {
        self.account
    }

    /// A DataSource; `None` if it cannot be had.
    pub(crate) fn data_source(&self, namespace: &str, name: &str) -> Option<DataSource> {
        let key = (namespace.to_owned(), name.to_owned());
        let known = self.data_sources.borrow().get(&key).cloned();
        known.unwrap_or_else(|| {
            let read = self.ask(namespace, name);
            self.data_sources.borrow_mut().insert(key, read.clone());
            read
        })
    }

    /// DIVERGES: KubeVirt has no limit.
    fn ask(&self, namespace: &str, name: &str) -> Option<DataSource> {
        /// The most DataSources that one request asks for.
        const LIMIT: usize = 16;
        // The host puts both into a path.
        let is_name = is_dns1123_label(namespace) && is_dns1123_subdomain(name);
        if !is_name || self.count.get() >= LIMIT || !self.can_get(namespace) {
            return None;
        }
        self.count.set(self.count.get() + 1);
        let text = self.cluster.data_source(namespace, name)?;
        DataSource::read(Json::parse(&text).ok()?).ok()
    }

    fn can_get(&self, namespace: &str) -> bool {
        let known = self.namespaces.borrow().get(namespace).copied();
        known.unwrap_or_else(|| {
            let can = self.has_permission("get", Resource::DataSources, Some(namespace));
            let mut namespaces = self.namespaces.borrow_mut();
            namespaces.insert(namespace.to_owned(), can);
            can
        })
    }

    fn list<T>(
        &self,
        resource: Resource,
        read: impl FnOnce(Json<'_>) -> Result<T, WrongType<'_>>,
    ) -> Option<T> {
        // Without the permission, the host never answers. If the service account is known, the permission is checked first.
        if !["list", "watch"]
            .into_iter()
            .all(|verb| self.has_permission(verb, resource, None))
        {
            return None;
        }
        let read = self.cluster.list(resource).and_then(|list| {
            let list = Json::parse(&list).map_err(|error| error.to_string())?;
            read(list).map_err(|error| error.to_string())
        });
        read.map_err(|error| self.report(resource, Reason::Error(error)))
            .ok()
    }

    fn has_permission(
        &self,
        verb: &'static str,
        resource: Resource,
        namespace: Option<&str>,
    ) -> bool {
        let permission = Permission {
            verb,
            resource,
            namespace,
        };
        let is_forbidden = self
            .account
            .is_some_and(|account| is_forbidden(self.cluster, account, &permission));
        if is_forbidden {
            self.report(resource, Reason::Forbidden(verb));
        }
        !is_forbidden
    }

    fn report(&self, resource: Resource, reason: Reason) {
        let mut unreadable = self.unreadable.borrow_mut();
        unreadable.get_or_insert(Unreadable { resource, reason });
    }
}
