//! The nodes of a cluster, counted for the placements of a request.

use kube_objects::placement::Placement;
use operator_models::hco::node::{self, Census};
use operator_models::hco::node_info::NodeInfo;
use strum::IntoStaticStr;

use crate::cluster::{self, Cluster, Resource, ServiceAccount, Unreadable};

#[derive(Debug)]
pub(crate) struct Nodes<'a> {
    pub(crate) source: NodesSource,
    counted: Vec<(&'a Placement, Census)>,
}

#[derive(Debug, Clone, IntoStaticStr)]
#[strum(serialize_all = "lowercase", const_into_str)]
pub(crate) enum NodesSource {
    /// The architectures that HCO has read from the nodes and written into its status. The numbers of nodes are
    /// unknown. The default architecture is known only if HCO writes it.
    Status {
        default_architecture: Option<String>,
    },
    List,
}

impl NodesSource {
    /// The architecture that HCO chooses as the default for these nodes.
    pub(crate) fn default_architecture<'c>(&'c self, census: &'c Census) -> Option<&'c str> {
        match self {
            Self::List => census.default_architecture(),
            Self::Status {
                default_architecture: Some(default),
            } => Some(default),
            // Without the numbers of the nodes, the most common architecture is not known.
            Self::Status { .. } => census.default_architecture().filter(|default| {
                let first = census.control_plane.first();
                census.workload.len() == 1 || first.is_some_and(|first| first == default)
            }),
        }
    }
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
            source: NodesSource::List,
            counted: placements.iter().copied().zip(censuses).collect(),
        })
    }

    /// The nodes that HCO has read for this placement.
    pub(crate) fn from_status(info: &NodeInfo, placement: &'a Placement) -> Self {
        let workload = info.workload.iter().map(|name| (name.clone(), 1));
        let census = Census {
            workload: workload.collect(),
            control_plane: info.control_plane.iter().cloned().collect(),
        };
        Self {
            source: NodesSource::Status {
                default_architecture: info.default_architecture.clone(),
            },
            counted: vec![(placement, census)],
        }
    }

    pub(crate) fn census(&self, placement: &Placement) -> Option<&Census> {
        let (_, census) = self.counted.iter().find(|(known, _)| *known == placement)?;
        Some(census)
    }
}
