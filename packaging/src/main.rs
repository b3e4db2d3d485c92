//! The command of those who make a release; the Makefile calls it. Its files are named from the project's
//! directory.

#![expect(clippy::print_stdout, reason = "this is a command")]

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};
use packaging::{Changelog, Created, Metadata, annotate, artifact_hub_package};

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
        /// The module as it was built
        module: PathBuf,
        /// The file to write
        #[arg(short, long)]
        output: PathBuf,
        /// Leave the rules for other versions of HyperConverged away: v1beta1 for HCO up to 1.17, which serves no other
        #[arg(long)]
        api_version: Option<String>,
    },
    /// Write artifacthub-pkg.yml
    Artifacthub {
        /// The file to write
        #[arg(short, long)]
        output: PathBuf,
        /// Fail unless CHANGELOG.md says when this version was released
        #[arg(long)]
        released: bool,
    },
    /// Print where this version is published, as policy-metadata.yml says
    Reference,
    /// Push an annotated module and print its reference by digest
    #[cfg(feature = "registry")]
    Push {
        /// The annotated module
        module: PathBuf,
        /// registry/repository:tag
        reference: String,
        /// The sources.yml that kwctl takes
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
        /// The sources.yml that kwctl takes
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
        Command::Reference => {
            println!("{}", metadata()?.reference()?);
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

#[cfg(feature = "registry")]
fn registry(sources: Option<&Path>) -> Result<packaging::Registry> {
    let sources = sources.map(packaging::Sources::from_file).transpose()?;
    Ok(packaging::Registry {
        sources: sources.unwrap_or_default(),
    })
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
