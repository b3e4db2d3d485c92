//! The objects that Open Cluster Management distributes to other clusters, and that other objects contain.

use serde_json::Value;

use crate::objects::Object;
use crate::place::Place;

/// A kind whose objects contain a list of objects.
struct Carrier {
    group: &'static str,
    kind: &'static str,
    /// The path of the list.
    list: &'static [&'static str],
    /// The field of an item that contains the object; `None` if the item is the object.
    field: Option<&'static str>,
}

/// The group of the kinds in whose values a cluster evaluates templates.
const POLICY: &str = "policy.open-cluster-management.io";

/// MIRRORS: open-cluster-management-io/governance-policy-propagator `api/v1/policy_types.go`, `PolicySpec`;
/// config-policy-controller `api/v1/configurationpolicy_types.go`, `ConfigurationPolicySpec`; api `work/v1/types.go`,
/// `ManifestWorkSpec`, and `work/v1alpha1/types_manifestworkreplicaset.go`, `ManifestWorkReplicaSetSpec`.
const CARRIERS: [Carrier; 4] = [
    Carrier {
        group: POLICY,
        kind: "Policy",
        list: &["spec", "policy-templates"],
        field: Some("objectDefinition"),
    },
    Carrier {
        group: POLICY,
        kind: "ConfigurationPolicy",
        list: &["spec", "object-templates"],
        field: Some("objectDefinition"),
    },
    Carrier {
        group: "work.open-cluster-management.io",
        kind: "ManifestWork",
        list: &["spec", "workload", "manifests"],
        field: None,
    },
    Carrier {
        group: "work.open-cluster-management.io",
        kind: "ManifestWorkReplicaSet",
        list: &["spec", "manifestWorkTemplate", "workload", "manifests"],
        field: None,
    },
];

/// How another object distributes an object to clusters.
#[derive(Debug, Clone, Copy, Default)]
pub struct Distributed {
    /// Whether the cluster evaluates the templates (`{{ }}`) in its values.
    pub has_templates: bool,
    /// Whether fields that it lacks keep their values in the cluster (`musthave`).
    pub is_merged: bool,
}

impl Object {
    /// The objects that it distributes to other clusters; the object itself if it distributes none. The result contains
    /// neither objects that must not exist, nor texts that become objects only when a cluster evaluates them.
    pub fn unwrapped(self) -> Vec<Self> {
        let inside = self.inside();
        if inside.is_empty() {
            return vec![self];
        }
        inside.into_iter().flat_map(Self::unwrapped).collect()
    }

    /// Whether it is of a kind that distributes objects.
    pub fn distributes(&self) -> bool {
        self.carrier().is_some()
    }

    fn carrier(&self) -> Option<&'static Carrier> {
        let text = |field: &str| self.value.get(field).and_then(Value::as_str);
        let group = text("apiVersion").and_then(|version| version.split('/').next());
        CARRIERS
            .iter()
            .find(|carrier| Some(carrier.group) == group && Some(carrier.kind) == text("kind"))
    }

    fn inside(&self) -> Vec<Self> {
        let Some(carrier) = self.carrier() else {
            return Vec::new();
        };
        let (mut list, mut place) = (Some(&self.value), Some(&self.place));
        for field in carrier.list {
            list = list.and_then(|object| object.get(field));
            place = place.and_then(|place| place.fields.get(*field));
        }
        let line = place.map_or(self.line, |place| place.line);
        let around = self.distributed.unwrap_or_default();
        list.and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
            .filter_map(|(index, item)| {
                let compliance = item
                    .get("complianceType")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_ascii_lowercase();
                let place_of_item = place.and_then(|place| place.items.get(index));
                let (value, known) = match carrier.field {
                    Some(field) => (
                        item.get(field)?,
                        place_of_item.and_then(|place| place.fields.get(field)),
                    ),
                    None => (item, place_of_item),
                };
                let place = known.cloned().unwrap_or_else(|| Place::elsewhere(line));
                (value.is_object() && compliance != "mustnothave").then(|| Self {
                    value: value.clone(),
                    line: place.line,
                    place,
                    distributed: Some(Distributed {
                        has_templates: around.has_templates || carrier.group == POLICY,
                        is_merged: around.is_merged || compliance == "musthave",
                    }),
                })
            })
            .collect()
    }
}
