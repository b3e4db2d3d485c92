//! The command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::error::ErrorKind;
use clap::{ColorChoice, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use cluster::foreign::{self, one_line, shell_word};
use cluster::{Cluster, Connection, Counts, Notes, Reader, World, timeout};
use operator_models::hco::version::VersionSupport;
use serde_json::Value;

use crate::input::files::Walk;
use crate::input::nodes::WhatIf;
use crate::kubectl::Kubectl;

/// Check HyperConverged objects before you apply them.
///
/// Runs the same module as the policy in the cluster, on your manifests and nodes, and reports what would be denied and
/// how to fix it.
#[derive(Debug, Parser)]
#[command(version = VERSION.as_str(), max_term_width = 110)]
pub(crate) struct Args {
    /// The name with which the user called the program, which can be a kubectl plugin.
    #[arg(skip)]
    pub(crate) name: &'static str,

    /// When to use color; auto: on a terminal, unless `NO_COLOR` is set
    #[arg(long, global = true, default_value_t, value_name = "WHEN")]
    pub(crate) color: ColorChoice,

    /// Print only the result and errors: no notes, and no warnings of `fix`
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

static VERSION: LazyLock<String> = LazyLock::new(|| {
    let (version, rules) = (env!("CARGO_PKG_VERSION"), engine::RULES.len());
    format!("{version}\nrules {rules}")
});

const EXAMPLES: &str = "\
Examples:
  hco-preflight check -f hyperconverged.yaml --nodes nodes.yaml
                     nodes.yaml is the output of `kubectl get nodes -o yaml`
  hco-preflight check -f deploy/ --cluster
  hco-preflight fix -f hyperconverged.yaml --cluster --write
  hco-preflight check --cluster
                     what is wrong in the cluster, and which alerts fire
  hco-preflight plan --cluster --what-if arm64=2
                     what happens when two arm64 worker nodes join
  helm template . | hco-preflight check -f - --arch amd64=3,arm64=2 -o markdown
  hco-preflight explain architectures-missing

Exit codes:
  0  all right: no problem; `plan`: no new problem, and nothing is lost; `fix`: nothing is left to fix
  1  a problem; `plan`: a new problem or a loss; `fix`: changes that are not written, or a problem that remains
  2  something was not read or not evaluated, or invalid usage";

impl Args {
    pub(crate) fn read(mut words: Vec<OsString>) -> Result<Self, clap::Error> {
        let program = words.first().map(PathBuf::from).unwrap_or_default();
        let name = if program.ends_with("kubectl-hco_preflight") {
            "kubectl hco-preflight"
        } else {
            "hco-preflight"
        };
        let mut command = Self::command()
            .bin_name(name)
            .after_help(EXAMPLES.replace("hco-preflight", name));
        if words.len() == 1 {
            words.push(OsString::from("--help"));
        }
        if let Some(word) = option_and_file(&words) {
            let word = one_line(&word.to_string_lossy());
            return Err(command.error(
                ErrorKind::UnknownArgument,
                format!("`{word}` is an option and also the name of a file; to name files, use ./*.yaml instead of *.yaml"),
            ));
        }
        let matches = command.try_get_matches_from_mut(words)?;
        let mut args = Self::from_arg_matches(&matches)?;
        if let Command::Check(Check { subject, .. }) | Command::Fix(Fix { subject, .. }) =
            &mut args.command
        {
            subject.filename.append(&mut subject.files);
        }
        Ok(Self { name, ..args })
    }
}

/// A shell may have expanded it from `*.yaml`, so the name of a file would change the check.
fn option_and_file(words: &[OsString]) -> Option<&OsString> {
    words
        .split(|word| word == "--")
        .next()?
        .iter()
        .skip(1)
        .find(|word| {
            word.len() > 1
                && word.as_encoded_bytes().starts_with(b"-")
                && Path::new(word).symlink_metadata().is_ok()
        })
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Report whether objects of files would be accepted, or what is wrong in a cluster, and how to fix it
    Check(Check),
    /// Fix HyperConverged objects: show the changes, or write them
    Fix(Fix),
    /// Show the page of a rule or of an alert, or list them
    Explain {
        /// The name of a rule or of an alert; if omitted, lists them
        rule: Option<String>,
    },
    /// Show what a change does to boot sources and virtual machines, before you make it
    Plan(Plan),
    /// Write the objects of a cluster that `--from` reads to a file
    Snapshot(Snapshot),
    /// Validate settings and print the effective ones, or with a cluster, those that manifests without a status need
    Settings(Settings),
    /// Look up which architectures images support, and print the annotation for each image
    Images(Images),
    /// Print the completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// The objects, the nodes, and the policy of a check.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Subject {
    /// A manifest, a directory of manifests, or - for standard input [default: the HyperConverged objects of --cluster]
    #[arg(long, short = 'f', value_name = "FILE", help_heading = "Objects")]
    pub(crate) filename: Vec<PathBuf>,

    /// The same as -f, so that a shell can expand `*.yaml`
    #[arg(value_name = "FILE", help_heading = "Objects")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) walk: Walk,

    /// Succeed if no file contains an object to evaluate, for example in a pre-commit hook, or if a cluster has none
    #[arg(long, help_heading = "Objects")]
    pub(crate) allow_empty: bool,

    /// A manifest with the old objects: existing problems do not block updates
    #[arg(long, value_name = "FILE", help_heading = "Objects")]
    pub(crate) old: Option<PathBuf>,

    /// Evaluate the file as `kubectl apply` (default) or `kubectl replace` would send it
    #[arg(
        long,
        value_name = "HOW",
        conflicts_with = "old",
        help_heading = "Objects"
    )]
    pub(crate) as_if: Option<AsIf>,

    /// Read nodes from FILE (output of `kubectl get nodes -o yaml` or `-o json`; - for standard input)
    #[arg(long, value_name = "FILE", help_heading = "Nodes", conflicts_with_all = ["cluster", "from", "arch"])]
    pub(crate) nodes: Option<PathBuf>,

    /// The number of worker nodes of each architecture, for example amd64=3,arm64=2
    #[arg(long, value_name = "COUNTS", help_heading = "Nodes", conflicts_with_all = ["cluster", "from"])]
    pub(crate) arch: Option<Counts>,

    #[command(flatten)]
    pub(crate) source: ClusterSource,

    /// The policy's settings, or the ClusterAdmissionPolicy that contains them
    #[arg(long, value_name = "FILE", help_heading = "Policy")]
    pub(crate) settings: Option<PathBuf>,

    /// Use this build of the policy instead of the embedded one
    #[arg(long, value_name = "FILE", help_heading = "Policy")]
    pub(crate) policy: Option<PathBuf>,

    /// Compile the module without reading or writing the cache
    #[arg(long, help_heading = "Policy")]
    pub(crate) no_cache: bool,

    /// Look up the architectures of images in their registries, with the credentials of docker and podman
    #[arg(long, help_heading = "Policy")]
    pub(crate) images: bool,

    /// Insecure registries and certificate authorities, in the format of kwctl's sources.yml; proxies come from the environment
    #[arg(
        long,
        value_name = "FILE",
        requires = "images",
        help_heading = "Policy"
    )]
    pub(crate) sources_path: Option<PathBuf>,
}

/// Where the state of a cluster comes from.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ClusterSource {
    /// Use the cluster of the current kubeconfig: its nodes and objects. A live object is the old object of a file
    #[arg(long, help_heading = "Cluster")]
    pub(crate) cluster: bool,

    /// Use files instead of a cluster: a snapshot, a must-gather, files of `kubectl get -o yaml`, or - for standard input
    #[arg(
        long,
        value_name = "PATH",
        help_heading = "Cluster",
        conflicts_with = "cluster"
    )]
    pub(crate) from: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

impl ClusterSource {
    pub(crate) fn is_live(&self) -> bool {
        self.cluster || self.from.is_some()
    }

    /// The namespace also selects objects of files.
    pub(crate) fn check_connection(&self) -> Result<()> {
        let of_files = Connection {
            namespace: self.connection.namespace.clone(),
            ..Connection::default()
        };
        ensure!(
            self.cluster || self.connection == of_files,
            "--kubeconfig, --context, --as, and --request-timeout require --cluster"
        );
        Ok(())
    }

    pub(crate) fn world(
        &self,
        kept: Option<Cluster>,
        manifests: &[&Value],
        reader: Reader,
        notes: &mut Notes,
    ) -> Result<World> {
        match &self.from {
            Some(path) => World::of_files(path, manifests, reader, notes),
            None => World::of_cluster(kept, &self.connection, manifests, reader, notes),
        }
    }

    pub(crate) fn options(&self, settings: Option<&Path>, Kubectl { flags }: &Kubectl) -> String {
        let file = |path: &Path| shell_word(&foreign::path(path));
        let state = match &self.from {
            Some(from) => format!("--from {}", file(from)),
            None => format!("--cluster {flags}").trim_end().to_owned(),
        };
        let namespace = self.connection.namespace.as_ref();
        let options = [
            Some(state),
            namespace.map(|name| format!("-n {}", shell_word(&one_line(name)))),
            settings.map(|path| format!("--settings {}", file(path))),
        ];
        options.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

fn version(text: &str) -> Result<String, &'static str> {
    let version = VersionSupport::parse(text).map(|_| text.to_owned());
    version.ok_or("use a version such as 1.19, or 4.23 of OpenShift Virtualization")
}

/// How a file is sent to the cluster that has the object already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum AsIf {
    /// Merged with the live object and the last applied configuration
    #[default]
    Apply,
    /// Replaces the live object
    Replace,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
One of --nodes, --cluster, --from, and --arch is required. With -f, the check says whether the objects would be accepted. \
Without -f, it says whether the cluster is all right as it is: the problems of the HyperConverged, conditions, golden \
images, and VMs that cannot start.

Exit codes: 0 no problem, 1 a problem, 2 something was not read or not evaluated.")]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) subject: Subject,

    /// Without -f: wait until no golden image is importing or not created, but no longer than this, for example 10m
    #[arg(
        long,
        value_name = "TIME",
        value_parser = timeout,
        conflicts_with_all = ["from", "filename", "files"]
    )]
    pub(crate) wait: Option<Duration>,

    /// Without -f: accept that something could not be read; without this, the exit code is then 2
    #[arg(long)]
    pub(crate) allow_unread: bool,

    /// The format of the output; without -f: text, json, or markdown
    #[arg(long, short = 'o', value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Format,

    /// The lowest level of a problem that causes exit code 1
    #[arg(long, value_enum, default_value_t, value_name = "LEVEL")]
    pub(crate) fail_on: FailOn,
}

/// The lowest level of a problem that makes a check fail. What was not read or evaluated always makes it fail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// A denial
    #[default]
    Deny,
    /// A denial or a warning
    Warn,
    /// Never
    Never,
}

/// The format of the output of `check`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// For programs; docs/preflight.schema.json
    Json,
    /// For a comment on a pull request or merge request
    Markdown,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Workflow commands for GitHub Actions
    Github,
    /// Code Quality report, for GitLab merge requests
    Gitlab,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Which changes")]
#[command(after_help = "\
One of --nodes, --cluster, --from, and --arch is required.

Exit codes: 0 nothing is left to fix, or only warnings to review, 1 changes that are not written, or a problem that remains, \
2 something could not be checked or written.")]
pub(crate) struct Fix {
    #[command(flatten)]
    pub(crate) subject: Subject,

    /// Fix as if these nodes had joined or left, for example arm64=2, amd64=-1, or control-plane:arm64=3
    #[arg(long, value_name = "COUNTS", help_heading = "Nodes")]
    pub(crate) what_if: Option<WhatIf>,

    /// Write the corrected files instead of printing a diff; with `-f -`, print the corrected text
    #[arg(long, short = 'w', conflicts_with = "output", help_heading = "Changes")]
    pub(crate) write: bool,

    /// Print a kubectl command for each object instead of a diff, for objects in a cluster
    #[arg(long, short = 'o', value_name = "FORMAT", value_parser = ["commands"], help_heading = "Changes")]
    pub(crate) output: Option<String>,

    /// Also apply fixes that need your review, such as the architectures of an image that was not looked up
    #[arg(long)]
    pub(crate) r#unsafe: bool,

    /// Fix multi-arch-import-disabled by enabling the import, also where it is a preview
    #[arg(long, conflicts_with = "place_on")]
    pub(crate) enable_import: bool,

    /// Fix multi-arch-import-disabled by placing the workloads on ARCH. KubeVirt stops managing the VMs on other nodes
    #[arg(long, value_name = "ARCH")]
    pub(crate) place_on: Option<String>,
}

#[derive(Debug, Default, clap::Args)]
#[command(after_help = "\
One of --cluster and --from is required. Without -f, --what-if, --nodes, and --hco-version, the plan shows what is still \
outstanding.

Exit codes: 0 nothing is lost, and no problem is new, 1 a loss or a new problem, 2 something was not read, or there is no forecast.")]
pub(crate) struct Plan {
    /// The manifest of the HyperConverged as it will be, or - for standard input
    #[arg(long, short = 'f', value_name = "FILE", help_heading = "Future state")]
    pub(crate) filename: Vec<PathBuf>,

    /// Evaluate the file as `kubectl apply` (default) or `kubectl replace` would send it
    #[arg(
        long,
        value_name = "HOW",
        requires = "filename",
        help_heading = "Future state"
    )]
    pub(crate) as_if: Option<AsIf>,

    /// Nodes that join or leave, for example arm64=2, amd64=-1, or control-plane:arm64=3
    #[arg(
        long,
        value_name = "COUNTS",
        conflicts_with = "nodes",
        help_heading = "Future state"
    )]
    pub(crate) what_if: Option<WhatIf>,

    /// The nodes as they will be: the output of `kubectl get nodes -o yaml`
    #[arg(long, value_name = "FILE", help_heading = "Future state")]
    pub(crate) nodes: Option<PathBuf>,

    /// The version of HCO, or of OpenShift Virtualization, as it will be, for example 1.19 or 4.23
    #[arg(long, value_name = "VERSION", value_parser = version, help_heading = "Future state")]
    pub(crate) hco_version: Option<String>,

    #[command(flatten)]
    pub(crate) source: ClusterSource,

    /// The policy's settings, or the ClusterAdmissionPolicy that contains them
    #[arg(long, value_name = "FILE", help_heading = "Policy")]
    pub(crate) settings: Option<PathBuf>,

    /// The format of the output
    #[arg(long, short = 'o', value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: PlanFormat,

    /// The changes that cause exit code 1
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    pub(crate) fail_on: PlanFailOn,

    /// Accept that something could not be read: without this, the exit code is then 2
    #[arg(long)]
    pub(crate) allow_unread: bool,

    /// Name all virtual machines, however many they are
    #[arg(long)]
    pub(crate) all_vms: bool,
}

/// The format of a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
    /// For a comment on a pull request, merge request, or issue
    Markdown,
}

/// The changes that make a plan fail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFailOn {
    /// Nothing
    Never,
    /// A new problem, or a boot source or VM that loses something, if only for a while
    #[default]
    Problem,
    /// Any change
    Changed,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Snapshot {
    /// Read the cluster of the current kubeconfig
    #[arg(long, required = true)]
    cluster: bool,

    #[command(flatten)]
    pub(crate) connection: Connection,

    /// The file to write; - for standard output
    #[arg(long, short = 'o', value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Settings {
    /// The policy's settings, or the ClusterAdmissionPolicy that contains them; - for standard input
    #[arg(value_name = "FILE", conflicts_with_all = ["cluster", "from", "namespace"])]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) source: ClusterSource,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Uses the credentials that `docker login` and `podman login` store.

Exit codes: 0 all images were read, 2 an image could not be read.")]
pub(crate) struct Images {
    /// An image, for example quay.io/containerdisks/fedora:latest, with or without docker://
    #[arg(value_name = "IMAGE")]
    pub(crate) names: Vec<String>,

    /// A manifest, a directory of manifests, or - for standard input: looks up the images of their templates
    #[arg(long, short = 'f', value_name = "FILE", help_heading = "Objects")]
    pub(crate) filename: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) walk: Walk,

    /// Insecure registries and certificate authorities, in the format of kwctl's sources.yml; proxies come from the environment
    #[arg(long, value_name = "FILE")]
    pub(crate) sources_path: Option<PathBuf>,

    /// The format of the output
    #[arg(long, short = 'o', value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: ImagesFormat,
}

/// The format of the output of `images`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImagesFormat {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}
