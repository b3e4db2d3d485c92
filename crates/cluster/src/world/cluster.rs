//! Reads the state of a cluster.

use anyhow::Result;
use serde_json::Value;

use super::{
    AnyList, CLUSTER_PREFERENCE, KUBEVIRT, POLICY, PREFERENCE, Reader, State, World, hyperconverged,
};
use crate::client::{Cluster, ClusterError, Connection};
use crate::field::{name, namespace, text};
use crate::foreign::one_line;
use crate::identity::Identity;
use crate::notes::Notes;
use operator_models::ssp::data_sources::Key;

impl World {
    /// It fails if the nodes or the HyperConverged cannot be read, because a comparison needs both. For other kinds, it
    /// records a gap.
    pub fn of_cluster(
        cluster: Option<Cluster>,
        connection: &Connection,
        manifests: &[&Value],
        reader: Reader,
        notes: &mut Notes,
    ) -> Result<Self> {
        let cluster = cluster.map_or_else(|| connected(connection, notes), Ok)?;
        let mut world = Self::new();
        let identities: Vec<Identity> = manifests.iter().copied().map(Identity::of).collect();
        let is_machine = identities.iter().any(Identity::is_virtual_machine);
        // A manifest in another namespace than the HyperConverged gets a note, and VMs of every namespace depend on it.
        let own = connection.namespace.as_deref();
        let live = match cluster.hyperconvergeds(own.filter(|_| manifests.is_empty())) {
            Err(ClusterError::Refused(403, _)) if own.is_some() => cluster.hyperconvergeds(own)?,
            live => live?,
        };
        world.converted = converted(&cluster, &live, reader, &identities)?;
        world.hyperconvergeds = live.into_iter().map(hyperconverged).collect();
        if world.nodes.state.is_read_by(reader) {
            read(&cluster, &mut world.nodes)?;
            world.reduce_nodes(manifests, reader, "the cluster")?;
        }
        if reader == Reader::Check {
            world.get_machines(&cluster, own, &identities)?;
        }
        let has_kubewarden =
            reader != Reader::Settings && cluster.group("policies.kubewarden.io")?.is_some();
        let has_preference = manifests
            .iter()
            .any(|manifest| manifest.pointer("/spec/preference").is_some());
        world.read_lists(&cluster, |state| match (state.kind, reader) {
            // A snapshot shows that there are no policies.
            (POLICY, _) => has_kubewarden || reader == Reader::Snapshot,
            _ if !state.is_read_by(reader) => false,
            (PREFERENCE | CLUSTER_PREFERENCE, Reader::Check) => has_preference,
            (_, Reader::Check) => is_machine,
            _ => true,
        });
        world.finish(reader);
        world.cluster = Some(cluster);
        Ok(world)
    }

    fn read_lists(&mut self, cluster: &Cluster, is_needed: impl Fn(&State) -> bool) {
        let mut silence = None;
        for list in self.lists() {
            let state = list.state();
            if state.is_read || !is_needed(state) {
                continue;
            }
            // Without the policies, there is no result, so they are requested in any case.
            if let Some(reason) = silence.clone().filter(|_| state.kind != POLICY) {
                state.set_gap(reason, true);
            } else if let Err(error) = read(cluster, list) {
                let reason = one_line(&error.to_string());
                list.state().set_gap(reason.clone(), error.is_transient());
                silence = error.is_silence().then_some(reason);
            }
        }
    }

    fn get_machines(
        &mut self,
        cluster: &Cluster,
        namespace: Option<&str>,
        identities: &[Identity],
    ) -> Result<(), ClusterError> {
        self.machines.state.is_read = true;
        for identity in identities
            .iter()
            .filter(|identity| identity.is_virtual_machine())
        {
            let own = identity.namespace.as_deref().or(namespace);
            let namespace = own.unwrap_or(cluster.namespace());
            let name = identity.name.as_deref().unwrap_or_default();
            match cluster.get(KUBEVIRT, self.machines.kind(), namespace, name) {
                Ok(Some(machine)) => self.machines.add(machine, None),
                Ok(None) => {}
                // The requests for the other objects would also wait until the timeout.
                Err(error) if error.is_silence() => return Err(error),
                Err(error) => {
                    let (key, reason) = (Key::new(namespace, name), one_line(&error.to_string()));
                    self.unread_machines.insert(key, reason);
                }
            }
        }
        Ok(())
    }
}

fn connected(connection: &Connection, notes: &mut Notes) -> Result<Cluster> {
    let cluster = Cluster::connect(connection)?;
    let whose = match &cluster.context {
        Some(context) => format!("the context `{context}`"),
        None => "the service account of this Pod, because there is no kubeconfig".to_owned(),
    };
    let user = match &connection.impersonate {
        Some(user) => format!(", as the user `{user}`"),
        None => String::new(),
    };
    let server = &cluster.server;
    notes.push(&format!("using {whose}{user}; API server {server}"));
    if let Some(warning) = cluster.warning {
        notes.push(warning);
    }
    Ok(cluster)
}

fn read(cluster: &Cluster, list: &mut dyn AnyList) -> Result<(), ClusterError> {
    let (api_version, kind) = (list.state().api_version, list.state().kind);
    match cluster.list(api_version, kind, None, |object| list.add(object, None)) {
        // The cluster may not serve the kind, but every cluster serves nodes.
        Err(ClusterError::Refused(404, _)) if kind != "Node" => {}
        listed => listed?,
    }
    list.state().is_read = true;
    Ok(())
}

/// The HyperConverged objects in the other versions that a snapshot has, or that manifests have.
fn converted(
    cluster: &Cluster,
    hyperconvergeds: &[Value],
    reader: Reader,
    manifests: &[Identity],
) -> Result<Vec<Value>, ClusterError> {
    let mut converted = Vec::new();
    for object in hyperconvergeds {
        for version in ["hco.kubevirt.io/v1", "hco.kubevirt.io/v1beta1"] {
            let is_named = manifests.iter().any(|named| named.api_version == version);
            let is_needed = is_named || reader == Reader::Snapshot;
            if is_needed && text(object, "/apiVersion") != Some(version) {
                let other =
                    cluster.get(version, "HyperConverged", namespace(object), name(object))?;
                converted.extend(other.map(hyperconverged));
            }
        }
    }
    Ok(converted)
}
