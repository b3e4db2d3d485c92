//! A user's file, as kubectl reads it, and the lines of its fields.

use manifest::{Object, objects};
use rstest::rstest;
use serde_json::{Value, json};

fn read(text: &str) -> Vec<Object> {
    objects(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn refused(text: impl AsRef<[u8]>) -> String {
    let error = objects(text.as_ref()).expect_err("it is wrong");
    error.to_string()
}

/// Go writes a float beyond the range of integers like an integer.
fn with_floats(value: Value) -> Value {
    match value {
        Value::Number(number) if !number.is_i64() => json!(number.as_f64().unwrap()),
        Value::Array(items) => items.into_iter().map(with_floats).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, field)| (name, with_floats(field)))
            .collect(),
        other => other,
    }
}

/// Each row is the result of kubectl's own reader (k8s.io/apimachinery v0.37.2 `YAMLOrJSONDecoder`, with sigs.k8s.io/yaml
/// v1.6.0 and go.yaml.in/yaml/v2 v2.4.2): documents, or an error.
#[test]
fn a_file_means_what_it_means_to_kubectl() {
    let mut rows = 0;
    for row in include_str!("../kubectl-yaml.jsonl").lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        let text = row["yaml"].as_str().unwrap();
        match (objects(text.as_bytes()), row.get("json")) {
            (Ok(objects), Some(theirs)) => {
                let ours: Value = objects.into_iter().map(|object| object.value).collect();
                let theirs = with_floats(theirs.clone());
                assert_eq!(ours.to_string(), theirs.to_string(), "{text:?}");
            }
            (Err(_), None) => {}
            // DIVERGES: the reader rejects tags of types, line breaks that only kubectl recognizes, tabs after a colon, and
            // unusual field names.
            (Err(error), Some(_))
                if error.what.starts_with("values tagged !!")
                    || error.what.contains(" ends a line for kubectl")
                    || error.what.contains("':' must be followed by")
                    || error.what.starts_with("a field name ") => {}
            (ours, theirs) => panic!("{text:?}: {ours:?}, to kubectl {theirs:?}"),
        }
        rows += 1;
    }
    assert!(rows > 280, "{rows}");
}

const HYPERCONVERGED: &str = "\
# a comment
apiVersion: hco.kubevirt.io/v1beta1
kind: HyperConverged
metadata:
  name: kubevirt-hyperconverged
  annotations:
    a.b/c[d]: x
    a.b/c: y
    a: z
spec:
  featureGates:
    enableMultiArchBootImageImport: true
  dataImportCronTemplates:
  - metadata:
      name: one
      annotations:
        ssp.kubevirt.io/dict.architectures: amd64
  -
    metadata: {name: two, annotations: {
      ssp.kubevirt.io/dict.architectures: 'arm64'}}
  - spec:
      text: |
        several
        lines
      after: x
";

#[rstest]
#[case::nothing("", 2)]
#[case::a_field("kind", 3)]
#[case::a_map("metadata", 4)]
#[case::an_annotation("metadata.annotations[a.b/c]", 8)]
#[case::brackets_in_brackets("metadata.annotations[a.b/c[d]]", 7)]
#[case::the_shortest_name("metadata.annotations[a]", 9)]
#[case::a_name_with_dots_without_brackets("metadata.annotations.a.b/c", 8)]
#[case::of_the_first_item(
    "spec.dataImportCronTemplates[0].metadata.annotations[ssp.kubevirt.io/dict.architectures]",
    17
)]
#[case::an_item_below_its_dash("spec.dataImportCronTemplates[1]", 19)]
#[case::in_braces(
    "spec.dataImportCronTemplates[1].metadata.annotations[ssp.kubevirt.io/dict.architectures]",
    20
)]
#[case::behind_a_block("spec.dataImportCronTemplates[2].spec.after", 25)]
#[case::an_index_too_many("spec.dataImportCronTemplates[9].metadata.name", 13)]
#[case::cut_in_a_name("spec.dataImportCronTemplates[0].metadata.annota…", 14)]
fn a_path_has_a_line(#[case] path: &str, #[case] line: usize) {
    let objects = read(HYPERCONVERGED);
    assert_eq!(objects[0].line, 2);
    assert_eq!(objects[0].line_of(path), line);
}

#[test]
fn json_and_windows_files_have_lines() {
    let text = "\n{\n\t\"kind\": \"A\",\n\t\"spec\": {\"list\": [\n\t\t1,\n\t\t{\"x\": 2}\n\t]}\n}\n{\"kind\": \"B\"}";
    let objects = read(text);
    let lines = ["", "kind", "spec", "spec.list[0]", "spec.list[1].x"];
    assert_eq!(lines.map(|path| objects[0].line_of(path)), [2, 3, 4, 5, 6]);
    assert_eq!(objects[1].line, 9);
    let yaml_after_json = read("{\"kind\": \"A\"}\n---\n\nkind: B\nspec:\n  x: 1\n");
    let second = &yaml_after_json[1];
    assert_eq!((second.line, second.line_of("spec.x")), (4, 6));
    let windows = read("\u{feff}kind: A\r\nspec:\r\n  x: 1\r\n---\r\nkind: B\r\n");
    assert_eq!((windows[0].line_of("spec.x"), windows[1].line), (3, 5));
}

#[test]
fn what_comes_by_an_alias_has_its_line() {
    let text = "\
kind: A
base: &base
  x: {y: 1}
spec:
  alias: *base
  merged:
    <<: *base
    z: 2
  inline:
    <<:
      w: 3
  list:
    <<: [*base, {v: 4}]
";
    let object = &read(text)[0];
    let lines = [
        ("spec.alias.x.true", 5),
        ("spec.merged.x.true", 7),
        ("spec.merged.z", 8),
        ("spec.inline.w", 11),
        ("spec.list.x", 13),
        ("spec.list.v", 13),
    ];
    for (path, line) in lines {
        assert_eq!(object.line_of(path), line, "{path}");
    }
}

#[test]
fn the_items_of_a_list_stand_for_themselves() {
    let text = "\
apiVersion: v1
kind: List
items:
- kind: A
  spec: {x: 1}
- apiVersion: v1
  kind: List
  items:
  - kind: B
    spec:
      x: 2
---
apiVersion: hco.kubevirt.io/v1
kind: HyperConvergedList
items:
- metadata: {name: a}
---
kind: List
---
kind: AllowList
spec: 1
";
    let objects = read(text);
    let seen: Vec<_> = objects
        .iter()
        .map(|object| (object.line, object.line_of("spec.x"), object.value.clone()))
        .collect();
    assert_eq!(
        seen,
        [
            (4, 5, json!({"kind": "A", "spec": {"x": 1}})),
            (9, 11, json!({"kind": "B", "spec": {"x": 2}})),
            (
                16,
                16,
                json!({"apiVersion": "hco.kubevirt.io/v1", "kind": "HyperConverged", "metadata": {"name": "a"}})
            ),
            (20, 21, json!({"kind": "AllowList", "spec": 1})),
        ]
    );
}

#[rstest]
#[case::a_list(
    "---\n- a\n",
    "line 2, column 1: expected an object with `apiVersion` and `kind`"
)]
#[case::broken_yaml("a: 1\nb: [\nc: 2\n", "line 3, column 1: invalid indentation")]
#[case::broken_json(
    "{\n \"a\": 1\n \"b\": 2\n}",
    "line 3, column 5: while parsing a flow mapping, did not find expected ',' or '}'"
)]
#[case::cut_json(
    "{\"a\": ",
    "line 1, column 7: while parsing a node, did not find expected node content"
)]
#[case::yaml_after_json(
    "{\"a\": 1}\n-1-\n{}\n{}",
    "line 2, column 1: expected an object with `apiVersion` and `kind`"
)]
#[case::broken_json_after_json(
    "{\"a\": 1}\n{\"b\": 2}\n{\"c\" 3}",
    "line 2, column 1: this is not valid JSON"
)]
#[case::a_tag(
    "a: 1\nb: !!binary YQ==\n",
    "line 2, column 4: values tagged !!binary are not supported"
)]
#[case::a_line_that_kubectl_ends(
    "a: 1\n# no\u{2028}b: 2\n",
    "line 2, column 5: the character U+2028 ends a line for kubectl; in a value, write it as an escape in double quotes"
)]
#[case::tag_of_a_number(
    "a: 1\nb: !!int 1\n",
    "line 2, column 4: values tagged !!int are not supported"
)]
#[case::itself(
    "a: &a\n  b: *a\n",
    "line 2, column 6: the alias refers to a value that contains it, or to another document"
)]
#[case::a_null_key(
    "{a: 1}\n---\n~: 1\n",
    "line 3, column 1: a field name must be a string; put it in quotes"
)]
#[case::not_text(
    b"a: 1\nb: \xc3\xa4\xff\n",
    "line 2, column 5: the text is not valid UTF-8; save the file as UTF-8"
)]
fn errors_have_their_place(#[case] text: impl AsRef<[u8]>, #[case] sentence: &str) {
    assert_eq!(refused(text), sentence);
}

/// The last document is JSON that is not valid YAML.
#[test]
fn too_many_documents_are_refused() {
    let last = "{\"a\":\t1}";
    for (number, is_read) in [(9_999, true), (10_000, false)] {
        let text = format!("{}{last}\n", "{\"a\": 1}\n".repeat(number));
        assert_eq!(objects(text.as_bytes()).is_ok(), is_read, "{number}");
    }
}

#[test]
fn excessive_aliases_and_nesting_are_refused() {
    const SIZE: &str = "the anchors and aliases expand the document to more than 16 MiB; replace the aliases with their values";
    const DEPTH: &str = "the value is nested more than 100 levels deep";
    let nested = |open: &str, levels: usize, close: &str| {
        format!("a: {}1{}", open.repeat(levels), close.repeat(levels))
    };
    let aliases = |start: &str, levels: usize, value: &dyn Fn(&str) -> String| {
        let lines = (1..levels).map(|level| {
            let alias = format!("*a{}", level - 1);
            format!("a{level}: &a{level} {}\n", value(&alias))
        });
        format!("a0: &a0 {start}\n{}", lines.collect::<String>())
    };
    let ten = |item: &str| format!("[{}]", [item; 10].join(", "));
    let blocks = (0..2_000).map(|level| format!("{}a:\n", " ".repeat(level)));
    let text = "x".repeat(1 << 20);
    for (text, error) in [
        (
            aliases(&ten("lol"), 30, &ten),
            format!("line 6, column 10: {SIZE}"),
        ),
        (
            format!("a: &a {text}\nb:\n{}", "- *a\n".repeat(20)),
            format!("line 17, column 3: {SIZE}"),
        ),
        // Each anchor would keep the text once more.
        (
            format!("a: {}{text}{}", "&a [".repeat(40), "]".repeat(40)),
            format!("line 1, column 100: {SIZE}"),
        ),
        (nested("[", 100, "]"), DEPTH.to_owned()),
        (nested("{a: ", 100, "}"), DEPTH.to_owned()),
        (
            aliases("{x: 1}", 200, &|alias| format!("{{x: {alias}}}")),
            DEPTH.to_owned(),
        ),
        (blocks.collect(), DEPTH.to_owned()),
        (nested("[", 20_000, "]"), String::new()),
        (nested("{a: ", 20_000, "}"), String::new()),
        (format!("{{\"x\": {}}}", "[".repeat(20_000)), String::new()),
    ] {
        let refused = refused(text);
        assert!(refused.ends_with(&error), "{error}: {refused}");
    }
    for (open, close) in [("[", "]"), ("{a: ", "}")] {
        assert_eq!(read(&nested(open, 99, close)).len(), 1);
    }
}
