//! The nodes of a request: listed once, when a rule first needs them, and reduced immediately.

use std::cell::{Cell, OnceCell};

use kube_objects::placement::Placement;
use operator_models::hco::node::{self, Census};

use crate::cluster::{Cluster, Permission, Resource, ServiceAccount, is_forbidden};

/// Why the nodes cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NodesError {
    /// The API server reports that the service account of the policy-server cannot do this with nodes.
    Forbidden {
        account: ServiceAccount,
        verb: &'static str,
    },
    /// The host returned an error instead of a list.
    Host(String),
    /// The host returned something that is not a list of nodes.
    List(String),
}

/// The nodes, counted for several placements.
pub(crate) struct Nodes<'a> {
    cluster: &'a dyn Cluster,
    account: Option<&'a ServiceAccount>,
    placements: Vec<&'a Placement>,
    counted: OnceCell<Result<Vec<Census>, NodesError>>,
    /// Whether a rule needed the nodes for a placement that is too long.
    lacked_by_length: Cell<bool>,
    /// Whether a rule needed the nodes to decide.
    is_needed: Cell<bool>,
}

/// The index of a placement that is counted; `None` if the placement is too long to be compared with each node.
pub(crate) type Slot = Option<usize>;

impl<'a> Nodes<'a> {
    /// Nodes that will be counted for these placements, except for those that are too long.
    pub(crate) fn new(
        cluster: &'a dyn Cluster,
        account: Option<&'a ServiceAccount>,
        placements: impl IntoIterator<Item = &'a Placement>,
    ) -> Self {
        let placements = placements.into_iter();
        Self {
            cluster,
            account,
            placements: placements.filter(|it| !it.is_too_long()).collect(),
            counted: OnceCell::new(),
            lacked_by_length: Cell::new(false),
            is_needed: Cell::new(false),
        }
    }

    /// The index of a placement. Look it up once, because a placement can be long.
    pub(crate) fn slot(&self, placement: &Placement) -> Slot {
        self.placements.iter().position(|known| *known == placement)
    }

    /// Notes that a rule needs the nodes for a placement to decide.
    pub(crate) fn need(&self, slot: Slot) {
        self.is_needed.set(true);
        if slot.is_none() {
            self.lacked_by_length.set(true);
        }
    }

    /// Lists the nodes if this did not happen before.
    pub(crate) fn list(&self) {
        self.counted.get_or_init(|| self.count());
    }

    /// Whether a rule needed the nodes to decide.
    pub(crate) fn is_needed(&self) -> bool {
        self.is_needed.get()
    }

    /// The nodes for a placement, if they were listed before.
    pub(crate) fn peek(&self, slot: Slot) -> Option<&Census> {
        self.counted.get()?.as_ref().ok()?.get(slot?)
    }

    /// Why the nodes cannot be read, if they were listed.
    pub(crate) fn error(&self) -> Option<&NodesError> {
        self.counted.get()?.as_ref().err()
    }

    /// Whether a rule needed the nodes for a placement that is too long to be compared with them.
    pub(crate) fn lacked_by_length(&self) -> bool {
        self.lacked_by_length.get()
    }

    /// The service account of the policy-server, if the settings name it.
    pub(crate) fn account(&self) -> Option<&ServiceAccount> {
        self.account
    }

    fn count(&self) -> Result<Vec<Census>, NodesError> {
        // Without the permission, the host never answers (nodes-unreadable.md). If the service account is known, the
        // permission is checked first.
        if let Some(account) = self.account {
            for verb in ["list", "watch"] {
                let permission = Permission {
                    verb,
                    resource: Resource::Nodes,
                    namespace: None,
                };
                if is_forbidden(self.cluster, account, &permission) {
                    let account = account.clone();
                    return Err(NodesError::Forbidden { account, verb });
                }
            }
        }
        let list = self.cluster.nodes().map_err(NodesError::Host)?;
        node::census(&list, &self.placements).map_err(|error| NodesError::List(error.to_string()))
    }
}
