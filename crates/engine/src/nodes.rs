//! The nodes of a cluster, counted for the placements of a request.

use kube_objects::placement::Placement;
use operator_models::hco::node::{self, Census};
use operator_models::hco::node_info::NodeInfo;

use crate::cluster::{self, Cluster, Resource, ServiceAccount, Unreadable};

#[derive(Debug)]
pub(crate) struct Nodes<'a> {
    /// HCO's status, if it replaces the list. Then the numbers and the labels of the nodes are unknown.
    status: Option<&'a NodeInfo>,
    counted: Vec<(&'a Placement, Census)>,
}

impl<'a> Nodes<'a> {
    pub(crate) fn read(
        cluster: &dyn Cluster,
        account: Option<&ServiceAccount>,
        placements: &[&'a Placement],
    ) -> Result<Self, Unreadable> {
        cluster::read(cluster, account, Resource::Nodes, |list| {
            Self::parse(list, placements)
        })
    }

    pub(crate) fn parse(list: &[u8], placements: &[&'a Placement]) -> Result<Self, String> {
        let censuses = node::census(list, placements)?;
        Ok(Self {
            status: None,
            counted: placements.iter().copied().zip(censuses).collect(),
        })
    }

    /// The nodes that HCO has read for this placement.
    pub(crate) fn from_status(info: &'a NodeInfo, placement: &'a Placement) -> Self {
        let workload = info.workload.iter().map(|name| (name.clone(), 1));
        let census = Census {
            workload: workload.collect(),
            control_plane: info.control_plane.iter().cloned().collect(),
        };
        Self {
            status: Some(info),
            counted: vec![(placement, census)],
        }
    }

    pub(crate) fn census(&self, placement: &Placement) -> Option<&Census> {
        let (_, census) = self.counted.iter().find(|(known, _)| *known == placement)?;
        Some(census)
    }

    pub(crate) fn are_listed(&self) -> bool {
        self.status.is_none()
    }

    pub(crate) fn source(&self) -> &'static str {
        if self.are_listed() { "list" } else { "status" }
    }

    /// The architecture that HCO chooses as the default for these nodes.
    pub(crate) fn default_architecture<'c>(&'c self, census: &'c Census) -> Option<&'c str> {
        let counted = census.default_architecture();
        let Some(info) = self.status else {
            return counted;
        };
        // Without the numbers of the nodes, the most common architecture is not known.
        let is_certain = |default: &&str| {
            let first = census.control_plane.first();
            census.workload.len() == 1 || first.is_some_and(|first| first == default)
        };
        let stated = info.default_architecture.as_deref();
        stated.or_else(|| counted.filter(is_certain))
    }
}
