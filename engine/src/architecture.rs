//! Names of CPU architectures: the list that Go knows, and what other systems call them.

/// Every architecture that Go knows by name, which is what a kubelet reports.
///
/// MIRRORS: Go src/internal/syslist/syslist.go, `KnownArch` (Go 1.26).
const KNOWN: [&str; 24] = [
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

/// What other systems (uname, Debian, RPM, Docker, Windows) write for one of Go's names.
const ALIASES: [(&str, &str); 19] = [
    ("aarch64", "arm64"),
    ("aarch64_be", "arm64be"),
    ("armhf", "arm"),
    ("arm64/v8", "arm64"),
    ("arm64v8", "arm64"),
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

/// The architectures that SSP, which gets the golden images from HCO, accepts.
///
/// MIRRORS: ssp-operator internal/architecture/architecture.go, `ToArch`.
const ACCEPTED_BY_SSP: [&str; 3] = ["amd64", "arm64", "s390x"];

/// Whether Go knows an architecture of exactly this name.
pub(crate) fn is_known(name: &str) -> bool {
    KNOWN.contains(&name)
}

/// Whether SSP's webhook lets an architecture pass.
pub(crate) fn is_accepted_by_ssp(name: &str) -> bool {
    ACCEPTED_BY_SSP.contains(&name)
}

/// The architecture that was probably meant by an entry that is none: without blanks, in lower case,
/// by Go's name, or the nearest one.
pub(crate) fn meant(entry: &str) -> Option<&'static str> {
    let entry = crate::text::ascii_lower(entry.trim());
    let known = |name: &&str| **name == *entry;
    if let Some(name) = KNOWN.iter().find(|name| known(name)) {
        return Some(name);
    }
    if let Some((_, name)) = ALIASES.iter().find(|(alias, _)| *alias == entry) {
        return Some(name);
    }
    // A typo is guessed only among the names that KubeVirt runs on, and only if one is nearest.
    let near = |most| {
        let mut names = ACCEPTED_BY_SSP
            .into_iter()
            .filter(|name| crate::text::distance(&entry, name, most).is_some());
        (names.next(), names.next())
    };
    match (near(1), near(2)) {
        ((Some(name), None), _) | (_, (Some(name), None)) => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn what_was_meant_is_found_behind_blanks_case_aliases_and_typos() {
        for (entry, name) in [
            (" arm64", Some("arm64")),
            ("AMD64", Some("amd64")),
            ("X86_64", Some("amd64")),
            ("aarch64", Some("arm64")),
            ("amd46", Some("amd64")),
            ("amd6", Some("amd64")),
            ("s390", Some("s390")),
            ("sparc65", None),
        ] {
            assert_eq!(meant(entry), name, "{entry}");
        }
    }

    #[test]
    fn an_alias_is_never_a_name_and_always_leads_to_one() {
        for (alias, name) in ALIASES {
            assert!(!is_known(alias), "{alias}");
            assert!(is_known(name), "{name}");
        }
    }
}
