//! The annotation that lists the architectures of an image.

use std::collections::{BTreeMap, BTreeSet};

/// The entries as HCO reads them: split at commas, nothing trimmed.
pub fn entries(value: &str) -> impl Iterator<Item = &str> {
    // `split` needs a hundred instructions for each entry, and an annotation can have a hundred thousand.
    let mut rest = Some(value);
    std::iter::from_fn(move || {
        let text = rest?;
        let comma = text.bytes().position(|byte| byte == b',');
        let (entry, behind) = text.split_at_checked(comma.unwrap_or(text.len()))?;
        rest = comma.and(behind.get(1..));
        Some(entry)
    })
}

/// Whether an annotation has this entry.
pub fn lists(value: &str, architecture: &str) -> bool {
    entries(value).any(|entry| entry == architecture)
}

/// The workload architectures that HCO finds among the entries.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// removeUnsupportedArchs: the comparison is exact, and an entry that is not equal to a workload architecture is
/// dropped silently.
pub fn supported<'w>(value: &str, workload: &'w BTreeMap<String, usize>) -> BTreeSet<&'w str> {
    let entries = entries(value).filter(|entry| !entry.is_empty());
    let names = entries.filter_map(|entry| workload.get_key_value(entry));
    names.map(|(name, _)| name.as_str()).collect()
}

/// Whether HCO finds some of the workload architectures among the entries, but not all.
pub fn is_partial(value: &str, workload: &BTreeMap<String, usize>) -> bool {
    (1..workload.len()).contains(&supported(value, workload).len())
}
