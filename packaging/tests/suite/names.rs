//! The project's home is defined in `Cargo.toml`; all other files that contain it must agree.

use packaging::{Home, Metadata, texts};

use crate::{root, text};

fn home() -> Home {
    Home::parse(&text("Cargo.toml")).unwrap()
}

fn metadata() -> Metadata {
    Metadata::parse(&text("policy-metadata.yml")).unwrap()
}

/// The names in a text that begin with this prefix, up to a character that a reference cannot contain.
fn named<'t>(text: &'t str, start: &'t str) -> impl Iterator<Item = &'t str> {
    text.split(start).skip(1).map(|rest| {
        let ends = |sign: char| !(sign.is_ascii_alphanumeric() || "-_./".contains(sign));
        rest.split(ends).next().unwrap_or_default()
    })
}

#[test]
fn the_metadata_name_the_home() {
    assert_eq!(
        Home::of(&metadata()).unwrap(),
        home(),
        "policy-metadata.yml is out of date; run: make generate"
    );
}

/// Regardless of the owner: the project's repository, policy, and image must be only at its home.
#[test]
fn every_file_names_the_home_and_no_other() {
    let home = home();
    let slug = home.repository.trim_start_matches("https://github.com/");
    let (host, owner) = home.registry.split_once('/').unwrap();
    let (policy, image) = (
        format!("{owner}/policies/hco-architecture-guard"),
        format!("{owner}/hco-preflight"),
    );
    let host = format!("{host}/");
    let mut seen = 0;
    for (path, text) in texts(&root()).unwrap() {
        for (start, ours, allowed) in [
            ("github.com/", "/hco-architecture-guard", [slug, slug]),
            ("--repo ", "/hco-architecture-guard", [slug, slug]),
            ("uses: ", "/hco-architecture-guard", [slug, slug]),
            (&host, "/hco-", [&policy, &image]),
        ] {
            for name in named(&text, start).filter(|name| name.contains(ours)) {
                assert!(
                    allowed.iter().any(|allowed| name.starts_with(allowed)),
                    "{}: `{start}{name}` is not at the home that Cargo.toml names; correct it by hand",
                    path.display()
                );
                seen += 1;
            }
        }
    }
    assert!(seen >= 20, "only {seen} names were found");
}

/// One edit and one command: the output of `packaging home` has the new home and nothing of the old one.
#[test]
fn a_move_reaches_every_file() {
    let there = Home {
        homepage: "https://guard.invalid".to_owned(),
        repository: "https://github.com/somebody-else/guard".to_owned(),
        registry: "registry.invalid/somebody-else".to_owned(),
    };
    let here = home();
    let mut seen = 0;
    for (path, text) in texts(&root()).unwrap() {
        if path.ends_with("Cargo.toml") {
            continue;
        }
        let moved = here.moved(&text, &there).unwrap();
        // The service account has this name regardless of the project's home.
        let rest = moved.replace("kubewarden/hco-architecture-guard", "");
        let slug = here.repository.trim_start_matches("https://github.com/");
        for name in [slug, &format!("{}/policies/hco", here.registry)] {
            assert!(!rest.contains(name), "{}: {name}", path.display());
        }
        if path.ends_with("policy-metadata.yml") {
            let metadata = Metadata::parse(&moved).unwrap();
            assert_eq!(Home::of(&metadata).unwrap(), there);
            seen += 1;
        }
    }
    assert_eq!(seen, 1, "the metadata");
}

/// Links that programs print come from Cargo.toml at compile time: `env!("CARGO_PKG_REPOSITORY")`.
#[test]
fn no_code_names_the_home() {
    let home = home();
    let slug = home.repository.trim_start_matches("https://github.com/");
    let policy = format!("{}/policies", home.registry);
    let mut seen = 0;
    for (path, text) in texts(&root()).unwrap() {
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        for name in [slug, &home.homepage, &policy, &home.image()] {
            assert!(!text.contains(name), "{} has {name}", path.display());
        }
        seen += 1;
    }
    assert!(seen >= 100, "only {seen} files were read");
}

#[test]
fn the_manifests_name_the_version() {
    let version = metadata().reference().unwrap();
    for file in ["artifacthub-pkg.yml", "deploy/base/policy.yaml"] {
        assert!(
            text(file).contains(&version),
            "{file} does not name {version}"
        );
    }
}
