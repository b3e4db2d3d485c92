//! The annotation that lists the architectures of an image.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Architectures<'a>(pub &'a str);

impl<'a> Architectures<'a> {
    /// The entries as HCO reads them: split at commas, nothing trimmed.
    pub fn entries(self) -> impl Iterator<Item = &'a str> {
        // `split` needs a hundred instructions for each entry, and an annotation can have a hundred thousand.
        let mut rest = Some(self.0);
        std::iter::from_fn(move || {
            let text = rest?;
            let comma = text.bytes().position(|byte| byte == b',');
            let (entry, behind) = text.split_at_checked(comma.unwrap_or(text.len()))?;
            rest = comma.and(behind.get(1..));
            Some(entry)
        })
    }

    /// The workload architectures that HCO finds among the entries.
    ///
    /// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
    /// removeUnsupportedArchs: the comparison is exact, and an entry that is not equal to a workload architecture is
    /// dropped silently.
    pub fn supported(self, workload: &BTreeMap<String, usize>) -> BTreeSet<&str> {
        let entries = self.entries().filter(|entry| !entry.is_empty());
        let names = entries.filter_map(|entry| workload.get_key_value(entry));
        names.map(|(name, _)| name.as_str()).collect()
    }

    /// Whether HCO finds some of the workload architectures among the entries, but not all.
    pub fn is_partial(self, workload: &BTreeMap<String, usize>) -> bool {
        (1..workload.len()).contains(&self.supported(workload).len())
    }
}
