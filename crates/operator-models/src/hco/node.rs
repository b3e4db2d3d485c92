//! Reads the architectures of the nodes, and the number of nodes for each, as HCO does.

use std::collections::{BTreeMap, BTreeSet};

use kube_objects::node_list::{self, Groups, ListError, Needed, Node};
use kube_objects::placement::Placement;
use kube_objects::text::cut;

/// The labels with the roles of a node.
///
/// MIRRORS: hyperconverged-cluster-operator, pkg/internal/nodeinfo/nodeinfo.go.
const WORKER: &str = "node-role.kubernetes.io/worker";
const CONTROL_PLANE: [&str; 2] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
];

/// The architectures of a cluster, for one placement. Nodes that report no architecture are not counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Census {
    pub workload: BTreeMap<String, usize>,
    /// The architectures of the control-plane nodes, regardless of the placement.
    pub control_plane: BTreeSet<String>,
}

/// Counts the nodes of a list, once for each placement.
///
/// MIRRORS: hyperconverged-cluster-operator, pkg/internal/nodeinfo/nodeinfo.go, `processNodeInfo`.
pub fn census(list: &[u8], placements: &[&Placement]) -> Result<Vec<Census>, ListError> {
    let mut needed = Needed::default();
    for role in CONTROL_PLANE.into_iter().chain([WORKER]) {
        needed.add_label(role);
    }
    for placement in placements {
        placement.add_needed(&mut needed);
    }
    let groups = node_list::read(list, &needed)?;
    let censuses = placements
        .iter()
        .map(|placement| Census::new(&groups, placement));
    Ok(censuses.collect())
}

/// Whether each node is a workload node that is counted.
///
/// MIRRORS: hyperconverged-cluster-operator pkg/internal/nodeinfo/architectures.go, hasWorkloadRequirements: a placement
/// with requirements replaces the worker label as the condition.
fn are_workload(nodes: &[&Node<'_>], placement: &Placement) -> Vec<bool> {
    if placement.has_requirements() {
        placement.select(nodes)
    } else {
        nodes
            .iter()
            .map(|node| node.label(WORKER).is_some())
            .collect()
    }
}

pub fn is_workload(node: &Node<'_>, placement: &Placement) -> bool {
    !node.architecture.is_empty() && are_workload(&[node], placement).contains(&true)
}

pub fn is_control_plane(node: &Node<'_>) -> bool {
    CONTROL_PLANE.iter().any(|role| node.label(role).is_some())
}

impl Census {
    fn new(groups: &Groups<'_>, placement: &Placement) -> Self {
        let mut census = Self::default();
        let (nodes, counts): (Vec<&Node<'_>>, Vec<usize>) = groups
            .iter()
            .filter(|(node, _)| !node.architecture.is_empty())
            .unzip();
        let are_workload = are_workload(&nodes, placement);
        for ((node, count), is_workload) in nodes.into_iter().zip(counts).zip(are_workload) {
            let architecture = cut(node.architecture.to_string(), LONGEST);
            if is_control_plane(node) {
                census.control_plane.insert(architecture.clone());
            }
            if is_workload {
                *census.workload.entry(architecture).or_default() += count;
            }
        }
        census
    }
}

/// The longest architecture. The kubelet also sets the label `kubernetes.io/arch` to it, so a longer one is invalid, and
/// SSP rejects it.
///
/// DIVERGES: HCO accepts any string. Without the limit, a kubelet could make each finding as long as a list of nodes.
const LONGEST: usize = 63;

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    const WORKER: &str = r#"{"metadata":{"name":"w","labels":{"node-role.kubernetes.io/worker":""}},
        "status":{"nodeInfo":{"architecture":"amd64"}}}"#;

    fn counted(list: &[u8]) -> Result<BTreeMap<String, usize>, String> {
        match census(list, &[&Placement::default()]) {
            Ok(censuses) => Ok(censuses[0].workload.clone()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// `fuzz/corpus/node_list` compares the other forms of a list with a model.
    #[test]
    fn a_list_is_read_as_go_reads_it() {
        for (list, count) in [
            (r#"{"items":[NODE],"kind":"NodeList"}"#, 1),
            (r#"{"kind":"List","metadata":{},"items":[NODE,NODE]}"#, 2),
            (r#"{"items":[NODE,NODE],"items":[NODE]}"#, 1),
            (r#"{"items":[NODE,NODE],"items":null}"#, 0),
            (r#"{"kind":"PodList","items":[NODE],"k\u0069nd":"List"}"#, 1),
        ] {
            let counted = counted(list.replace("NODE", WORKER).as_bytes()).unwrap();
            assert_eq!(counted.values().sum::<usize>(), count, "{list}");
        }
        for (from, to) in [
            (r#""name":"w""#, r#""l\u0061bels":{},"name":null"#),
            (r#"worker":"""#, r#"worker":null"#),
            (
                r#""nodeInfo":"#,
                r#""nodeInfo":{"architecture":"x"},"nodeInfo":"#,
            ),
            (
                r#""labels":"#,
                r#""labels":{"node-role.kubernetes.io/master":""},"labels":"#,
            ),
            (r#""amd64""#, r#""x","architecture":"\u0061md64""#),
        ] {
            let list = format!(r#"{{"items":[{WORKER}]}}"#).replace(from, to);
            let counted = counted(list.as_bytes());
            assert_eq!(counted, Ok([("amd64".to_owned(), 1)].into()), "{list}");
        }
    }

    #[test]
    fn an_architecture_has_at_most_63_bytes() {
        let list = format!(r#"{{"items":[{WORKER}]}}"#).replace("amd64", &"x".repeat(64));
        let shortened = "x".repeat(60) + "…";
        assert_eq!(counted(list.as_bytes()), Ok([(shortened, 1)].into()));
    }

    #[test]
    fn an_error_has_the_index_of_the_node_and_a_position() {
        const ERRORS: &str = r#"[] | invalid type: sequence, expected a list of nodes at line 1 column 2
{} | items is missing
{"kind":"Status"} | kind is `Status`, expected NodeList
{"kind":1} | invalid type: integer `1`, expected a string at line 1 column 9
{"items":[]} x | trailing characters at line 1 column 14
{"items":[{},null]} | items[1]: invalid type: null, expected a node at line 1 column 17
{"items":[{"metadata":{"labels":""}}]} | items[0]: invalid type: string "", expected the labels of a node at line 1 column 34
{"items":[{"metadata":{"labels":{"node-role.kubernetes.io/worker":true}}}]} | items[0]: invalid type: boolean `true`, expected a string at line 1 column 70
{"items":[{"status":{"nodeInfo":{"architecture":{}}}}]} | items[0]: invalid type: map, expected a string at line 1 column 48"#;
        for line in ERRORS.lines() {
            let (list, error) = line.split_once(" | ").unwrap();
            assert_eq!(counted(list.as_bytes()), Err(error.to_owned()), "{list}");
        }
        let long = format!(r#"{{"kind":"{}\n","items":[]}}"#, "é\\n".repeat(10_000));
        let error = counted(long.as_bytes()).unwrap_err();
        assert!(error.len() < 400 && !error.contains('\n'), "{error}");
    }

    #[test]
    fn a_string_that_is_not_unicode_is_read_as_go_reads_it() {
        for field in [
            b"\"name\":\"\xff\"".as_slice(),
            b"\"name\":\"\\ud800\"",
            b"\"uid\":\"\xff\",\"\xff\":1,\"\\udc00\":2",
        ] {
            let list = [b"{\"items\":[{\"metadata\":{", field, b"}}]}"].concat();
            assert_eq!(counted(&list), Ok(BTreeMap::new()), "{field:?}");
        }
    }
}
