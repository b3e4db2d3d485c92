//! Generated documents, read by the reader and by `serde_json`.

use json_stream::Error;
use proptest::prelude::*;

use crate::tree::{compare, skip};

/// A text that is a valid document, with any escapes, any whitespace, and duplicate keys.
fn document() -> impl Strategy<Value = String> {
    value(prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?",
        string(),
    ])
}

/// A list or an object, so that every truncated prefix of it is incomplete.
fn container() -> impl Strategy<Value = String> {
    document().prop_map(|document| format!("{{\"a\":[{document}]}}"))
}

fn string() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        3 => "[a-d/ ]{0,40}",
        1 => "\\PC{0,5}".prop_map(|text| text.replace(['"', '\\'], "")),
        1 => r#"\\["\\/bfnrt]"#,
        1 => "\\\\u[0-9a-fA-F]{4}",
        1 => "\\\\ud[89ab][0-9a-f]{2}\\\\ud[c-f][0-9a-f]{2}",
    ];
    prop::collection::vec(part, 0..4).prop_map(|parts| format!("\"{}\"", parts.concat()))
}

fn value(leaf: impl Strategy<Value = String> + 'static) -> impl Strategy<Value = String> {
    let blank = || "[ \t\r\n]{0,3}";
    let blank = move || prop_oneof![4 => Just(String::new()), 1 => blank()];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        let item = (blank(), inner, blank()).prop_map(|(a, item, b)| a + &item + &b);
        let member = (blank(), string(), blank(), item.clone())
            .prop_map(|(a, key, b, item)| a + &key + &b + ":" + &item);
        let items = prop::collection::vec(item, 0..6);
        let members = prop::collection::vec(member, 0..6);
        prop_oneof![
            items.prop_map(|items| format!("[{}]", items.join(","))),
            members.prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn a_document_is_accepted_and_has_the_same_values(document in document()) {
        prop_assert_eq!(skip(document.as_bytes()), Ok(()));
        compare(document.as_bytes());
    }

    #[test]
    fn a_document_is_read_the_same_at_any_offset(document in document(), blanks in 0..130_usize) {
        compare((" ".repeat(blanks) + &document).as_bytes());
    }

    #[test]
    fn a_damaged_document_is_judged_the_same(
        document in document(),
        place in any::<prop::sample::Index>(),
        with in prop_oneof![
            prop::sample::select(b"\"\\{}[],: \n\x00\x1f\xff0-e.u".to_vec()).prop_map(Some),
            Just(None),
        ],
    ) {
        let mut bytes = document.into_bytes();
        let place = place.index(bytes.len());
        match with {
            Some(byte) => bytes[place] = byte,
            None => drop(bytes.remove(place)),
        }
        compare(&bytes);
    }

    #[test]
    fn any_bytes_are_judged_the_same(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        compare(&bytes);
    }

    #[test]
    fn any_marks_are_judged_the_same(marks in r#"[\[\]{}:,"\\u0-1aetrulns. -]{0,60}"#) {
        compare(marks.as_bytes());
    }
}

proptest! {
    #[test]
    fn every_cut_of_a_document_ends_unexpectedly(document in container()) {
        for end in 0..document.len() {
            let cut = &document.as_bytes()[..end];
            prop_assert_eq!(skip(cut), Err(Error::UnexpectedEnd));
            compare(cut);
        }
    }
}

#[test]
fn a_string_can_end_anywhere_in_a_block() {
    for length in 0..200 {
        for tail in ["", "\\\"", "\\\\", "\\u00e9", "\n", "\\"] {
            compare(format!("[\"{}{tail}\",1]", "x".repeat(length)).as_bytes());
        }
    }
}

/// Replays the inputs in `fuzz/corpus`.
#[test]
fn inputs_of_the_fuzzer_are_read_as_serde_json_reads_them() {
    test_data::replay("json_stream", compare);
}
