//! Lists of nodes, and versions of HCO. `fuzz/corpus/node_list` compares other lists with a model.

use std::collections::BTreeMap;

use kube_objects::placement::Placement;
use operator_models::hco::node::census;
use operator_models::hco::version::{HcoVersion, VersionSupport};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const WORKER: &str = r#"{"metadata":{"name":"w","labels":{"node-role.kubernetes.io/worker":""}},
    "status":{"nodeInfo":{"architecture":"amd64"}}}"#;

/// The workload nodes by architecture.
fn counted(list: &[u8]) -> Result<BTreeMap<String, usize>, String> {
    census(list, &[&Placement::default()]).map(|mut censuses| censuses.remove(0).workload)
}

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
    let shortened = "x".repeat(60) + "…";
    for (from, to, architecture) in [
        (r#""name":"w""#, r#""l\u0061bels":{},"name":null"#, "amd64"),
        (r#"worker":"""#, r#"worker":null"#, "amd64"),
        (
            r#""nodeInfo":"#,
            r#""nodeInfo":{"architecture":"x"},"nodeInfo":"#,
            "amd64",
        ),
        (
            r#""labels":"#,
            r#""labels":{"node-role.kubernetes.io/master":""},"labels":"#,
            "amd64",
        ),
        (r#""amd64""#, r#""x","architecture":"\u0061md64""#, "amd64"),
        // An architecture has at most 63 bytes.
        ("amd64", &"x".repeat(64), &shortened),
    ] {
        let list = format!(r#"{{"items":[{WORKER}]}}"#).replace(from, to);
        let expected = [(architecture.to_owned(), 1)].into();
        assert_eq!(counted(list.as_bytes()), Ok(expected), "{list}");
    }
    // A string that is not Unicode.
    for field in [
        b"\"name\":\"\xff\"".as_slice(),
        b"\"name\":\"\\ud800\"",
        b"\"uid\":\"\xff\",\"\xff\":1,\"\\udc00\":2",
    ] {
        let list = [b"{\"items\":[{\"metadata\":{", field, b"}}]}"].concat();
        assert_eq!(counted(&list), Ok(BTreeMap::new()), "{field:?}");
    }
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
fn both_numberings_are_read_and_unknown_versions_are_the_nearest_one() {
    use VersionSupport::{Known, Newer, Older, Unassigned};
    for (version, wanted) in [
        ("v1.18.1", Known(HcoVersion::V1_18)),
        ("1.19.0-unstable", Known(HcoVersion::V1_19)),
        ("1.21.0", Newer),
        ("v1.9", Older),
        ("4.24", Known(HcoVersion::NEWEST)),
        ("4.25.0", Newer),
        ("4.2", Older),
        ("5.1.0", Newer),
        ("0.1.0", Unassigned),
    ] {
        assert_eq!(VersionSupport::parse(version), Some(wanted), "{version}");
    }
    for version in ["", "main", "1", "1.", "latest.1", "4294967296.1"] {
        assert_eq!(VersionSupport::parse(version), None, "{version}");
    }
}
