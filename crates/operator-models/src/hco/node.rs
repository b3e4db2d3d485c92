//! Reads the architectures of the nodes, and the number of nodes for each, as HCO does.
//!
//! This file does not interpret the architectures.

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
    /// The number of workload nodes by architecture.
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

/// Whether a node is a workload node that is counted.
///
/// MIRRORS: hyperconverged-cluster-operator pkg/internal/nodeinfo/architectures.go, hasWorkloadRequirements: a placement
/// with requirements replaces the worker label as the condition.
pub fn is_workload(node: &Node<'_>, placement: &Placement) -> bool {
    !node.architecture.is_empty()
        && if placement.has_requirements() {
            placement.selects(node)
        } else {
            node.label(WORKER).is_some()
        }
}

/// Whether a node is a control-plane node.
pub fn is_control_plane(node: &Node<'_>) -> bool {
    CONTROL_PLANE.iter().any(|role| node.label(role).is_some())
}

impl Census {
    fn new(groups: &Groups<'_>, placement: &Placement) -> Self {
        let mut census = Self::default();
        for (node, count) in groups
            .iter()
            .filter(|(node, _)| !node.architecture.is_empty())
        {
            let architecture = cut(node.architecture.to_string(), LONGEST);
            if is_control_plane(node) {
                census.control_plane.insert(architecture.clone());
            }
            if is_workload(node, placement) {
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
        let censuses = census(list, &[&Placement::default()]);
        let mut censuses = censuses.map_err(|error| error.to_string())?;
        Ok(censuses.remove(0).workload)
    }

    /// `fuzz/corpus/node_list` compares the other forms of a list with a model.
    #[test]
    fn a_list_is_read_as_go_reads_it() {
        for (list, count) in [
            (r#"{"items":[NODE],"kind":"NodeList"}"#, 1),
            (r#"{"kind":"List","metadata":{},"items":[NODE,NODE]}"#, 2),
            (" {\n\"items\" : [ NODE ] }\r\n", 1),
            (r#"{"items":[NODE,NODE],"items":[NODE]}"#, 1),
            (r#"{"items":[NODE,NODE],"items":null}"#, 0),
            (r#"{"kind":"PodList","items":[NODE],"kind":"List"}"#, 1),
            (r#"{"k\u0069nd":"Node\u004cist","items":[NODE]}"#, 1),
        ] {
            let counted = counted(list.replace("NODE", WORKER).as_bytes()).unwrap();
            assert_eq!(counted.values().sum::<usize>(), count, "{list}");
        }
        for (from, to) in [
            (r#""name":"w""#, r#""l\u0061bels":{},"name":null"#),
            (r#"worker":"""#, r#"worker":null"#),
            (
                r#""status":{"#,
                r#""status":{"x":[{}],"nodeInfo":{"architecture":"x"},"#,
            ),
            (
                r#""status":{"#,
                r#""status":{"nodeInfo":{"architecture":"x"}},"status":{"#,
            ),
            (
                r#""labels":{"#,
                r#""labels":{"node-role.kubernetes.io/master":""},"labels":{"#,
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
        for (written, counted_as) in [
            ("x".repeat(63), "x".repeat(63)),
            ("x".repeat(64), "x".repeat(60) + "…"),
        ] {
            let list = format!(r#"{{"items":[{WORKER}]}}"#).replace("amd64", &written);
            assert_eq!(counted(list.as_bytes()), Ok([(counted_as, 1)].into()));
        }
    }

    #[test]
    fn an_error_has_a_path_and_a_position() {
        const ERRORS: &str = r#"[] | the document is a list, expected an object (at byte 0)
oops | invalid JSON (at byte 0)
{} | items is missing (at byte 2)
{"kind":"Status"} | kind is `Status`, expected NodeList (at byte 17)
{"kind":1} | kind is a number, expected a string (at byte 8)
{"items":{}} | items is an object, expected a list (at byte 9)
{"items":[]} x | unexpected data after the end of the list (at byte 13)
{"items":[{},{"metadata":{"na | items[1]: unexpected end of JSON input (at byte 29)
{"items":[{},null]} | items[1] is null, expected an object (at byte 17)
{"items":[{},]} | items[1]: invalid JSON (at byte 13)
{"items":[{"metadata":{"name":1}}]} | items[0].metadata.name is a number, expected a string (at byte 30)
{"items":[{"metadata":{"labels":""}}]} | items[0].metadata.labels is a string, expected an object (at byte 32)
{"items":[{"metadata":{"labels":{"node-role.kubernetes.io/worker":true}}}]} | items[0].metadata.labels[*] is a boolean, expected a string (at byte 66)
{"items":[{"status":{"nodeInfo":{"architecture":{}}}}]} | items[0].status.nodeInfo.architecture is an object, expected a string (at byte 48)"#;
        let empty = counted(b" \n").unwrap_err();
        assert_eq!(
            empty,
            "the document is empty, expected an object (at byte 2)"
        );
        for line in ERRORS.lines() {
            let (list, error) = line.split_once(" | ").unwrap();
            assert_eq!(counted(list.as_bytes()), Err(error.to_owned()), "{list}");
        }
        let list = format!(r#"{{"kind":"{}\n","items":[]}}"#, "é\\n".repeat(10_000));
        let error = counted(list.as_bytes()).unwrap_err();
        assert!(error.len() < 400 && !error.contains('\n'), "{error}");
    }

    #[test]
    fn only_strings_that_are_read_must_be_utf8() {
        let list = |field: &[u8]| [b"{\"items\":[{\"metadata\":{", field, b"}}]}"].concat();
        assert!(counted(&list(b"\"name\":\"\xff\"")).is_err());
        assert!(counted(&list(b"\"uid\":\"\xff\",\"\xff\":1")).is_ok());
    }
}
