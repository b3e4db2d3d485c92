//! The architectures that SSP supports.

/// The architectures that the SSP operator supports. SSP gets the golden images from HCO.
///
/// MIRRORS: ssp-operator internal/architecture/architecture.go, `ToArch`.
pub const KNOWN: [&str; 3] = ["amd64", "arm64", "s390x"];

/// Whether the SSP operator supports an architecture.
pub fn is_known(name: &str) -> bool {
    KNOWN.contains(&name)
}
