//! The annotation that lists the architectures of an image.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Architectures<'a>(pub &'a str);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// None of them: HCO does not deploy the golden image.
    None,
    Some,
    All,
}

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

    /// How many of the workload architectures HCO finds among the entries.
    pub fn coverage(self, workload: &BTreeMap<String, usize>) -> Coverage {
        match self.supported(workload).len() {
            0 => Coverage::None,
            all if all == workload.len() => Coverage::All,
            _ => Coverage::Some,
        }
    }
}
