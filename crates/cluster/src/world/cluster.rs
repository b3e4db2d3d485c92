//! Reads the state of a cluster.

use anyhow::{Error, Result};
use serde_json::Value;

use super::{AnyList, Gap, Reader, World, hyperconverged, labels};
use crate::client::{Cluster, ClusterError, Connection};
use crate::field::{name, namespace, text};
use crate::foreign::one_line;
use crate::notes::Notes;

impl World {
    /// Reads a cluster, and connects to it first unless there is a connection. It fails if the nodes or the
    /// HyperConverged cannot be read, because a comparison needs both. Other kinds that cannot be read are recorded. It
    /// reads the labels of nodes that matter to the HyperConverged and to this object. For `check` and `fix`, it
    /// only connects.
    pub fn of_cluster(
        cluster: Option<Cluster>,
        connection: &Connection,
        object: Option<&Value>,
        reader: Reader,
        notes: &mut Notes,
    ) -> Result<Self> {
        let cluster = cluster.map_or_else(|| connected(connection, notes), Ok)?;
        if reader == Reader::Check {
            return Ok(Self::new(Some(cluster)));
        }
        let mut world = Self::new(None);
        let own = connection.namespace.as_deref();
        let live = match cluster.hyperconvergeds(own) {
            Err(ClusterError::NotServed) => Vec::new(),
            live => live?,
        };
        let labels = labels(reader, live.iter().chain(object));
        world.nodes.objects = cluster.nodes(&labels)?;
        world.nodes.state.is_read = true;
        if reader == Reader::Snapshot {
            world.converted = converted(&cluster, &live);
        }
        world.hyperconvergeds = live.iter().map(hyperconverged).collect();
        let mut silence: Option<Gap> = None;
        for list in world.lists_mut() {
            let kind = list.state().kind;
            if !kind.is_read_by(reader) || list.state().is_read {
                continue;
            }
            if let Some(Gap { reason, .. }) = &silence {
                list.state_mut().set_gap(reason.clone(), true);
                continue;
            }
            if read(&cluster, list) {
                silence.clone_from(&list.state().gap);
            }
        }
        world.reduce();
        world.cluster = Some(cluster);
        Ok(world)
    }
}

/// Connects to the cluster that the user named. A note tells which one it is.
fn connected(connection: &Connection, notes: &mut Notes) -> Result<Cluster> {
    let cluster = Cluster::connect(connection)?;
    let whose = match &cluster.context {
        Some(context) => format!("the context `{context}`"),
        None => "the service account of this Pod, because there is no kubeconfig".to_owned(),
    };
    let user = connection
        .impersonate
        .as_ref()
        .map(|user| format!(", as the user `{user}`"))
        .unwrap_or_default();
    notes.push(&format!(
        "using {whose}{user}; API server {}",
        cluster.server
    ));
    if let Some(warning) = cluster.warning {
        notes.push(warning);
    }
    Ok(cluster)
}

/// Reads a list. Returns whether the cluster does not answer.
pub(super) fn read(cluster: &Cluster, list: &mut dyn AnyList) -> bool {
    let resource = list.state().kind.resource();
    let error = match cluster.list(&resource, None, |object| list.add(object, None)) {
        // The cluster may not serve the kind.
        Ok(()) | Err(ClusterError::Refused(404, _)) => {
            list.state_mut().is_read = true;
            return false;
        }
        Err(error) => error,
    };
    let (is_silence, is_transient) = (error.is_silence(), error.is_transient());
    list.state_mut()
        .set_gap(one_line(&format!("{:#}", Error::from(error))), is_transient);
    is_silence
}

/// The HyperConverged objects in the other versions that the cluster serves, because manifests can have these versions.
fn converted(cluster: &Cluster, hyperconvergeds: &[Value]) -> Vec<Value> {
    let mut converted = Vec::new();
    for object in hyperconvergeds {
        for version in ["hco.kubevirt.io/v1", "hco.kubevirt.io/v1beta1"] {
            if text(object, "/apiVersion") != Some(version) {
                let other = cluster.hyperconverged(version, namespace(object), name(object));
                converted.extend(other.ok().flatten().as_ref().map(hyperconverged));
            }
        }
    }
    converted
}
