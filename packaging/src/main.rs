//! The command for maintainers who make a release; the Makefile calls it. File names are relative to the project's
//! directory.

#![expect(clippy::print_stdout, reason = "this is a command")]

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};
use packaging::{
    Changelog, Created, Home, Metadata, annotate, artifact_hub_package, krew_manifest, sizes, texts,
};

#[derive(Parser)]
#[command(about = "Makes the artifacts of a release")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write the metadata and README.md into a module
    Annotate {
        /// The module without metadata
        module: PathBuf,
        /// The file to write
        #[arg(short, long)]
        output: PathBuf,
        /// Omit the rules for other versions of HyperConverged: v1beta1 for HCO 1.17 and earlier, which serves no other
        #[arg(long)]
        api_version: Option<String>,
    },
    /// Write artifacthub-pkg.yml
    Artifacthub {
        /// The file to write
        #[arg(short, long)]
        output: PathBuf,
        /// Fail unless CHANGELOG.md has the date of this release
        #[arg(long)]
        released: bool,
    },
    /// Write the manifest of the krew plugin
    Krew {
        /// The output of sha256sum for the archives with hco-preflight
        checksums: PathBuf,
        /// The file to write
        #[arg(short, long)]
        output: PathBuf,
    },
    /// Write the project's home from Cargo.toml into every file that contains it
    Home,
    /// Print the reference under which this version of the policy is published
    Reference {
        /// Print the address of the image of hco-preflight instead
        #[arg(long)]
        image: bool,
    },
    /// Print what each crate adds to a module that contains the names of its functions
    Size {
        /// The module
        module: PathBuf,
    },
    /// Push an annotated module and print its reference by digest
    #[cfg(feature = "registry")]
    Push {
        /// The annotated module
        module: PathBuf,
        /// registry/repository:tag
        reference: String,
        /// Insecure registries, certificate authorities and proxies, in the format of kwctl's sources.yml
        #[arg(long)]
        sources_path: Option<PathBuf>,
    },
    /// Push the container image of hco-preflight and print its reference by digest
    #[cfg(feature = "registry")]
    PushImage {
        /// The static binary for amd64
        amd64: PathBuf,
        /// The static binary for arm64
        arm64: PathBuf,
        /// registry/repository:tag
        reference: String,
        /// Insecure registries, certificate authorities and proxies, in the format of kwctl's sources.yml
        #[arg(long)]
        sources_path: Option<PathBuf>,
    },
    /// Pull a module
    #[cfg(feature = "registry")]
    Pull {
        /// registry/repository:tag or registry/repository@digest
        reference: String,
        /// The file to write
        #[arg(short, long)]
        output: PathBuf,
        /// Insecure registries, certificate authorities and proxies, in the format of kwctl's sources.yml
        #[arg(long)]
        sources_path: Option<PathBuf>,
    },
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Annotate {
            module,
            output,
            api_version,
        } => {
            let metadata = match api_version {
                Some(version) => metadata()?.for_version(&version)?,
                None => metadata()?,
            };
            let usage = text("README.md")?;
            let annotated = annotate(&bytes(&module)?, metadata, usage)
                .with_context(|| module.display().to_string())?;
            write(&output, &annotated)
        }
        Command::Artifacthub { output, released } => {
            let created = if released {
                Created::Released
            } else {
                Created::Whenever
            };
            let changelog = Changelog::parse(&text("CHANGELOG.md")?)?;
            let questions = text("questions-ui.yml")?;
            let package = artifact_hub_package(&metadata()?, &questions, &changelog, created)?;
            write(&output, package.as_bytes())
        }
        Command::Home => move_home(),
        Command::Krew { checksums, output } => {
            let checksums = std::fs::read_to_string(&checksums)
                .with_context(|| checksums.display().to_string())?;
            let manifest = krew_manifest(&home()?, &metadata()?.version()?, &checksums)?;
            write(&output, manifest.as_bytes())
        }
        Command::Reference { image } => {
            let metadata = metadata()?;
            let reference = if image {
                format!("{}:v{}", home()?.image(), metadata.version()?)
            } else {
                metadata.reference()?
            };
            println!("{reference}");
            Ok(())
        }
        Command::Size { module } => {
            print!("{}", sizes(&bytes(&module)?)?);
            Ok(())
        }
        #[cfg(feature = "registry")]
        Command::Push {
            module,
            reference,
            sources_path,
        } => {
            let pushed = registry(sources_path.as_deref())?.push(&bytes(&module)?, &reference)?;
            println!("{}@{}", pushed.repository, pushed.digest);
            Ok(())
        }
        #[cfg(feature = "registry")]
        Command::PushImage {
            amd64,
            arm64,
            reference,
            sources_path,
        } => {
            let labels = packaging::Labels::new(&home()?, &metadata()?)?;
            let binaries = [("amd64", bytes(&amd64)?), ("arm64", bytes(&arm64)?)];
            let licence = text("LICENSE")?;
            let registry = registry(sources_path.as_deref())?;
            let pushed = registry.push_image(&binaries, licence.as_bytes(), &labels, &reference)?;
            println!("{}@{}", pushed.repository, pushed.digest);
            Ok(())
        }
        #[cfg(feature = "registry")]
        Command::Pull {
            reference,
            output,
            sources_path,
        } => write(
            &output,
            &registry(sources_path.as_deref())?.pull(&reference)?,
        ),
    }
}

fn move_home() -> Result<()> {
    let to = home()?;
    let from = Home::of(&metadata()?)?;
    for (path, text) in texts(Path::new("."))? {
        let moved = from.moved(&text, &to)?;
        if moved != text {
            write(&path, moved.as_bytes())?;
        }
    }
    Ok(())
}

#[cfg(feature = "registry")]
fn registry(sources: Option<&Path>) -> Result<packaging::Registry> {
    let sources = sources.map(packaging::Sources::from_file).transpose()?;
    Ok(packaging::Registry {
        sources: sources.unwrap_or_default(),
    })
}

fn home() -> Result<Home> {
    Home::parse(&text("Cargo.toml")?)
}

fn metadata() -> Result<Metadata> {
    Metadata::parse(&text("policy-metadata.yml")?)
}

fn text(path: &str) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| path.to_owned())
}

fn bytes(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| path.display().to_string())
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    std::fs::write(path, content).with_context(|| path.display().to_string())
}
