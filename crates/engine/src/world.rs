//! Everything that is read for a request about a HyperConverged. For a VirtualMachine, see [`Context`]. Nothing else calls
//! the host.
//!
//! [`Context`]: crate::context::Context

use kube_objects::placement::Placement;
use operator_models::forecast::Objects;
use operator_models::hco::node::Census;

use crate::cluster::Host;
use crate::comparison::Comparison;
use crate::images::Images;
use crate::needs::Needs;
use crate::nodes::{Nodes, NodesError};
use crate::settings::Settings;
use crate::stated::Stated;

/// The data that was read for a request about a HyperConverged.
#[derive(Debug)]
pub(crate) struct World<'a> {
    /// The nodes; `None` if they are not needed.
    pub(crate) nodes: Option<Result<Nodes<'a>, NodesError>>,
    /// The nodes before the change, if [`Comparison`] has them.
    nodes_before: Option<Nodes<'a>>,
    /// The existing objects, which replace the forecast for the old object.
    pub(crate) objects: Option<&'a Objects<'a>>,
    pub(crate) images: Images,
    /// Whether rules may use the nodes. A report shows them even if no rule needs them.
    pub(crate) is_compared: bool,
    /// Whether a rule could deny the object because of the nodes.
    pub(crate) could_nodes_deny: bool,
}

impl<'a> World<'a> {
    /// Reads the nodes, then the images for their architectures.
    pub(crate) fn read(
        needs: &Needs<'a>,
        new: &Stated<'a>,
        settings: &Settings,
        comparison: Option<&'a Comparison<'a>>,
        cluster: &dyn Host,
    ) -> Self {
        let account = settings.service_account.as_ref();
        let nodes = needs.reads_nodes().then(|| match needs.node_info {
            Some(info) => Ok(Nodes::from_status(info, &new.hco.placement)),
            None => Nodes::read(cluster, account, &needs.placements),
        });
        let nodes_before = comparison.and_then(|comparison| comparison.nodes_before);
        let nodes_before =
            nodes_before.and_then(|list| Nodes::parse(list.as_bytes(), &needs.placements).ok());
        let mut world = Self {
            nodes,
            nodes_before,
            objects: comparison.map(|comparison| &comparison.objects),
            images: Images::NotWanted,
            is_compared: needs.nodes,
            could_nodes_deny: needs.could_nodes_deny,
        };
        world.images = Images::read(new, &world, settings, cluster);
        world
    }

    /// The nodes for a placement that a fix proposes.
    pub(crate) fn census_for(&self, placement: &Placement) -> Option<&Census> {
        self.nodes.as_ref()?.as_ref().ok()?.census(placement)
    }

    /// The nodes for the placement of an object.
    pub(crate) fn census(&self, object: &Stated<'_>) -> Option<&Census> {
        let nodes = match &self.nodes_before {
            Some(before) if object.is_before => before,
            _ => self.nodes.as_ref()?.as_ref().ok()?,
        };
        nodes.census(&object.hco.placement)
    }
}
