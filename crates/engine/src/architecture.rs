//! Names of architectures: the names that Kubernetes uses, the names that other systems use, and typos.

use std::collections::{BTreeMap, BTreeSet};

use kube_objects::text::{ascii_lower, distance};
use operator_models::hco::architectures::entries;
use operator_models::ssp::architecture::KNOWN as KNOWN_BY_SSP;

/// Go's names of architectures, sorted. A kubelet reports one of these.
///
/// MIRRORS: Go src/internal/syslist/syslist.go, `KnownArch` (Go 1.26).
pub const KNOWN: [&str; 24] = [
    "386",
    "amd64",
    "amd64p32",
    "arm",
    "arm64",
    "arm64be",
    "armbe",
    "loong64",
    "mips",
    "mips64",
    "mips64le",
    "mips64p32",
    "mips64p32le",
    "mipsle",
    "ppc",
    "ppc64",
    "ppc64le",
    "riscv",
    "riscv64",
    "s390",
    "s390x",
    "sparc",
    "sparc64",
    "wasm",
];

/// Names that other systems (uname, Debian, RPM, Docker, Windows) use, and Go's name for the same architecture; sorted.
const ALIASES: [(&str, &str); 19] = [
    ("aarch64", "arm64"),
    ("aarch64_be", "arm64be"),
    ("arm64/v8", "arm64"),
    ("arm64v8", "arm64"),
    ("armhf", "arm"),
    ("armv7", "arm"),
    ("armv7l", "arm"),
    ("armv8", "arm64"),
    ("i386", "386"),
    ("i686", "386"),
    ("loongarch64", "loong64"),
    ("mips64el", "mips64le"),
    ("mipsel", "mipsle"),
    ("powerpc64le", "ppc64le"),
    ("ppc64el", "ppc64le"),
    ("x64", "amd64"),
    ("x86", "386"),
    ("x86-64", "amd64"),
    ("x86_64", "amd64"),
];

/// The intended value: the Kubernetes name of each entry, without empty entries and duplicates; and whether no entry was
/// guessed or omitted.
pub(crate) fn corrected(value: &str, workload: &BTreeMap<String, usize>) -> (String, bool) {
    /// The limit is larger than the number of architectures. A person has to check what exceeds it.
    const MOST: usize = 64;
    let (mut names, mut seen) = (Vec::new(), BTreeSet::new());
    let mut is_certain = entries(value).nth(MOST).is_none();
    for entry in entries(value).take(MOST) {
        let name = if workload.contains_key(entry) || !is_mistake(entry) {
            Some(entry.trim())
        } else {
            let mistake = Mistake::of(entry);
            is_certain &= !matches!(mistake, Mistake::Typo(_) | Mistake::Unknown);
            let meant = mistake.meant();
            let is_there = meant.is_some_and(|meant| workload.contains_key(meant));
            let name = meant
                .filter(|_| is_there)
                .or(meant.map(supported_by_kubevirt));
            is_certain &= name == meant;
            name
        };
        if let Some(name) = name.filter(|name| !name.is_empty())
            && seen.insert(name)
        {
            names.push(name);
        }
    }
    (names.join(","), is_certain)
}

/// Why HCO does not recognize an entry, and the intended name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    Blanks(&'static str),
    Case(&'static str),
    Alias(&'static str),
    Typo(&'static str),
    Unknown,
}

pub fn is_architecture(name: &str) -> bool {
    KNOWN.binary_search(&name).is_ok()
}

/// Whether an entry is neither empty nor a name that Go knows.
pub(crate) fn is_mistake(entry: &str) -> bool {
    !is_architecture(entry) && !entry.trim().is_empty()
}

impl Mistake {
    /// The mistake in an invalid entry.
    ///
    /// An annotation can have a hundred thousand entries, so a single look-up is used instead of a loop over all names
    /// where possible.
    pub(crate) fn of(invalid: &str) -> Self {
        /// More bytes than an alias with two more letters can have.
        const LONGEST: usize = 64;
        let entry = invalid.trim();
        if entry.len() > LONGEST {
            return Self::Unknown;
        }
        let lower = &*ascii_lower(entry);
        // A name that Go knows is invalid only for its blanks or its letter case.
        if lower != invalid
            && let Ok(index) = KNOWN.binary_search(&lower)
            && let Some(name) = KNOWN.get(index)
        {
            return if *name == entry {
                Self::Blanks(name)
            } else {
                Self::Case(name)
            };
        }
        let alias = ALIASES.binary_search_by_key(&lower, |(alias, _)| *alias);
        if let Some((_, name)) = alias.ok().and_then(|index| ALIASES.get(index)) {
            return Self::Alias(name);
        }
        // The intended name of a typo is guessed only if exactly one name that KubeVirt supports is nearest.
        let distances = KNOWN_BY_SSP.map(|name| (distance(lower, name, 2), name));
        let nearest = |most| {
            let is_near =
                |(distance, _): &&(Option<usize>, _)| distance.is_some_and(|edits| edits <= most);
            let mut names = distances.iter().filter(is_near);
            let first = names.next();
            first.filter(|_| names.next().is_none())
        };
        let typo = nearest(1).or_else(|| nearest(2));
        typo.map_or(Self::Unknown, |(_, name)| Self::Typo(name))
    }

    pub(crate) fn meant(self) -> Option<&'static str> {
        match self {
            Self::Blanks(name) | Self::Case(name) | Self::Alias(name) | Self::Typo(name) => {
                Some(name)
            }
            Self::Unknown => None,
        }
    }
}

/// KubeVirt supports no 32-bit architecture: users who write ARM mean arm64.
pub(crate) fn supported_by_kubevirt(name: &'static str) -> &'static str {
    match name {
        "386" => "amd64",
        "arm" => "arm64",
        "s390" => "s390x",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn the_tables_are_sorted_and_an_alias_leads_to_a_name() {
        assert!(KNOWN.is_sorted() && ALIASES.is_sorted());
        for (alias, name) in ALIASES {
            assert!(!KNOWN.contains(&alias) && KNOWN.contains(&name), "{alias}");
        }
    }
}
