//! Reads the architectures of the nodes, and the number of nodes for each, as HCO does.
//!
//! This file does not interpret the architectures.

use std::collections::{BTreeMap, BTreeSet};

use kube_objects::node_list::{self, Groups, ListError, Needed};
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

impl Census {
    /// MIRRORS: hyperconverged-cluster-operator pkg/internal/nodeinfo/architectures.go, hasWorkloadRequirements: a
    /// placement with requirements replaces the worker label as the condition.
    fn new(groups: &Groups<'_>, placement: &Placement) -> Self {
        let mut census = Self::default();
        for (node, count) in groups
            .iter()
            .filter(|(node, _)| !node.architecture.is_empty())
        {
            let architecture = cut(node.architecture.to_string(), LONGEST);
            let is_workload = if placement.has_requirements() {
                placement.selects(node)
            } else {
                node.label(WORKER).is_some()
            };
            if CONTROL_PLANE.iter().any(|role| node.label(role).is_some()) {
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

// rstest and wasm-bindgen-test cannot be combined. In wasm, the conformance samples test this.
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use rstest::rstest;

    use super::{Census, census};
    use kube_objects::placement::Placement;

    const WORKER: &str = r#"{"metadata":{"name":"w","labels":{"node-role.kubernetes.io/worker":""}},
        "status":{"nodeInfo":{"architecture":"amd64"}}}"#;

    #[rstest]
    #[case::status_before_metadata(
        r#"{"status":{"nodeInfo":{"architecture":"arm64"}},"metadata":{"labels":{"node-role.kubernetes.io/worker":"x"}}}"#,
        "arm64=1;"
    )]
    #[case::unknown_fields_everywhere(
        r#"{"spec":{"a":[{}]},"metadata":{"x":1,"labels":{"y":2,"node-role.kubernetes.io/worker":""}},
            "status":{"z":null,"nodeInfo":{"os":["l"],"architecture":"arm64"}}}"#,
        "arm64=1;"
    )]
    #[case::control_plane_and_worker(
        r#"{"metadata":{"labels":{"node-role.kubernetes.io/worker":"","node-role.kubernetes.io/master":""}},
            "status":{"nodeInfo":{"architecture":"s390x"}}}"#,
        "s390x=1;s390x"
    )]
    #[case::control_plane(
        r#"{"metadata":{"labels":{"node-role.kubernetes.io/control-plane":"no"}},"status":{"nodeInfo":{"architecture":"s390x"}}}"#,
        ";s390x"
    )]
    #[case::another_control_plane_label(
        r#"{"metadata":{"labels":{"node-role.kubevirt.io/control-plane":""}},"status":{"nodeInfo":{"architecture":"s390x"}}}"#,
        ";"
    )]
    #[case::null_for_a_role(
        r#"{"metadata":{"labels":{"node-role.kubernetes.io/worker":null}},"status":{"nodeInfo":{"architecture":"amd64"}}}"#,
        "amd64=1;"
    )]
    #[case::escaped_keys_and_values(
        r#"{"met\u0061data":{"l\u0061bels":{"node-role.kubernetes.io\/worker":""}},"status":{"nodeInf\u006f":{"architecture":"\u0061md64"}}}"#,
        "amd64=1;"
    )]
    #[case::no_metadata(r#"{"status":{"nodeInfo":{"architecture":"amd64"}}}"#, ";")]
    #[case::no_status(
        r#"{"metadata":{"labels":{"node-role.kubernetes.io/worker":""}}}"#,
        ";"
    )]
    #[case::nothing_at_all("{}", ";")]
    #[case::null_metadata(
        r#"{"metadata":null,"status":{"nodeInfo":{"architecture":"amd64"}}}"#,
        ";"
    )]
    #[case::null_labels(r#"{"metadata":{"labels":null,"name":null},"status":{"nodeInfo":{"architecture":"amd64"}}}"#, ";")]
    #[case::null_status(
        r#"{"metadata":{"labels":{"node-role.kubernetes.io/worker":""}},"status":null}"#,
        ";"
    )]
    #[case::null_node_info(r#"{"metadata":{"labels":{"node-role.kubernetes.io/worker":""}},"status":{"nodeInfo":null}}"#, ";")]
    #[case::null_architecture(
        r#"{"metadata":{"labels":{"node-role.kubernetes.io/worker":""}},"status":{"nodeInfo":{"architecture":null}}}"#,
        ";"
    )]
    #[case::empty_architecture(
        r#"{"metadata":{"labels":{"node-role.kubernetes.io/worker":"","node-role.kubernetes.io/master":""}},"status":{"nodeInfo":{"architecture":""}}}"#,
        ";"
    )]
    #[case::architecture_of_63_bytes(
        r#"{"metadata":{"labels":{"node-role.kubernetes.io/worker":""}},"status":{"nodeInfo":{"architecture":"012345678901234567890123456789012345678901234567890123456789012"}}}"#,
        "012345678901234567890123456789012345678901234567890123456789012=1;"
    )]
    #[case::architecture_of_64_bytes(
        r#"{"metadata":{"labels":{"node-role.kubernetes.io/worker":""}},"status":{"nodeInfo":{"architecture":"0123456789012345678901234567890123456789012345678901234567890123"}}}"#,
        "012345678901234567890123456789012345678901234567890123456789…=1;"
    )]
    #[case::last_labels_win(
        r#"{"metadata":{"labels":{"node-role.kubernetes.io/worker":""},"labels":{}},"status":{"nodeInfo":{"architecture":"amd64"}}}"#,
        ";"
    )]
    #[case::last_metadata_wins(
        r#"{"metadata":{"labels":{"node-role.kubernetes.io/worker":""}},"metadata":{"name":"n"},"status":{"nodeInfo":{"architecture":"amd64"}}}"#,
        ";"
    )]
    #[case::last_architecture_wins(
        r#"{"metadata":{"labels":{"node-role.kubernetes.io/worker":""}},"status":{"nodeInfo":{"architecture":"amd64","architecture":"arm64"}}}"#,
        "arm64=1;"
    )]
    #[case::last_status_wins(
        r#"{"metadata":{"labels":{"node-role.kubernetes.io/worker":""}},"status":{"nodeInfo":{"architecture":"amd64"}},"status":{}}"#,
        ";"
    )]
    fn a_node_is_counted(#[case] node: &str, #[case] expected: &str) {
        assert_eq!(
            summary(&count(&format!(r#"{{"items":[{node}]}}"#))),
            expected
        );
    }

    #[rstest]
    #[case::kind_after_the_items(r#"{"items":[NODE],"kind":"NodeList"}"#, "amd64=1;")]
    #[case::kind_before_the_items(
        r#"{"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[NODE,NODE]}"#,
        "amd64=2;"
    )]
    #[case::plain_list(r#"{"kind":"List","items":[NODE]}"#, "amd64=1;")]
    #[case::null_kind(r#"{"kind":null,"items":[NODE]}"#, "amd64=1;")]
    #[case::no_kind(" {\n\"items\" : [ NODE ] }\r\n", "amd64=1;")]
    #[case::no_nodes(r#"{"items":[]}"#, ";")]
    #[case::null_items(r#"{"items":null}"#, ";")]
    #[case::last_items_win(r#"{"items":[NODE,NODE],"items":[NODE]}"#, "amd64=1;")]
    #[case::null_items_win(r#"{"items":[NODE,NODE],"items":null}"#, ";")]
    #[case::last_kind_wins(r#"{"kind":"PodList","items":[NODE],"kind":"List"}"#, "amd64=1;")]
    #[case::escaped_kind(r#"{"k\u0069nd":"Node\u004cist","items":[NODE]}"#, "amd64=1;")]
    fn a_list_is_read(#[case] list: &str, #[case] expected: &str) {
        assert_eq!(summary(&count(&list.replace("NODE", WORKER))), expected);
    }

    #[rstest]
    #[case::empty("", "the document is empty, expected an object (at byte 0)")]
    #[case::blank(" \n", "the document is empty, expected an object (at byte 2)")]
    #[case::a_list("[]", "the document is a list, expected an object (at byte 0)")]
    #[case::null("null", "the document is null, expected an object (at byte 4)")]
    #[case::not_json("oops", "invalid JSON (at byte 0)")]
    #[case::no_items("{}", "items is missing (at byte 2)")]
    #[case::another_kind(
        r#"{"kind":"Status","items":[]}"#,
        "kind is `Status`, expected NodeList (at byte 28)"
    )]
    #[case::another_kind_without_items(
        r#"{"kind":"Status"}"#,
        "kind is `Status`, expected NodeList (at byte 17)"
    )]
    #[case::kind_is_a_number(r#"{"kind":1}"#, "kind is a number, expected a string (at byte 8)")]
    #[case::items_are_an_object(
        r#"{"items":{}}"#,
        "items is an object, expected a list (at byte 9)"
    )]
    #[case::trailing_garbage(
        r#"{"items":[]} x"#,
        "unexpected data after the end of the list (at byte 13)"
    )]
    #[case::trailing_list(
        r#"{"items":[]}{"items":[]}"#,
        "unexpected data after the end of the list (at byte 12)"
    )]
    #[case::cut_off(
        r#"{"items":[{},{"metadata":{"na"#,
        "items[1]: unexpected end of JSON input (at byte 29)"
    )]
    #[case::cut_off_between(
        r#"{"items":[{}"#,
        "items[0]: unexpected end of JSON input (at byte 12)"
    )]
    #[case::item_is_null(
        r#"{"items":[{},null]}"#,
        "items[1] is null, expected an object (at byte 17)"
    )]
    #[case::item_is_a_string(
        r#"{"items":["n"]}"#,
        "items[0] is a string, expected an object (at byte 10)"
    )]
    #[case::comma_at_the_end(r#"{"items":[{},]}"#, "items[1]: invalid JSON (at byte 13)")]
    #[case::metadata_is_a_list(
        r#"{"items":[{"metadata":[]}]}"#,
        "items[0].metadata is a list, expected an object (at byte 22)"
    )]
    #[case::name_is_a_number(
        r#"{"items":[{"metadata":{"name":1}}]}"#,
        "items[0].metadata.name is a number, expected a string (at byte 30)"
    )]
    #[case::labels_are_a_string(
        r#"{"items":[{"metadata":{"labels":""}}]}"#,
        "items[0].metadata.labels is a string, expected an object (at byte 32)"
    )]
    #[case::label_is_a_boolean(
        r#"{"items":[{"metadata":{"labels":{"node-role.kubernetes.io/worker":true}}}]}"#,
        "items[0].metadata.labels[*] is a boolean, expected a string (at byte 66)"
    )]
    #[case::status_is_a_string(
        r#"{"items":[{"status":"Ready"}]}"#,
        "items[0].status is a string, expected an object (at byte 20)"
    )]
    #[case::node_info_is_a_list(
        r#"{"items":[{"status":{"nodeInfo":[]}}]}"#,
        "items[0].status.nodeInfo is a list, expected an object (at byte 32)"
    )]
    #[case::architecture_is_an_object(
        r#"{"items":[{"status":{"nodeInfo":{"architecture":{}}}}]}"#,
        "items[0].status.nodeInfo.architecture is an object, expected a string (at byte 48)"
    )]
    fn a_list_is_invalid(#[case] list: &str, #[case] sentence: &str) {
        let error = census(list.as_bytes(), &[&Placement::default()]).unwrap_err();
        assert_eq!(error.to_string(), sentence);
    }

    #[test]
    fn only_strings_that_are_read_must_be_utf8() {
        let placement = Placement::default();
        let list = |field: &[u8]| [b"{\"items\":[{\"metadata\":{", field, b"}}]}"].concat();
        assert!(census(&list(b"\"name\":\"\xff\""), &[&placement]).is_err());
        assert!(census(&list(b"\"uid\":\"\xff\",\"\xff\":1"), &[&placement]).is_ok());
    }

    #[test]
    fn an_error_repeats_little_of_the_list() {
        let list = format!(r#"{{"kind":"{}\n","items":[]}}"#, "é\\n".repeat(10_000));
        let error = census(list.as_bytes(), &[]).unwrap_err().to_string();
        assert!(error.len() < 200 && !error.contains('\n'), "{error}");
    }

    #[test]
    fn every_cut_of_a_list_is_invalid() {
        let list = format!(r#"{{"kind":"NodeList","items":[{WORKER},{WORKER}]}}"#);
        for end in 0..list.len() {
            assert!(census(&list.as_bytes()[..end], &[]).is_err(), "{end} bytes");
        }
    }

    #[test]
    fn every_placement_has_its_own_census() {
        let on = |arch: &str| {
            let selector = [("kubernetes.io/arch".to_owned(), arch.to_owned())];
            Placement::parse(selector, None)
        };
        let list = r#"{"items":[
            {"metadata":{"labels":{"kubernetes.io/arch":"arm64","node-role.kubernetes.io/worker":""}},"status":{"nodeInfo":{"architecture":"arm64"}}},
            {"metadata":{"labels":{"kubernetes.io/arch":"amd64","node-role.kubernetes.io/master":""}},"status":{"nodeInfo":{"architecture":"amd64"}}}]}"#;
        let censuses = census(
            list.as_bytes(),
            &[&on("amd64"), &Placement::default(), &on("s390x")],
        );
        let summaries: Vec<_> = censuses.unwrap().iter().map(summary).collect();
        assert_eq!(summaries, ["amd64=1;amd64", "arm64=1;amd64", ";amd64"]);
    }

    #[track_caller]
    fn count(list: &str) -> Census {
        census(list.as_bytes(), &[&Placement::default()])
            .unwrap()
            .remove(0)
    }

    /// `amd64=2 arm64=1;s390x`: workload nodes, control-plane architectures.
    fn summary(census: &Census) -> String {
        let workload: Vec<_> = census
            .workload
            .iter()
            .map(|(architecture, count)| format!("{architecture}={count}"))
            .collect();
        let control_plane: Vec<_> = census.control_plane.iter().cloned().collect();
        format!("{};{}", workload.join(" "), control_plane.join(" "))
    }
}
