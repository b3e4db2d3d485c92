//! What HCO learns from the cluster's nodes: the architectures, and how many
//! nodes have them. The list is reduced while it is read; no node is kept, and
//! nothing is decided here about what the architectures mean.

mod error;
mod wanted;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

pub use self::error::ListError;

use self::error::Problem;
use self::wanted::{ARCHITECTURE, CONTROL_PLANE, MASTER, Values, WORKER, Wanted};
use crate::placement::{NodeView, Placement};
use crate::scan::{Fault, Kind, Scanner, Text};

/// The architectures of a cluster, for one placement. Nodes that do not say
/// theirs are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Census {
    /// How many workload nodes have each architecture.
    pub workload: BTreeMap<String, usize>,
    /// The architectures of the control-plane nodes, whatever the placement.
    pub control_plane: BTreeSet<String>,
    /// What the workload architectures become if the nodeSelector also asks for `kubernetes.io/arch` with this value.
    pub by_label: BTreeMap<String, BTreeSet<String>>,
}

/// Counts the nodes of a list as Kubernetes writes it, once for each
/// placement. The list may be masked: labels, name and
/// `status.nodeInfo.architecture` are all that is read. Of a key that is there
/// twice the last one counts, and null is as good as absent.
///
/// MIRRORS: hyperconverged-cluster-operator, pkg/internal/nodeinfo/nodeinfo.go,
/// `processNodeInfo`.
///
/// # Errors
///
/// If the bytes are no list of nodes: cut off, malformed, of another kind, with
/// an item that is no object, or of another type where they are read.
pub fn census(list: &[u8], placements: &[&Placement]) -> Result<Vec<Census>, ListError> {
    let mut scanner = Scanner::new(list);
    let mut reader = Reader::new(placements);
    reader
        .list(&mut scanner)
        .map(|()| reader.censuses)
        .map_err(|problem| ListError::new(problem, reader.item, scanner.offset()))
}

/// Reads the list from top to bottom. `'a` is the list, `'p` the placements.
struct Reader<'a, 'p> {
    placements: Vec<(&'p Placement, Vec<usize>)>,
    wanted: Wanted,
    censuses: Vec<Census>,
    /// The item that is being read.
    item: Option<usize>,
    node: Node<'a>,
}

/// What is kept of a node until it is counted.
#[derive(Default)]
struct Node<'a> {
    name: Option<Cow<'a, str>>,
    architecture: Option<Cow<'a, str>>,
    values: Values<'a>,
}

impl<'a, 'p> Reader<'a, 'p> {
    fn new(placements: &[&'p Placement]) -> Self {
        let wanted = Wanted::by(placements);
        Self {
            placements: placements
                .iter()
                .map(|placement| (*placement, wanted.slots_of(placement)))
                .collect(),
            censuses: placements.iter().map(|_| Census::default()).collect(),
            item: None,
            node: Node {
                values: vec![None; wanted.len()],
                ..Node::default()
            },
            wanted,
        }
    }

    fn list(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Problem> {
        if scanner.is_at_end() {
            return Err(Problem::Empty);
        }
        let mut kind = None;
        let mut has_items = false;
        if !has_kind(scanner, Kind::Object, "it")? {
            return Err(wrong("it", Kind::Object, Kind::Null));
        }
        scanner.object(one_of(&["kind", "items"]), |scanner, field| {
            if field == 0 {
                kind = text(scanner, "`kind`")?;
                Ok(())
            } else {
                has_items = true;
                self.items(scanner)
            }
        })?;
        if !scanner.is_at_end() {
            return Err(Problem::Trailing);
        }
        match kind.as_deref() {
            None | Some("NodeList" | "List") => {}
            Some(kind) => return Err(Problem::foreign(kind)),
        }
        if has_items {
            Ok(())
        } else {
            Err(Problem::NoItems)
        }
    }

    fn items(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Problem> {
        for census in &mut self.censuses {
            *census = Census::default();
        }
        if !has_kind(scanner, Kind::List, "`items`")? {
            return Ok(());
        }
        let mut index = 0;
        scanner.list(|scanner| {
            self.item = Some(index);
            index += 1;
            self.item(scanner)
        })?;
        self.item = None;
        Ok(())
    }

    fn item(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Problem> {
        if !has_kind(scanner, Kind::Object, "it")? {
            return Err(wrong("it", Kind::Object, Kind::Null));
        }
        self.node.name = None;
        self.node.architecture = None;
        self.node.values.fill(None);
        scanner.object(one_of(&["metadata", "status"]), |scanner, field| {
            if field == 0 {
                self.metadata(scanner)
            } else {
                self.status(scanner)
            }
        })?;
        self.count();
        Ok(())
    }

    fn metadata(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Problem> {
        self.node.name = None;
        self.node.values.fill(None);
        if !has_kind(scanner, Kind::Object, "`metadata`")? {
            return Ok(());
        }
        scanner.object(one_of(&["name", "labels"]), |scanner, field| {
            if field == 0 {
                self.node.name = text(scanner, "`metadata.name`")?;
                Ok(())
            } else {
                self.labels(scanner)
            }
        })
    }

    fn labels(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Problem> {
        self.node.values.fill(None);
        if !has_kind(scanner, Kind::Object, "`metadata.labels`")? {
            return Ok(());
        }
        let Self { wanted, node, .. } = self;
        scanner.object(
            |key| wanted.slot_of(key),
            |scanner, slot| {
                // Go reads null into a string as no change of the empty one.
                let value = text(scanner, "a label's value")?.unwrap_or_default();
                if let Some(place) = node.values.get_mut(slot) {
                    *place = Some(value);
                }
                Ok(())
            },
        )
    }

    fn status(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Problem> {
        self.node.architecture = None;
        if !has_kind(scanner, Kind::Object, "`status`")? {
            return Ok(());
        }
        scanner.object(one_of(&["nodeInfo"]), |scanner, _| self.node_info(scanner))
    }

    fn node_info(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Problem> {
        self.node.architecture = None;
        if !has_kind(scanner, Kind::Object, "`status.nodeInfo`")? {
            return Ok(());
        }
        scanner.object(one_of(&["architecture"]), |scanner, _| {
            self.node.architecture = text(scanner, "`status.nodeInfo.architecture`")?;
            Ok(())
        })
    }

    fn count(&mut self) {
        let Node {
            name,
            architecture,
            values,
        } = &self.node;
        let Some(architecture) = architecture.as_deref().filter(|text| !text.is_empty()) else {
            return;
        };
        let has = |slot: usize| values.get(slot).is_some_and(Option::is_some);
        let is_control_plane = has(CONTROL_PLANE) || has(MASTER);
        for ((placement, slots), census) in self.placements.iter().zip(&mut self.censuses) {
            let name = name.as_deref().unwrap_or_default();
            let is_placed = placement.matches(&NodeView::new(name, values, slots));
            if is_placed && let Some(Some(label)) = values.get(ARCHITECTURE) {
                let labelled = census
                    .by_label
                    .entry(label.clone().into_owned())
                    .or_default();
                labelled.insert(architecture.to_owned());
            }
            let is_workload = if placement.restricts() {
                is_placed
            } else {
                has(WORKER)
            };
            if is_workload {
                match census.workload.get_mut(architecture) {
                    Some(count) => *count += 1,
                    None => {
                        census.workload.insert(architecture.to_owned(), 1);
                    }
                }
            }
            if is_control_plane && !census.control_plane.contains(architecture) {
                census.control_plane.insert(architecture.to_owned());
            }
        }
    }
}

/// Whether a value of this kind comes next. If it is null it is read, and
/// there is none.
fn has_kind(scanner: &mut Scanner<'_>, kind: Kind, what: &'static str) -> Result<bool, Problem> {
    match scanner.kind()? {
        found if found == kind => Ok(true),
        Kind::Null => {
            scanner.skip()?;
            Ok(false)
        }
        found => Err(wrong(what, kind, found)),
    }
}

/// Finds the fields with these names, by their index.
fn one_of<'a>(names: &'static [&'static str]) -> impl Fn(Text<'a>) -> Result<Option<usize>, Fault> {
    |key| {
        if let Some(key) = key.as_plain() {
            Ok(names.iter().position(|name| name.as_bytes() == key))
        } else {
            let key = key.decode()?;
            Ok(names.iter().position(|name| **name == key))
        }
    }
}

/// Reads a string, or null as none.
fn text<'a>(
    scanner: &mut Scanner<'a>,
    what: &'static str,
) -> Result<Option<Cow<'a, str>>, Problem> {
    if has_kind(scanner, Kind::String, what)? {
        Ok(Some(scanner.text()?.decode()?))
    } else {
        Ok(None)
    }
}

fn wrong(what: &'static str, expected: Kind, found: Kind) -> Problem {
    Problem::WrongKind {
        what,
        expected,
        found,
    }
}

// rstest and wasm-bindgen-test do not go together: in wasm the corpora test this.
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use rstest::rstest;

    use super::{Census, census};
    use crate::placement::Placement;

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
    #[case::empty("", "the node list, at byte 0: there is nothing in it")]
    #[case::blank(" \n", "the node list, at byte 2: there is nothing in it")]
    #[case::a_list("[]", "the node list, at byte 0: it is a list, not an object")]
    #[case::null("null", "the node list, at byte 4: it is null, not an object")]
    #[case::not_json("oops", "the node list, at byte 0: it is no JSON")]
    #[case::no_items("{}", "the node list, at byte 2: it has no `items`")]
    #[case::another_kind(
        r#"{"kind":"Status","items":[]}"#,
        "the node list, at byte 28: its kind is `Status`, not NodeList"
    )]
    #[case::another_kind_without_items(
        r#"{"kind":"Status"}"#,
        "the node list, at byte 17: its kind is `Status`, not NodeList"
    )]
    #[case::kind_is_a_number(
        r#"{"kind":1}"#,
        "the node list, at byte 8: `kind` is a number, not a string"
    )]
    #[case::items_are_an_object(
        r#"{"items":{}}"#,
        "the node list, at byte 9: `items` is an object, not a list"
    )]
    #[case::trailing_garbage(
        r#"{"items":[]} x"#,
        "the node list, at byte 13: something follows its end"
    )]
    #[case::trailing_list(
        r#"{"items":[]}{"items":[]}"#,
        "the node list, at byte 12: something follows its end"
    )]
    #[case::cut_off(
        r#"{"items":[{},{"metadata":{"na"#,
        "item 1 of the node list, at byte 29: it is cut off here"
    )]
    #[case::cut_off_between(
        r#"{"items":[{}"#,
        "item 0 of the node list, at byte 12: it is cut off here"
    )]
    #[case::item_is_null(
        r#"{"items":[{},null]}"#,
        "item 1 of the node list, at byte 17: it is null, not an object"
    )]
    #[case::item_is_a_string(
        r#"{"items":["n"]}"#,
        "item 0 of the node list, at byte 10: it is a string, not an object"
    )]
    #[case::comma_at_the_end(
        r#"{"items":[{},]}"#,
        "item 1 of the node list, at byte 13: it is no JSON"
    )]
    #[case::metadata_is_a_list(
        r#"{"items":[{"metadata":[]}]}"#,
        "item 0 of the node list, at byte 22: `metadata` is a list, not an object"
    )]
    #[case::name_is_a_number(
        r#"{"items":[{"metadata":{"name":1}}]}"#,
        "item 0 of the node list, at byte 30: `metadata.name` is a number, not a string"
    )]
    #[case::labels_are_a_string(
        r#"{"items":[{"metadata":{"labels":""}}]}"#,
        "item 0 of the node list, at byte 32: `metadata.labels` is a string, not an object"
    )]
    #[case::label_is_a_boolean(
        r#"{"items":[{"metadata":{"labels":{"node-role.kubernetes.io/worker":true}}}]}"#,
        "item 0 of the node list, at byte 66: a label's value is a boolean, not a string"
    )]
    #[case::status_is_a_string(
        r#"{"items":[{"status":"Ready"}]}"#,
        "item 0 of the node list, at byte 20: `status` is a string, not an object"
    )]
    #[case::node_info_is_a_list(
        r#"{"items":[{"status":{"nodeInfo":[]}}]}"#,
        "item 0 of the node list, at byte 32: `status.nodeInfo` is a list, not an object"
    )]
    #[case::architecture_is_an_object(
        r#"{"items":[{"status":{"nodeInfo":{"architecture":{}}}}]}"#,
        "item 0 of the node list, at byte 48: `status.nodeInfo.architecture` is an object, not a string"
    )]
    fn a_list_is_refused(#[case] list: &str, #[case] sentence: &str) {
        let error = census(list.as_bytes(), &[&Placement::default()]).unwrap_err();
        assert_eq!(error.to_string(), sentence);
    }

    #[test]
    fn a_text_that_is_read_must_be_utf8_and_others_need_not() {
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
    fn every_cut_of_a_list_is_refused() {
        let list = format!(r#"{{"kind":"NodeList","items":[{WORKER},{WORKER}]}}"#);
        for end in 0..list.len() {
            assert!(census(&list.as_bytes()[..end], &[]).is_err(), "{end} bytes");
        }
    }

    #[test]
    fn placements_are_counted_apart() {
        let on = |arch: &str| {
            let selector = [("kubernetes.io/arch".to_owned(), arch.to_owned())];
            Placement::parse(selector.into(), None)
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
