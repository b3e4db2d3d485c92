//! The syntax of names in Kubernetes.

/// The longest subdomain, and the longest label of one, in bytes.
const SUBDOMAIN_MAX: usize = 253;
const LABEL_MAX: usize = 63;

/// MIRRORS: k8s.io/apimachinery pkg/api/validate/content/dns.go, `IsDNS1123Subdomain`.
pub fn is_dns1123_subdomain(name: &str) -> bool {
    name.len() <= SUBDOMAIN_MAX && name.split('.').all(is_label_of_any_length)
}

/// MIRRORS: k8s.io/apimachinery pkg/api/validate/content/dns.go, `IsDNS1123Label`.
pub fn is_dns1123_label(name: &str) -> bool {
    name.len() <= LABEL_MAX && is_label_of_any_length(name)
}

/// The value of a label, which can be empty.
///
/// MIRRORS: k8s.io/apimachinery pkg/api/validate/content/kube.go, `IsLabelValue`.
pub fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_short_qualified_name(value)
}

/// The key of a label or an annotation.
///
/// MIRRORS: k8s.io/apimachinery pkg/api/validate/content/kube.go, `IsLabelKey`.
pub fn is_qualified_name(key: &str) -> bool {
    match key.split_once('/') {
        None => is_short_qualified_name(key),
        Some((prefix, name)) => is_dns1123_subdomain(prefix) && is_short_qualified_name(name),
    }
}

fn is_short_qualified_name(name: &str) -> bool {
    name.len() <= LABEL_MAX && is_qualified_name_of_any_length(name)
}

/// Whether a string has only letters and digits, and `-`, `_`, and `.` between them.
pub fn is_qualified_name_of_any_length(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// The labels of a subdomain may be longer than a separate label: only the total length is checked.
fn is_label_of_any_length(label: &str) -> bool {
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = label.as_bytes();
    bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
        && bytes.first().is_some_and(alphanumeric)
        && bytes.last().is_some_and(alphanumeric)
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

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
    }

    #[test]
    fn a_label_value_can_be_empty_and_has_at_most_63_bytes() {
        for value in ["", "a", "A_b.C-1", &"a".repeat(63)] {
            assert!(is_label_value(value), "{value}");
        }
        for value in ["-a", "a.", "a b", "a/b", "ä", &"a".repeat(64)] {
            assert!(!is_label_value(value), "{value}");
        }
    }

    #[test]
    fn a_qualified_name_can_have_a_domain() {
        for key in ["a", "A_b", "example.com/A_b", "a/b"] {
            assert!(is_qualified_name(key), "{key}");
        }
        for key in ["", "/", "a/", "/a", "a/b/c", "Example.com/a", "a b"] {
            assert!(!is_qualified_name(key), "{key}");
        }
    }

    #[test]
    fn a_label_has_no_dot_and_at_most_63_bytes() {
        assert!(is_dns1123_label(&"a".repeat(63)));
        assert!(!is_dns1123_label(&"a".repeat(64)));
        assert!(!is_dns1123_label("a.b"));
    }
}
