//! The syntax of label keys and values.

use crate::name::is_dns1123_subdomain;

/// The longest name part of a key, and the longest value, in bytes.
const NAME_MAX: usize = 63;

/// Whether a string can be the key of a label, or of an annotation in lowercase.
pub fn is_label_key(key: &str) -> bool {
    key_error(key).is_none()
}

/// Whether a string can be the value of a label.
pub fn is_label_value(value: &str) -> bool {
    value_error(value).is_none()
}

/// Why a string is not a valid label key; `None` if it is valid.
///
/// MIRRORS: k8s.io/apimachinery/pkg/api/validate/content/kube.go, `IsLabelKey`.
pub(crate) fn key_error(key: &str) -> Option<&'static str> {
    let name = match key.split_once('/') {
        None => key,
        Some((_, name)) if name.contains('/') => {
            return Some("the key must have at most one slash");
        }
        Some(("", _)) => return Some("the prefix of the key is empty"),
        Some((prefix, _)) if !is_dns1123_subdomain(prefix) => {
            return Some(
                "the prefix of the key must be a domain name: at most 253 lowercase letters, digits, `-`, and `.`",
            );
        }
        Some((_, name)) => name,
    };
    if name.is_empty() {
        Some("the key has no name")
    } else if name.len() > NAME_MAX {
        Some("the name part of the key can have at most 63 characters")
    } else if !is_name(name) {
        Some(
            "the name part of the key can contain only letters, digits, `-`, `_`, and `.`, \
             and must begin and end with a letter or digit",
        )
    } else {
        None
    }
}

/// Why a string is not a valid label value; `None` if it is valid. The empty string is valid.
///
/// MIRRORS: k8s.io/apimachinery/pkg/api/validate/content/kube.go, `IsLabelValue`.
pub(crate) fn value_error(value: &str) -> Option<&'static str> {
    if value.len() > NAME_MAX {
        Some("a label value can have at most 63 characters")
    } else if !value.is_empty() && !is_name(value) {
        Some(
            "a label value can contain only letters, digits, `-`, `_`, and `.`, \
             and must begin and end with a letter or digit",
        )
    } else {
        None
    }
}

/// Whether a string has only letters and digits, and `-`, `_`, and `.` between them.
fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

// rstest and wasm-bindgen-test cannot be combined. In wasm, the conformance samples test this.
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use rstest::rstest;

    use super::{key_error, value_error};

    #[rstest]
    #[case::plain("zone")]
    #[case::one_letter("z")]
    #[case::capitals_and_marks("My_Zone.v1-b")]
    #[case::longest_name(&"n".repeat(63))]
    #[case::prefixed("kubernetes.io/arch")]
    #[case::prefix_of_digits("1.2.3/x")]
    #[case::longest_prefix(&format!("{}/x", "p".repeat(253)))]
    fn a_key_is_valid(#[case] key: &str) {
        assert_eq!(key_error(key), None);
    }

    #[rstest]
    #[case::empty("", "no name")]
    #[case::no_name("kubernetes.io/", "no name")]
    #[case::no_prefix("/arch", "prefix of the key is empty")]
    #[case::two_slashes("a/b/c", "at most one slash")]
    #[case::only_slashes("//", "at most one slash")]
    #[case::capitals_in_the_prefix("Example.com/x", "prefix of the key must be")]
    #[case::empty_label_in_the_prefix("a..b/x", "prefix of the key must be")]
    #[case::prefix_ends_in_a_dash("a-/x", "prefix of the key must be")]
    #[case::prefix_too_long(&format!("{}/x", "p".repeat(254)), "prefix of the key must be")]
    #[case::name_too_long(&"n".repeat(64), "at most 63")]
    #[case::blank("my zone", "can contain only")]
    #[case::name_begins_with_a_dot(".zone", "can contain only")]
    #[case::line_break_at_the_end("zone\n", "can contain only")]
    #[case::not_ascii("zoné", "can contain only")]
    fn a_key_is_invalid(#[case] key: &str, #[case] reason: &str) {
        assert!(key_error(key).is_some_and(|error| error.contains(reason)));
    }

    #[rstest]
    #[case::empty("", true)]
    #[case::plain("amd64", true)]
    #[case::longest(&"v".repeat(63), true)]
    #[case::too_long(&"v".repeat(64), false)]
    #[case::signed("-5", false)]
    #[case::blank(" ", false)]
    #[case::slash("a/b", false)]
    #[case::line_break_at_the_end("a\n", false)]
    fn a_value_is_checked(#[case] value: &str, #[case] accepted: bool) {
        assert_eq!(value_error(value).is_none(), accepted);
    }
}
