//! The syntax of names in Kubernetes.

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

/// The labels of a subdomain may be longer than a separate label: only the total length is checked.
fn is_label_of_any_length(label: &str) -> bool {
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = label.as_bytes();
    bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
        && bytes.first().is_some_and(alphanumeric)
        && bytes.last().is_some_and(alphanumeric)
}
