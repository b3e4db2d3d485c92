//! Texts: names, quantities, and user input in sentences.

use kube_objects::name::{is_dns1123_label, is_dns1123_subdomain};
use kube_objects::quantity::Quantity;
use kube_objects::text::{cut, distance, end, escape, nearest, percent_encode, quote};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn a_value_is_escaped_and_cut() {
    let quoted = "`a\\u{0}b\\u{202e}c\\u{60}d\\u{a}`";
    assert_eq!(quote("a\0b\u{202e}c`d\n"), quoted);
    let quoted = format!("`{}…`", "x".repeat(48));
    assert_eq!(quote(&"x".repeat(10_000_000)), quoted);
    for (text, limit, escaped) in [("abc", 3, "abc"), ("abcd", 3, "abc…"), ("aä", 2, "a…")] {
        assert_eq!(escape(text, limit), escaped);
    }
    for (limit, line) in [(8, "ääää"), (7, "ää…"), (6, "ä…")] {
        assert_eq!(cut("ääää".to_owned(), limit), line);
    }
    for (text, shown) in [("abc", "abc"), ("äbc", "…bc"), ("abcd", "…bcd")] {
        assert_eq!(end(text, 3), shown);
    }
    // Never inside an escape.
    for (name, limit, encoded) in [("a b", 3, "a"), ("ab ", 5, "ab%20"), ("ä", 9, "%C3%A4")] {
        assert_eq!(percent_encode(name, limit), encoded);
    }
}

#[test]
fn the_nearest_name_is_the_first_of_those_that_are_equally_near() {
    for (one, other, most, expected) in [
        ("kitten", "sitting", 3, Some(3)),
        ("kitten", "sitting", 2, None),
        ("Abcdef", "bcdefA", 2, Some(2)),
        (&"x".repeat(1_000_000), "sitting", 2, None),
    ] {
        assert_eq!(distance(one, other, most), expected, "{one} {other}");
    }
    let names = ["levels", "levely"];
    assert_eq!(nearest("Levelx", &names), Some("levels"));
    assert_eq!(nearest("updates", &names), None);
}

#[test]
fn a_subdomain_is_lower_case_and_bounded() {
    for name in ["a", "a-b.c0", "0", &"a".repeat(253)] {
        assert!(is_dns1123_subdomain(name), "{name}");
    }
    for name in [
        "",
        ".",
        "a.",
        "-a",
        "a-",
        "A",
        "a_b",
        "a b",
        "ä",
        &"a".repeat(254),
    ] {
        assert!(!is_dns1123_subdomain(name), "{name}");
    }
    assert!(is_dns1123_label(&"a".repeat(63)) && !is_dns1123_label(&"a".repeat(64)));
    assert!(!is_dns1123_label("a.b"));
}

#[test]
fn the_value_of_a_quantity_is_rounded_away_from_zero() {
    const VALUES: &str = "+7=7|-7=-7|007.=7|2k=2000|1E=1000000000000000000|1Ki=1024|1Ei=1152921504606846976\
        |0.5Mi=524288|1e3=1000|1E+3=1000|5000e-3=5|5000m=5|5000000000n=5|-.5=-1|1048575.5=1048576\
        |-1e-2147483648=-1|0.00000000000000000000000000000000000000001=1|1.0000000000000000000000000000000000001=2\
        |9223372036854775807=9223372036854775807|99999999999999999999Ei=9223372036854775807|0e2147483647=0\
        |9223372036854775808=|1e2147483647=|999999999999999999999999999999999999999999999=";
    for row in VALUES.split('|') {
        let (text, value) = row.split_once('=').unwrap();
        assert_eq!(
            Quantity::parse(text).unwrap().value(),
            value.parse().ok(),
            "{text}"
        );
    }
    for text in "|-|.|Gi|1.2.3|1Zi|1gi|1 Gi| 1|1e|1e1.5|--1|0x10|1_0|1e99999999999".split('|') {
        assert_eq!(Quantity::parse(text), None, "{text}");
    }
    let read = |text: &str| Quantity::read(super::json(text));
    for (json, text) in [(r#""1Mi""#, "1Mi"), ("1048576", "1Mi"), ("null", "0")] {
        assert_eq!(read(json), Quantity::parse(text));
    }
    for text in ["true", "[]", "{}", r#""x""#] {
        assert_eq!(read(text), None, "{text}");
    }
}
