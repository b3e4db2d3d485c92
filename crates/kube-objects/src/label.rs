//! The syntax of label keys and values.

use crate::name::is_dns1123_subdomain;

const NAME_MAX: usize = 63;

/// Why a string is not a valid label key; `None` if it is valid.
///
/// MIRRORS: k8s.io/apimachinery/pkg/api/validate/content/kube.go, `IsLabelKey`.
pub fn key_error(key: &str) -> Option<&'static str> {
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
pub fn value_error(value: &str) -> Option<&'static str> {
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
