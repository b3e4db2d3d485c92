//! Reads the files that the user names, and finds the HyperConvergeds in them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, Result};
use ignore::WalkBuilder;
use manifest::{Object, objects};

use crate::admission::Identity;
use crate::failure::{Failure, Place};
use crate::foreign::one_line;
use crate::prose::count;

/// The name of the standard files.
const STDIN: &str = "-";

/// A file that was read.
#[derive(Debug)]
pub(crate) struct Source {
    /// `-` for the standard files.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// All objects in it.
    pub(crate) objects: Vec<Rc<Object>>,
}

/// A HyperConverged of a file.
#[derive(Debug)]
pub(crate) struct Found {
    /// Where it is.
    pub(crate) place: Place,
    /// What it is.
    pub(crate) identity: Identity,
    pub(crate) written: InFile,
}

/// An object of a file, and its lines.
#[derive(Debug, Clone)]
pub(crate) struct InFile {
    pub(crate) source: Rc<Source>,
    pub(crate) object: Rc<Object>,
}

impl Source {
    pub(crate) fn is_stdin(&self) -> bool {
        self.path == Path::new(STDIN)
    }

    /// Its name in the output.
    pub(crate) fn name(&self) -> String {
        name(&self.path)
    }
}

fn name(path: &Path) -> String {
    if path == Path::new(STDIN) {
        "stdin".to_owned()
    } else {
        path.display().to_string()
    }
}

/// What was found in all files.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// The HyperConvergeds.
    pub(crate) found: Vec<Found>,
    /// What was skipped.
    pub(crate) notes: Vec<String>,
    /// How many documents were skipped, by kind.
    others: BTreeMap<String, usize>,
    /// What could not be read.
    pub(crate) failures: Vec<Failure>,
}

/// Reads a file, or the standard files.
pub(crate) fn text(path: &Path) -> Result<Vec<u8>> {
    if path == Path::new(STDIN) {
        let mut text = Vec::new();
        std::io::stdin()
            .read_to_end(&mut text)
            .context("standard input cannot be read")?;
        return Ok(text);
    }
    std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))
}

/// Reads files and directories. What cannot be read is a failure beside what can.
///
/// A file that is not a manifest and does not name a HyperConverged is skipped: hooks and directories of a repository also
/// have patches, templates of Helm, and configuration of other programs.
pub(crate) fn read(paths: &[PathBuf], recursive: bool) -> Files {
    let mut files = Files::default();
    for path in paths {
        if path.is_dir() {
            files.directory(path, recursive);
        } else {
            files.file(path);
        }
    }
    files.note_others();
    files
}

impl Files {
    fn directory(&mut self, path: &Path, recursive: bool) {
        let mut walk = WalkBuilder::new(path);
        walk.standard_filters(false)
            // A file that Git ignores is not going to be applied.
            .git_ignore(recursive)
            .parents(recursive)
            // A mounted ConfigMap is a directory of symbolic links.
            .follow_links(true)
            .max_depth((!recursive).then_some(1))
            // The files of a mounted ConfigMap are there a second and a third time, below such directories.
            .filter_entry(|entry| {
                let name = entry.file_name().as_encoded_bytes();
                entry.depth() == 0 || !(name.starts_with(b"..") || name == b".git")
            })
            .sort_by_file_path(Path::cmp);
        for entry in walk.build() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) if is_loop(&error) => {
                    self.notes.push(one_line(&format!("skipped: {error}")));
                    continue;
                }
                Err(error) => {
                    let file = path.display().to_string();
                    let what = one_line(&format!("the directory cannot be read: {error}"));
                    self.failures.push(Failure::in_file(&file, None, what));
                    continue;
                }
            };
            let is_below = entry.depth() > 0;
            let entry = entry.path();
            if !entry.is_dir() {
                if is_manifest(entry) {
                    self.file(entry);
                }
            } else if is_below && !recursive {
                let entry = entry.display();
                self.notes.push(one_line(&format!(
                    "{entry}: skipped a directory; use -R to include it"
                )));
            }
        }
    }

    fn file(&mut self, path: &Path) {
        let file = name(path);
        let text = match text(path) {
            Ok(text) => text,
            Err(error) => {
                let what = format!("cannot be read: {}", error.root_cause());
                return self.failures.push(Failure::in_file(&file, None, what));
            }
        };
        match objects(&text) {
            Ok(objects) => {
                let source = Rc::new(Source {
                    path: path.to_owned(),
                    // What is no UTF-8 was refused.
                    text: String::from_utf8_lossy(&text).into_owned(),
                    objects: objects.into_iter().map(Rc::new).collect(),
                });
                for object in &source.objects {
                    let (source, object) = (Rc::clone(&source), Rc::clone(object));
                    self.object(&file, InFile { source, object });
                }
            }
            Err(_) if !names_ours(&text) => {
                self.notes
                    .push(one_line(&format!("{file}: skipped: not a manifest")));
            }
            Err(error) => {
                let hint = if text.windows(2).any(|two| two == b"{{") {
                    "; if it is a Helm template, run `helm template . | hco-preflight check -f -`"
                } else {
                    ""
                };
                let what = format!(
                    "cannot be read as YAML or JSON, so nothing in it was checked: {} (column {}){hint}",
                    one_line(&error.what),
                    error.column
                );
                self.failures
                    .push(Failure::in_file(&file, Some(error.line), what));
            }
        }
    }

    fn object(&mut self, file: &str, written: InFile) {
        let identity = Identity::of(&written.object.value);
        let line = written.object.line;
        if identity.is_hyperconverged() {
            let file = file.to_owned();
            let place = Place { file, line };
            self.found.push(Found {
                place,
                identity,
                written,
            });
            return;
        }
        let kind = match identity.kind.as_str() {
            // That may be a mistake.
            "HyperConverged" => {
                let group = &identity.api_version;
                let note = format!("{file}:{line}: skipped a HyperConverged of `{group}`");
                return self.notes.push(one_line(&note));
            }
            "" => "without a kind".to_owned(),
            kind => kind.to_owned(),
        };
        *self.others.entry(kind).or_default() += 1;
    }

    /// A line that counts the documents of other kinds.
    fn note_others(&mut self) {
        /// A directory can have manifests of everything.
        const SHOWN: usize = 5;
        let all: usize = self.others.values().sum();
        if all == 0 {
            return;
        }
        let mut kinds: Vec<_> = std::mem::take(&mut self.others).into_iter().collect();
        kinds.sort_by_key(|(_, number)| Reverse(*number));
        let shown = kinds.iter().take(SHOWN);
        let mut shown: Vec<String> = shown.map(|(kind, it)| format!("{kind} ({it})")).collect();
        if let Some(more @ 1..) = kinds.len().checked_sub(SHOWN) {
            shown.push(format!("and {}", count(more, "other kind")));
        }
        let documents = count(all, "document");
        let note = format!("skipped {documents} of other kinds: {}", shown.join(", "));
        self.notes.push(one_line(&note));
    }
}

/// Whether a symbolic link leads to a directory that it is in.
fn is_loop(error: &ignore::Error) -> bool {
    match error {
        ignore::Error::Loop { .. } => true,
        ignore::Error::WithPath { err, .. } | ignore::Error::WithDepth { err, .. } => is_loop(err),
        _ => false,
    }
}

/// What kubectl takes for a manifest when it is given a directory.
fn is_manifest(path: &Path) -> bool {
    let ending = path.extension().and_then(std::ffi::OsStr::to_str);
    matches!(ending, Some("json" | "yaml" | "yml"))
}

/// Whether a text can have a HyperConverged.
fn names_ours(text: &[u8]) -> bool {
    const KIND: &[u8] = b"HyperConverged";
    text.windows(KIND.len()).any(|part| part == KIND)
}
