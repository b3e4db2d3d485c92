//! The live objects of a cluster, or of files from a cluster.

use anyhow::{Result, bail};
use policy_host::{Cluster, ClusterError};
use serde_json::Value;

use super::snapshot::{Kind, Snapshot};
use crate::admission::Identity;
use crate::foreign::{chain, one_line};
use crate::notes::Notes;
use crate::object_name::{self, in_namespace};

/// The source of live objects.
#[derive(Clone, Copy)]
pub(super) enum Live<'l> {
    Cluster(&'l Cluster),
    Files(&'l Snapshot),
}

impl<'l> Live<'l> {
    /// `None` if there is neither a cluster nor files from one.
    pub(super) fn of(cluster: Option<&'l Cluster>, files: Option<&'l Snapshot>) -> Option<Self> {
        files
            .map(Self::Files)
            .or_else(|| cluster.map(Self::Cluster))
    }

    /// The name of the source in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cluster(_) => "the cluster",
            Self::Files(_) => "--from",
        }
    }

    /// The namespace of objects without a namespace.
    pub(super) fn namespace(self) -> &'l str {
        match self {
            Self::Cluster(cluster) => cluster.namespace(),
            Self::Files(snapshot) => match snapshot.hyperconvergeds.as_slice() {
                [one] => object_name::namespace(one),
                _ => "",
            },
        }
    }

    /// The namespace of a manifest's object. If the manifest does not name one, it is `namespace`.
    fn namespace_of<'n>(self, identity: &'n Identity, namespace: Option<&'n str>) -> &'n str
    where
        'l: 'n,
    {
        let named = identity.namespace.as_deref().or(namespace);
        named.unwrap_or(self.namespace())
    }

    /// The HyperConverged objects of a namespace or of all namespaces.
    pub(super) fn hyperconvergeds(
        self,
        namespace: Option<&str>,
    ) -> Result<Vec<Value>, ClusterError> {
        match self {
            Self::Cluster(cluster) => cluster.hyperconvergeds(namespace),
            Self::Files(snapshot) => {
                let all = snapshot.hyperconvergeds.iter();
                Ok(all
                    .filter(|it| in_namespace(namespace, it))
                    .cloned()
                    .collect())
            }
        }
    }

    /// Whether the source can contain objects of this kind.
    pub(super) fn has_kind_of(self, identity: &Identity) -> bool {
        match self {
            Self::Cluster(_) => true,
            Self::Files(snapshot) => identity.is_hyperconverged() || snapshot.has(&identity.kind),
        }
    }

    /// The live object for a manifest, in the manifest's version; `None` if it does not exist. If the manifest does not
    /// name a namespace, it is `namespace`.
    pub(super) fn object(
        self,
        identity: &Identity,
        namespace: Option<&str>,
    ) -> Result<Option<Value>> {
        if identity.is_hyperconverged() {
            return self.hyperconverged(identity, namespace);
        }
        let Some(name) = &identity.name else {
            return Ok(None);
        };
        let namespace = self.namespace_of(identity, namespace);
        match self {
            Self::Cluster(cluster) => Ok(cluster.virtual_machine(namespace, name)?),
            Self::Files(snapshot) => {
                let wanted = format!("{namespace}/{name}");
                let mut machines = snapshot.of("VirtualMachine");
                Ok(machines.find(|machine| object_name::key(machine) == wanted))
            }
        }
    }

    /// The objects of a kind; `None` if they were not read. If they cannot be read, a note gives the reason.
    pub(super) fn all(self, kind: &str, notes: &mut Notes) -> Option<Vec<Value>> {
        let why = match self {
            Self::Cluster(cluster) => match Kind::list_of(cluster, kind) {
                Ok(objects) => return Some(objects),
                Err(error) => chain(&error.into()),
            },
            Self::Files(snapshot) if snapshot.has(kind) => {
                return Some(snapshot.of(kind).collect());
            }
            // Shipped preferences are used instead.
            Self::Files(_) if kind.ends_with("Preference") => return None,
            Self::Files(_) => "--from has none".to_owned(),
        };
        let what = match kind {
            "VirtualMachineInstance" => "running virtual machines are not named".to_owned(),
            _ => format!("virtual machines are checked without each {kind} of the cluster"),
        };
        notes.push(&format!("{what}: {why}"));
        None
    }

    /// The live HyperConverged for a manifest, in the manifest's version; `None` if it does not exist. If the manifest
    /// does not name a namespace, it is `namespace`.
    pub(super) fn hyperconverged(
        self,
        identity: &Identity,
        namespace: Option<&str>,
    ) -> Result<Option<Value>> {
        let Some(name) = &identity.name else {
            return Ok(None);
        };
        let namespace = self.namespace_of(identity, namespace);
        let snapshot = match self {
            Self::Cluster(cluster) => {
                return Ok(cluster.hyperconverged(&identity.api_version, namespace, name)?);
            }
            Self::Files(snapshot) => snapshot,
        };
        if namespace.is_empty() && snapshot.hyperconvergeds.len() > 1 {
            bail!(
                "the manifest names no namespace, and --from has several HyperConvergeds: specify -n"
            );
        }
        let all = snapshot.hyperconvergeds.iter().chain(&snapshot.converted);
        let all = all.filter(|it| object_name::namespace(it) == namespace);
        let mut same = all.filter(|it| Identity::of(it).is_same_object(identity));
        let Some(first) = same.next() else {
            return Ok(None);
        };
        let version = |it: &&Value| Identity::of(it).api_version == identity.api_version;
        let Some(live) = Some(first).filter(version).or_else(|| same.find(version)) else {
            let was = Identity::of(first).api_version;
            bail!(
                "the manifest is {}, but the object of --from is {}: only objects of the same version can be compared",
                one_line(&identity.api_version),
                one_line(&was)
            );
        };
        Ok(Some(live.clone()))
    }

    /// The reason why there are no policies, if that is certain.
    pub(super) fn without_kubewarden(self) -> Result<Option<&'static str>, ClusterError> {
        Ok(match self {
            Self::Cluster(cluster) if !cluster.has_kubewarden()? => {
                Some("Kubewarden is not installed in the cluster")
            }
            Self::Files(snapshot) if !snapshot.has("ClusterAdmissionPolicy") => {
                Some("--from has no policies")
            }
            Self::Cluster(_) | Self::Files(_) => None,
        })
    }

    /// The policies of a kind, in all namespaces or in one.
    pub(super) fn policies(
        self,
        kind: &str,
        namespace: Option<&str>,
    ) -> Result<Vec<Value>, ClusterError> {
        match self {
            Self::Cluster(cluster) => cluster.policies(&resource(kind), namespace),
            Self::Files(snapshot) => Ok(snapshot
                .of(kind)
                .filter(|it| in_namespace(namespace, it))
                .collect()),
        }
    }
}

/// The resource of a kind: its plural in small letters.
fn resource(kind: &str) -> String {
    let kind = kind.to_ascii_lowercase();
    match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{kind}s"),
    }
}
