//! The nodes of a cluster, counted for the placements of a request.

use kube_objects::placement::Placement;
use operator_models::hco::node::{self, Census};

use crate::cluster::{self, Cluster, Resource, ServiceAccount, Unreadable};

#[derive(Debug)]
pub(crate) struct Nodes<'a> {
    /// Whether they come from a list. If HCO's status replaces it, the numbers and the labels of the nodes are unknown.
    are_listed: bool,
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
            are_listed: true,
            counted: placements.iter().copied().zip(censuses).collect(),
        })
    }

    /// The nodes that HCO has read for this placement.
    pub(crate) fn from_status(census: Census, placement: &'a Placement) -> Self {
        Self {
            are_listed: false,
            counted: vec![(placement, census)],
        }
    }

    pub(crate) fn census(&self, placement: &Placement) -> Option<&Census> {
        let (_, census) = self.counted.iter().find(|(known, _)| *known == placement)?;
        Some(census)
    }

    pub(crate) fn are_listed(&self) -> bool {
        self.are_listed
    }

    pub(crate) fn source(&self) -> &'static str {
        if self.are_listed() { "list" } else { "status" }
    }

    /// The architecture that HCO chooses as the default for these nodes.
    pub(crate) fn default_architecture<'c>(&'c self, census: &'c Census) -> Option<&'c str> {
        let counted = census.default_architecture();
        // Without the numbers of the nodes, the most common architecture is not known.
        let is_certain = |default: &&str| {
            let first = census.control_plane.first();
            self.are_listed
                || census.workload.len() == 1
                || first.is_some_and(|first| first == default)
        };
        let stated = census.stated_default.as_deref();
        stated.or_else(|| counted.filter(is_certain))
    }
}
