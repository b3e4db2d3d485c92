//! The interface to the host. Only these traits and [`Registry`] access the host; all other code is pure.

use std::fmt;

use kube_objects::json::{Json, Object};
use operator_models::cdi::image::Registry;
use operator_models::kubevirt::preference::PreferenceName;

/// The service account of the policy-server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAccount {
    pub namespace: String,
    pub name: String,
}

impl fmt::Display for ServiceAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    Nodes,
    /// HyperConverged, as v1beta1, which every version of HCO serves.
    HyperConvergeds,
    KubeVirts,
    DataSources,
    /// The preferences of a namespace. Only programs read them.
    Preferences,
    /// The preferences of the cluster. Only programs read them.
    ClusterPreferences,
}

impl Resource {
    /// The group and the version, as in objects.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::Nodes => "v1",
            Self::HyperConvergeds => "hco.kubevirt.io/v1beta1",
            Self::KubeVirts => "kubevirt.io/v1",
            Self::DataSources => "cdi.kubevirt.io/v1beta1",
            Self::Preferences | Self::ClusterPreferences => "instancetype.kubevirt.io/v1beta1",
        }
    }

    /// The group and the version; the group of nodes is empty.
    pub fn group_version(self) -> (&'static str, &'static str) {
        let version = self.api_version();
        version.split_once('/').unwrap_or(("", version))
    }

    pub fn kind(self) -> &'static str {
        match self {
            Self::Nodes => "Node",
            Self::HyperConvergeds => "HyperConverged",
            Self::KubeVirts => "KubeVirt",
            Self::DataSources => "DataSource",
            Self::Preferences => "VirtualMachinePreference",
            Self::ClusterPreferences => "VirtualMachineClusterPreference",
        }
    }

    pub fn plural(self) -> String {
        self.kind().to_ascii_lowercase() + "s"
    }

    /// The fields that the policy reads, beside the metadata.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Nodes => &["status.nodeInfo.architecture"],
            Self::HyperConvergeds => &[
                "spec.infra.nodePlacement",
                "status.nodeInfo.controlPlaneArchitectures",
                "status.nodeInfo.workloadsArchitectures",
            ],
            Self::KubeVirts => &[
                "spec.configuration.architectureConfiguration",
                "spec.configuration.developerConfiguration.featureGates",
                "spec.configuration.emulatedMachines",
                "status.defaultArchitecture",
                "status.observedKubeVirtVersion",
            ],
            Self::DataSources => &["spec.source"],
            Self::Preferences | Self::ClusterPreferences => &[
                "spec.preferredArchitecture",
                "spec.requirements.architecture",
            ],
        }
    }
}

/// A permission that a service account can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permission<'p> {
    pub verb: &'p str,
    pub resource: Resource,
    /// The namespace; `None` for the whole cluster.
    pub namespace: Option<&'p str>,
}

/// All calls that the policy can make to its host. Errors are the host's, unchanged.
pub trait Cluster: Registry {
    /// Whether a service account has a permission: the status of a `SubjectAccessReview` as JSON; `None` if the host
    /// returns no answer.
    fn can_i(&self, _: &ServiceAccount, _: &Permission<'_>) -> Option<Vec<u8>> {
        None
    }

    /// All objects of a cluster, as JSON of a list, masked to [`Resource::fields`].
    fn list(&self, resource: Resource) -> Result<Vec<u8>, String>;

    /// A DataSource as JSON; `None` if the host does not return it.
    fn data_source(&self, _namespace: &str, _name: &str) -> Option<Vec<u8>> {
        None
    }

    /// A preference as JSON; `None` if the host does not return it. It is read for VMs in files. The API server sends VMs
    /// whose preference KubeVirt has applied.
    fn preference(&self, _: &PreferenceName) -> Option<Vec<u8>> {
        None
    }
}

pub(crate) struct OnlyNodes<'n>(pub(crate) &'n str);

impl Cluster for OnlyNodes<'_> {
    fn list(&self, resource: Resource) -> Result<Vec<u8>, String> {
        match resource {
            Resource::Nodes => Ok(self.0.into()),
            other => Err(format!("there are no {} here", other.plural())),
        }
    }
}

impl Registry for OnlyNodes<'_> {
    fn manifest(&self, _: &str) -> Result<Vec<u8>, String> {
        Err("images are not read".to_owned())
    }

    fn manifest_and_config(&self, image: &str) -> Result<Vec<u8>, String> {
        self.manifest(image)
    }
}

/// Why objects cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// The API server reports that the service account does not have the permission for this verb.
    Forbidden {
        resource: Resource,
        account: ServiceAccount,
        verb: &'static str,
    },
    /// The host returned an error instead of a list.
    Host {
        resource: Resource,
        /// The service account of the policy-server, if the settings name it.
        account: Option<ServiceAccount>,
        error: String,
    },
    /// The host returned something that is not a list of these objects.
    List { resource: Resource, error: String },
}

/// Reads all objects of a kind. Asks for the permissions first, because without them the host never answers
/// (nodes-unreadable.md).
pub(crate) fn read<T>(
    cluster: &dyn Cluster,
    account: Option<&ServiceAccount>,
    resource: Resource,
    parse: impl FnOnce(&[u8]) -> Result<T, String>,
) -> Result<T, Unreadable> {
    if let Some(account) = account
        && let Some(verb) = ["list", "watch"]
            .into_iter()
            .find(|verb| is_forbidden(cluster, account, verb, resource, None))
    {
        let account = account.clone();
        return Err(Unreadable::Forbidden {
            resource,
            account,
            verb,
        });
    }
    let list = cluster.list(resource).map_err(|error| Unreadable::Host {
        resource,
        account: account.cloned(),
        error,
    })?;
    parse(&list).map_err(|error| Unreadable::List { resource, error })
}

/// Whether the API server clearly denies a permission. Any other answer counts as a permission.
pub(crate) fn is_forbidden(
    cluster: &dyn Cluster,
    account: &ServiceAccount,
    verb: &str,
    resource: Resource,
    namespace: Option<&str>,
) -> bool {
    let permission = Permission {
        verb,
        resource,
        namespace,
    };
    let is_allowed = cluster.can_i(account, &permission).and_then(|status| {
        let status = Object::root(Json::parse(&status).ok()?);
        status.field("allowed").boolean().ok()?
    });
    is_allowed == Some(false)
}
