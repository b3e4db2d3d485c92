//! The files of a release in addition to the policy: hco-preflight for each platform, and the manifest for krew.
//! krew uses it to install hco-preflight.

use anyhow::{Context as _, Result, ensure};
use semver::Version;
use serde::Serialize;

use crate::Home;

/// hco-preflight for one platform.
#[derive(Debug)]
pub struct Binary {
    /// The suffix of its file name: operating system and architecture.
    pub name: &'static str,
    /// The name of the platform in Rust.
    pub target: &'static str,
}

/// All platforms. Static if Rust supports musl on the platform.
pub const BINARIES: [Binary; 5] = [
    Binary {
        name: "linux-amd64",
        target: "x86_64-unknown-linux-musl",
    },
    Binary {
        name: "linux-arm64",
        target: "aarch64-unknown-linux-musl",
    },
    Binary {
        name: "linux-s390x",
        target: "s390x-unknown-linux-gnu",
    },
    Binary {
        name: "macos-arm64",
        target: "aarch64-apple-darwin",
    },
    Binary {
        name: "macos-amd64",
        target: "x86_64-apple-darwin",
    },
];

impl Binary {
    /// The file of the release that contains it, and the license.
    pub fn archive(&self) -> String {
        format!("hco-preflight-{}.tar.gz", self.name)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Plugin<'p> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata,
    spec: Spec<'p>,
}

#[derive(Serialize)]
struct Metadata {
    name: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'p> {
    version: String,
    homepage: &'p str,
    short_description: &'static str,
    description: &'static str,
    platforms: Vec<Platform<'p>>,
}

#[derive(Serialize)]
struct Platform<'p> {
    selector: Selector,
    uri: String,
    sha256: &'p str,
    bin: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Selector {
    match_labels: Labels,
}

#[derive(Serialize)]
struct Labels {
    os: &'static str,
    arch: &'static str,
}

/// krew is not available for this platform, and krew's validator rejects a manifest that names it.
const WITHOUT_KREW: &str = "linux-s390x";

/// The manifest of the plugin, from the output of `sha256sum` for the archives.
///
/// # Errors
///
/// If an archive has no checksum.
pub fn krew_manifest(home: &Home, version: &Version, checksums: &str) -> Result<String> {
    let platform = |binary: &Binary| {
        let archive = binary.archive();
        let (system, arch) = binary.name.split_once('-').unwrap_or((binary.name, ""));
        Ok(Platform {
            selector: Selector {
                match_labels: Labels {
                    // The name in Go.
                    os: if system == "macos" { "darwin" } else { "linux" },
                    arch,
                },
            },
            uri: format!("{}/releases/download/v{version}/{archive}", home.repository),
            sha256: checksum(checksums, &archive)?,
            bin: "hco-preflight",
        })
    };
    let binaries = BINARIES.iter().filter(|binary| binary.name != WITHOUT_KREW);
    let plugin = Plugin {
        api_version: "krew.googlecontainertools.github.com/v1alpha2",
        kind: "Plugin",
        metadata: Metadata {
            name: "hco-preflight",
        },
        spec: Spec {
            version: format!("v{version}"),
            homepage: &home.homepage,
            short_description: "Check a HyperConverged before you apply it",
            description: "Checks KubeVirt's HyperConverged against the CPU architectures of the nodes of your cluster, as\n\
                          the Kubewarden policy hco-architecture-guard does at admission, and shows the fix.\n",
            platforms: binaries.map(platform).collect::<Result<_>>()?,
        },
    };
    Ok(yaml_serde::to_string(&plugin)?)
}

fn checksum<'c>(checksums: &'c str, file: &str) -> Result<&'c str> {
    let mut lines = checksums.lines().filter_map(|line| line.split_once("  "));
    let sum = lines.find(|(_, name)| *name == file).map(|(sum, _)| sum);
    let sum = sum.with_context(|| {
        format!("the checksums have no line for {file}; run sha256sum on all archives")
    })?;
    ensure!(
        sum.len() == 64 && sum.bytes().all(|sign| sign.is_ascii_hexdigit()),
        "the checksum of {file} is `{sum}`, and must be that of sha256sum"
    );
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> Home {
        Home::parse(include_str!("../../Cargo.toml")).unwrap()
    }

    fn checksums() -> String {
        let mut lines = String::new();
        for (number, binary) in BINARIES.iter().enumerate() {
            lines = format!("{lines}{number:064x}  {}\n", binary.archive());
        }
        lines
    }

    #[test]
    fn each_platform_has_its_archive_and_its_checksum() {
        let text = krew_manifest(&home(), &Version::new(1, 2, 3), &checksums()).unwrap();
        let manifest: serde_json::Value = yaml_serde::from_str(&text).unwrap();
        assert_eq!(manifest["spec"]["version"], "v1.2.3");
        // krew truncates longer ones.
        assert!(manifest["spec"]["shortDescription"].as_str().unwrap().len() <= 50);
        let platforms = manifest["spec"]["platforms"].as_array().unwrap();
        assert_eq!(platforms.len(), BINARIES.len() - 1);
        assert!(!text.contains("s390x"));
        let mac = &platforms[2];
        assert_eq!(
            mac["selector"]["matchLabels"],
            serde_json::json!({"os": "darwin", "arch": "arm64"})
        );
        assert_eq!(
            mac["uri"],
            format!(
                "{}/releases/download/v1.2.3/hco-preflight-macos-arm64.tar.gz",
                home().repository
            )
        );
        assert_eq!(mac["sha256"], format!("{:064x}", 3));
    }

    #[test]
    fn an_archive_without_a_checksum_is_named() {
        let version = Version::new(1, 2, 3);
        let without = checksums().replace("arm64", "arm");
        let error = krew_manifest(&home(), &version, &without).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("hco-preflight-linux-arm64.tar.gz")
        );
        let short = checksums().replacen('0', "", 1);
        assert!(krew_manifest(&home(), &version, &short).is_err());
    }
}
