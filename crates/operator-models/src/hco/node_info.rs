//! The architectures in the status of a HyperConverged, which HCO reads from the nodes.

use std::collections::BTreeSet;

use kube_objects::json::{Field, Json, Object, WrongType};

use crate::hco::node::Census;

/// The architectures of nodes in the status of a cluster's only HyperConverged.
#[derive(Debug, Default)]
pub struct Observed {
    /// The workload architectures; `None` unless exactly one object lists some.
    pub workload: Option<BTreeSet<String>>,
    /// The architectures of the nodes on which virt-api can run; `None` if they are unknown.
    pub virt_api: Option<BTreeSet<String>>,
}

impl Observed {
    /// Reads the architectures from a list of HyperConverged objects.
    ///
    /// MIRRORS: hyperconverged-cluster-operator api/v1beta1, `NodeInfoStatus`; kubevirt
    /// pkg/virt-operator/resource/placement/placement.go, `RequireControlPlanePreferNonWorker`, unless HCO places it.
    pub fn read(list: Json<'_>) -> Result<Self, WrongType<'_>> {
        let items = Object::root(list).field("items").objects()?;
        Ok(match items.as_slice() {
            [only] => {
                let info = only.object("status").object("nodeInfo");
                let set = |key| {
                    names(&info, key).map(|names| names.map(|names| names.into_iter().collect()))
                };
                let infra = only.object("spec").object("infra").field("nodePlacement");
                Self {
                    workload: set("workloadsArchitectures")?,
                    virt_api: set("controlPlaneArchitectures")?.filter(|_| !places(&infra)),
                }
            }
            _ => Self::default(),
        })
    }
}

/// The architectures that HCO has read from the nodes, and that it uses for its decisions; `None` unless the status lists
/// architectures of both kinds of nodes. An unreadable status counts as absent.
///
/// MIRRORS: hyperconverged-cluster-operator api/v1beta1, `NodeInfoStatus`.
pub(super) fn node_info(status: &Object<'_>) -> Option<Census> {
    let info = status.object("nodeInfo");
    let workload = names(&info, "workloadsArchitectures").ok()??;
    let control_plane = names(&info, "controlPlaneArchitectures").ok()??;
    let default = info.field("defaultWorkloadArchitecture").string().ok();
    Some(Census {
        workload: workload.into_iter().map(|name| (name, 1)).collect(),
        control_plane: control_plane.into_iter().collect(),
        stated_default: default.flatten().filter(|name| !name.is_empty()),
    })
}

/// The names in a list, without empty ones; `None` if there are none.
fn names<'a>(info: &Object<'a>, key: &'static str) -> Result<Option<Vec<String>>, WrongType<'a>> {
    let mut names = info.field(key).strings()?.unwrap_or_default();
    names.retain(|name| !name.is_empty());
    Ok(Some(names).filter(|names| !names.is_empty()))
}

pub(super) fn places(placement: &Field<'_>) -> bool {
    let fields = placement.object();
    ["nodeSelector", "affinity"].into_iter().any(|name| {
        let json = fields.field(name).json();
        json.and_then(Json::members)
            .is_some_and(|members| !members.is_empty())
    })
}
