//! What the policy reads of a cluster to judge a VirtualMachine: HyperConverged, KubeVirt, and DataSources. It lists no
//! nodes.

use std::cell::RefCell;

use kube_objects::json::{Json, WrongType};
use kube_objects::name::{is_dns1123_label, is_dns1123_subdomain};
use kube_objects::sorted::Set;
use operator_models::hco::node_info::workload_architectures;
use operator_models::kubevirt::installation::KubeVirt;
use operator_models::kubevirt::virtual_machine::DataSource;

use crate::cluster::{Cluster, Permission, Resource, ServiceAccount, is_forbidden};

/// Reads a list.
type Read<'r> = dyn for<'l> FnMut(Json<'l>) -> Result<(), WrongType<'l>> + 'r;

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
    /// The DataSources that were asked for, with namespace and name: a few.
    data_sources: RefCell<Vec<(String, String, Option<DataSource>)>>,
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
        };
        let mut workload = None;
        context.list(Resource::HyperConvergeds, &mut |list| {
            workload = workload_architectures(list)?;
            Ok(())
        });
        let mut kubevirt = KubeVirt::default();
        context.list(Resource::KubeVirts, &mut |list| {
            kubevirt = KubeVirt::only(list)?;
            Ok(())
        });
        (context.workload, context.kubevirt) = (workload, kubevirt);
        context
    }

    /// The first thing that cannot be read. A DataSource that cannot be read is not reported, unless a permission is missing.
    pub(crate) fn unreadable(&self) -> Option<Unreadable> {
        self.unreadable.borrow().clone()
    }

    /// The service account of the policy-server, if the settings name it.
    pub(crate) fn account(&self) -> Option<&'a ServiceAccount> {
        self.account
    }

    /// A DataSource; `None` if it does not exist or cannot be read.
    pub(crate) fn data_source(&self, namespace: &str, name: &str) -> Option<DataSource> {
        /// The most DataSources that one request asks for.
        ///
        /// DIVERGES: KubeVirt has no limit.
        const LIMIT: usize = 16;
        let mut known = self.data_sources.borrow_mut();
        let mut same = known
            .iter()
            .filter(|(of, its, _)| of == namespace && its == name);
        if let Some((.., read)) = same.next() {
            return read.clone();
        }
        // The host puts both into a path.
        let is_name = is_dns1123_label(namespace) && is_dns1123_subdomain(name);
        if !is_name || known.len() >= LIMIT {
            return None;
        }
        let read = self.ask(namespace, name);
        known.push((namespace.to_owned(), name.to_owned(), read.clone()));
        read
    }

    fn ask(&self, namespace: &str, name: &str) -> Option<DataSource> {
        if !self.has_permission("get", Resource::DataSources, Some(namespace)) {
            return None;
        }
        let text = self.cluster.data_source(namespace, name)?;
        DataSource::read(Json::parse(&text).ok()?).ok()
    }

    /// Lists all objects of a kind.
    #[inline(never)]
    fn list(&self, resource: Resource, read: &mut Read<'_>) {
        // Without the permission, the host never answers. If the service account is known, the permission is checked first.
        for verb in ["list", "watch"] {
            if !self.has_permission(verb, resource, None) {
                return;
            }
        }
        let read = self.cluster.list(resource).and_then(|list| {
            let list = Json::parse(&list).map_err(|error| error.to_string())?;
            read(list).map_err(|error| error.to_string())
        });
        if let Err(error) = read {
            self.report(resource, Reason::Error(error));
        }
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
