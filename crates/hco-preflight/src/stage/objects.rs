//! The first step: reads the files.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::Value;

use super::nodes;
use crate::args::{AsIf, Subject};
use crate::failure::Failure;
use crate::files::{self, Files, Found, Walk, Wanted};
use crate::foreign::{self, one_line};
use crate::notes::Notes;

/// The purpose of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Evaluates a file as an update of the live object, and sends it like this. By default, it is applied.
    Check(Option<AsIf>),
    /// Finds the possible fixes, including fixes of existing problems. The file is sent like this.
    Fix(Option<AsIf>),
}

impl Purpose {
    /// How the file is sent.
    pub(super) fn as_if(self) -> AsIf {
        self.named_as_if().unwrap_or_default()
    }

    /// How the file is sent, if the user specified it.
    fn named_as_if(self) -> Option<AsIf> {
        let (Self::Check(as_if) | Self::Fix(as_if)) = self;
        as_if
    }
}

/// The objects of the files.
#[derive(Clone)]
pub(crate) struct Objects<'s> {
    pub(super) subject: &'s Subject,
    pub(super) purpose: Purpose,
    pub(super) found: Vec<Found>,
    /// The objects of `--old`.
    pub(super) old: Option<Vec<Found>>,
    /// The objects that the VirtualMachines depend on.
    pub(super) beside: Vec<Value>,
    pub(super) failures: Vec<Failure>,
}

/// `fix` does not change VirtualMachines, because a person has to decide about their fixes.
fn wanted(purpose: Purpose) -> Wanted {
    match purpose {
        Purpose::Check(_) => Wanted {
            virtual_machines: true,
            beside: &[
                "DataSource",
                "DataVolume",
                "KubeVirt",
                "VirtualMachinePreference",
                "VirtualMachineClusterPreference",
            ],
        },
        Purpose::Fix(_) => Wanted::default(),
    }
}

impl<'s> Objects<'s> {
    /// Reads the files in the command line.
    pub(super) fn read(subject: &'s Subject, purpose: Purpose, notes: &mut Notes) -> Result<Self> {
        check_usage(subject, purpose)?;
        let Files {
            found,
            beside,
            notes: skipped,
            failures,
            ..
        } = files::read(&subject.filename, subject.walk.clone(), wanted(purpose));
        if found.is_empty() && !subject.filename.is_empty() {
            return Err(if failures.is_empty() {
                Unread::Nothing(nothing(&subject.filename, &skipped, purpose))
            } else {
                Unread::Failures(failures)
            }
            .into());
        }
        notes.append(skipped);
        let old = subject.old.as_deref();
        let beside = beside.into_iter();
        Ok(Self {
            subject,
            purpose,
            found,
            old: old
                .map(|path| self::old(subject, purpose, path))
                .transpose()?,
            beside: beside.map(|written| written.object.value.clone()).collect(),
            failures,
        })
    }
}

fn old(subject: &Subject, purpose: Purpose, path: &Path) -> Result<Vec<Found>> {
    let walk = Walk {
        // Excluded files can be the old versions of the new objects.
        exclude: Vec::new(),
        ..subject.walk.clone()
    };
    let read = files::read(&[path.to_owned()], walk, wanted(purpose));
    if let Some(failure) = read.failures.first() {
        bail!("--old {failure}");
    }
    if read.found.is_empty() {
        bail!(
            "--old {}: no {} in it",
            foreign::path(path),
            judged(purpose)
        );
    }
    Ok(read.found)
}

/// The reason why there are no objects to evaluate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unread {
    /// The files, or the cluster, contain no `HyperConverged`.
    #[error("{0}")]
    Nothing(Failure),
    /// No file could be read.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n  "))]
    Failures(Vec<Failure>),
}

/// The error for an empty set of objects, which is valid only with `--allow-empty`.
fn nothing(files: &[PathBuf], notes: &Notes, purpose: Purpose) -> Failure {
    let files: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let mut what = format!(
        "nothing to check: no {} in {}",
        judged(purpose),
        one_line(&files.join(", "))
    );
    for note in notes.iter() {
        what.push_str("\n  ");
        what.push_str(note);
    }
    Failure {
        file: None,
        line: None,
        what,
    }
}

/// The kinds that are evaluated.
fn judged(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Check(_) => "HyperConverged (hco.kubevirt.io) or VirtualMachine (kubevirt.io/v1)",
        Purpose::Fix(_) => "HyperConverged (hco.kubevirt.io)",
    }
}

/// Checks for mistakes that clap cannot detect.
fn check_usage(subject: &Subject, purpose: Purpose) -> Result<()> {
    nodes::check(subject)?;
    let is_live = subject.cluster || subject.from.is_some();
    if subject.filename.is_empty() && !is_live {
        bail!(
            "specify the objects to check: -f FILE, -f DIRECTORY, or -f - (standard input); or only --cluster, for the HyperConverged objects in the cluster"
        );
    }
    files::check_directories(&subject.filename, &subject.walk)?;
    if subject.filename.is_empty() && subject.old.is_some() {
        bail!("--old requires a file with the new version of the object: add -f FILE");
    }
    // clap does not require --cluster if the user sets --arch or --nodes.
    let has_as_if = purpose.named_as_if().is_some();
    if has_as_if && !is_live {
        bail!("--as-if requires --cluster or --from");
    }
    if has_as_if && subject.filename.is_empty() {
        bail!("--as-if requires a file: add -f FILE");
    }
    let named = [
        &subject.old,
        &subject.nodes,
        &subject.settings,
        &subject.from,
    ];
    files::check_stdin(named.into_iter().flatten().chain(&subject.filename))
}
