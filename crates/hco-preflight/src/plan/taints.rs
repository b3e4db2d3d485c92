//! Workload nodes with taints that the placement does not tolerate. HCO counts them, but neither virt-handler nor CDI's pods
//! run there.

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;

use super::alike::Alike;
use crate::field::items;
use crate::foreign::Foreign;
use crate::object_name::name;
use crate::stage::{Compared, placements};

/// The roles of the control plane.
const CONTROL_PLANE: [&str; 2] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
];

/// Such nodes.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(super) struct Tainted {
    pub(super) names: Vec<Foreign>,
    /// Whether all of them are control-plane nodes.
    #[serde(skip)]
    pub(super) is_control_plane: bool,
}

impl Tainted {
    /// Those after the change.
    pub(super) fn of(compared: &Compared<'_>) -> Result<Self> {
        let tolerations = placements(compared.after()).flat_map(|it| items(it, "/tolerations"));
        let tolerations: Vec<&Value> = tolerations.collect();
        let mut alike = Alike::of(compared);
        let mut tainted = Vec::new();
        for node in &*compared.nodes {
            if !repels(node, &tolerations) {
                continue;
            }
            if alike.get(&[node], || compared.hosts_workloads(node, true))? {
                tainted.push(node);
            }
        }
        let is_of = |node: &&Value| {
            let labels = node.pointer("/metadata/labels");
            let mut roles = CONTROL_PLANE.iter();
            roles.any(|role| labels.is_some_and(|labels| labels.get(role).is_some()))
        };
        Ok(Self {
            is_control_plane: tainted.iter().all(is_of),
            names: tainted
                .iter()
                .map(|node| Foreign::from(name(node)))
                .collect(),
        })
    }
}

/// Whether a node has a taint that these tolerations do not tolerate. Those that Kubernetes adds by itself come and go, and
/// KubeVirt's pods tolerate `CriticalAddonsOnly`.
///
/// MIRRORS: kubevirt pkg/virt-operator/resource/generate/components/deployments.go, `criticalAddonsToleration`.
fn repels(node: &Value, tolerations: &[&Value]) -> bool {
    items(node, "/spec/taints").any(|taint| {
        let is_hard = matches!(text(taint, "effect"), "NoSchedule" | "NoExecute");
        is_hard
            && !text(taint, "key").starts_with("node.kubernetes.io/")
            && text(taint, "key") != "CriticalAddonsOnly"
            && !tolerations.iter().any(|it| tolerates(it, taint))
    })
}

/// MIRRORS: kubernetes staging/src/k8s.io/component-helpers/scheduling/corev1/helpers.go, `ToleratesTaint`.
fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let is_same = |field| text(toleration, field) == text(taint, field);
    let is_any = |field| text(toleration, field).is_empty();
    (is_any("effect") || is_same("effect"))
        && (is_any("key") || is_same("key"))
        && match text(toleration, "operator") {
            "" | "Equal" => is_same("value"),
            operator => operator == "Exists",
        }
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_taint_is_tolerated_as_the_scheduler_does() {
        let taint = json!({"key": "a", "value": "b", "effect": "NoSchedule"});
        for (toleration, wanted) in [
            (json!({"operator": "Exists"}), true),
            (json!({"key": "a", "operator": "Exists"}), true),
            (json!({"key": "a", "value": "b"}), true),
            (
                json!({"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}),
                true,
            ),
            (json!({"key": "a"}), false),
            (json!({"key": "b", "operator": "Exists"}), false),
            (
                json!({"key": "a", "operator": "Exists", "effect": "NoExecute"}),
                false,
            ),
        ] {
            assert_eq!(tolerates(&toleration, &taint), wanted, "{toleration}");
            let node = json!({"spec": {"taints": [taint]}});
            assert_eq!(repels(&node, &[&toleration]), !wanted, "{toleration}");
        }
        for taint in [
            json!({"key": "a", "effect": "PreferNoSchedule"}),
            json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}),
            json!({"key": "CriticalAddonsOnly", "effect": "NoSchedule"}),
        ] {
            assert!(
                !repels(&json!({"spec": {"taints": [taint]}}), &[]),
                "{taint}"
            );
        }
    }
}
