//! Small documents, each of which tests one rule of the syntax.

use json_stream::{Error, Kind, MAX_DEPTH, Reader};
use rstest::rstest;

use crate::tree::{compare, skip};

#[rstest]
#[case::literals("[true,false,null]")]
#[case::half_a_literal("tru")]
#[case::a_literal_too_long("nulll")]
#[case::a_wrong_literal("nall")]
#[case::numbers("[0,-0,10,-1.5,0.25,1e5,1E+5,1.0e-5]")]
#[case::number_too_large("1e999")]
#[case::leading_zero("01")]
#[case::negative_leading_zero("-01")]
#[case::plus("+1")]
#[case::minus_alone("-")]
#[case::no_digit_before_the_point(".5")]
#[case::no_digit_after_the_point("1.")]
#[case::no_digit_in_the_exponent("1e")]
#[case::no_digit_after_the_sign("1e+")]
#[case::hexadecimal("0x10")]
#[case::empty_containers("[{},[],{\"\":{}}]")]
#[case::blanks(" [ 1 ,\t{ \"a\" :\r\n1 } ] ")]
#[case::other_blanks("[\u{c}1]")]
#[case::comma_at_the_end_of_a_list("[1,]")]
#[case::comma_at_the_end_of_an_object("{\"a\":1,}")]
#[case::comma_at_the_start("[,1]")]
#[case::comma_at_the_start_of_an_object("{,\"a\":1}")]
#[case::two_commas("[1,,2]")]
#[case::no_comma("[1 2]")]
#[case::no_comma_in_an_object("{\"a\":1 \"b\":2}")]
#[case::no_colon("{\"a\" 1}")]
#[case::no_value("{\"a\":}")]
#[case::key_without_quotes("{a:1}")]
#[case::number_for_a_key("{1:1}")]
#[case::same_key_twice(r#"{"a":1,"a":[2],"\u0061":{}}"#)]
#[case::list_closed_as_an_object("[1}")]
#[case::object_closed_as_a_list("{\"a\":1]")]
#[case::escapes(r#""\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00""#)]
#[case::half_a_surrogate_pair(r#""\uD83D""#)]
#[case::unknown_escape(r#""\x41""#)]
#[case::three_digits(r#""\u00e""#)]
#[case::digits_that_are_none(r#""\u00zz""#)]
#[case::control_character("\"\u{1}\"")]
#[case::line_break_in_a_string("\"\n\"")]
#[case::delete_is_not_a_control_character("\"\u{7f}\"")]
#[case::other_quotes("'a'")]
#[case::comment("/* */1")]
#[case::nothing("")]
#[case::two_values("1 2")]
fn a_value_is_read_as_serde_json_reads_it(#[case] value: &str) {
    compare(value.as_bytes());
    compare(format!("{{\"a\":{value}}}").as_bytes());
    compare(format!("[{value}]").as_bytes());
}

#[rstest]
#[case::end_of_a_literal("tru", Error::UnexpectedEnd)]
#[case::end_of_an_escape(r#""\u00"#, Error::UnexpectedEnd)]
#[case::end_of_a_number("-", Error::UnexpectedEnd)]
#[case::bad_digits(r#""\u0x"#, Error::Syntax)]
#[case::bad_literal("trx", Error::Syntax)]
#[case::text("oops", Error::Syntax)]
fn an_error_tells_the_end_from_bad_syntax(#[case] document: &str, #[case] error: Error) {
    assert_eq!(skip(document.as_bytes()), Err(error));
}

#[test]
fn only_decoded_strings_must_be_utf8() {
    assert_eq!(skip(b"{\"\xff\":\"\xff\"}"), Ok(()));
    let text = Reader::new(b"\"\xff\"").text().unwrap();
    assert_eq!(text.decode(), Err(Error::InvalidString));
    assert_eq!(text.bytes().as_deref(), Ok(b"\xff".as_slice()));
    let escaped = Reader::new(b"\"\\n\xff\"").text().unwrap();
    assert_eq!(escaped.decode(), Err(Error::InvalidString));
    assert_eq!(escaped.bytes(), Err(Error::InvalidString));
}

#[test]
fn nesting_is_limited() {
    let nested = |depth: u32| {
        let depth = depth as usize;
        "[".repeat(depth) + &"]".repeat(depth)
    };
    assert_eq!(skip(nested(MAX_DEPTH + 1).as_bytes()), Ok(()));
    assert_eq!(skip(nested(MAX_DEPTH + 2).as_bytes()), Err(Error::TooDeep));
}

#[rstest]
#[case::end(Error::UnexpectedEnd, "unexpected end of JSON input")]
#[case::syntax(Error::Syntax, "invalid JSON")]
#[case::depth(Error::TooDeep, "a value is nested more than 64 levels deep")]
#[case::text(Error::InvalidString, "a string is not valid UTF-8")]
fn an_error_is_a_sentence(#[case] error: Error, #[case] sentence: &str) {
    assert_eq!(error.to_string(), sentence);
}

#[rstest]
#[case::no_comma_in_a_list("[1 2]")]
#[case::list_closed_as_an_object("[1}")]
#[case::no_comma_in_an_object(r#"{"a":1 "b":2}"#)]
#[case::comma_at_the_start(r#"{,"a":1}"#)]
#[case::number_for_a_key("{1:1}")]
fn what_is_read_is_checked_like_what_is_skipped(#[case] document: &str) {
    let bytes = document.as_bytes();
    let read = if document.starts_with('[') {
        Reader::new(bytes).list(Reader::skip)
    } else {
        Reader::new(bytes).object(|_| Ok(Some(())), |reader, ()| reader.skip())
    };
    assert_eq!(read, Err(Error::Syntax));
}

#[test]
fn a_wrong_kind_is_an_error_and_not_skipped() {
    let mut reader = Reader::new(b"7");
    assert_eq!(reader.kind(), Ok(Kind::Number));
    assert!(reader.clone().text().is_err());
    assert!(reader.clone().list(|_| Ok::<(), Error>(())).is_err());
    let nothing = reader.object(|_| Ok(Some(())), |_, ()| Ok::<(), Error>(()));
    assert!(nothing.is_err());
}
