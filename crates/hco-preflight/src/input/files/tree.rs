//! Finds the files below the paths that the user names, as kubectl does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use cluster::Notes;
use cluster::files::{STDIN, is_manifest, is_of_volume};
use cluster::foreign::{one_line, shell_word};
use globset::{Glob, GlobMatcher};
use kube_objects::text::list;
use walkdir::{DirEntry, WalkDir};

use super::Walk;
use super::kustomization::Kustomizations;
use crate::failure::Failure;
use crate::prose::count;
use crate::report::NAMED;

#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The files, each with the directory that the user named if it was found in one.
    pub(super) files: Vec<(PathBuf, Option<PathBuf>)>,
    pub(super) kustomizations: Kustomizations,
    pub(super) notes: Notes,
    pub(super) failures: Vec<Failure>,
    /// The skipped files in directories, by reason.
    skipped: BTreeMap<&'static str, Vec<String>>,
    seen: BTreeSet<PathBuf>,
    walk: Walk,
}

/// A pattern for paths that are not read. A `*` matches any text, including a `/`.
pub(super) fn pattern(written: &str) -> Result<GlobMatcher, globset::Error> {
    // Shell completion adds a slash to the name of a directory.
    let text = written.strip_prefix("./").unwrap_or(written);
    let glob = Glob::new(text.strip_suffix('/').unwrap_or(text))?;
    Ok(glob.compile_matcher())
}

impl Tree {
    pub(super) fn of(paths: &[PathBuf], walk: Walk) -> Self {
        let mut tree = Self {
            walk,
            ..Self::default()
        };
        for path in paths {
            if tree.is_excluded(path) {
                tree.skip("--exclude", path);
            } else if path != Path::new(STDIN) && path.is_dir() {
                tree.directory(path);
            } else {
                tree.file(path, None);
            }
        }
        for (why, files) in &tree.skipped {
            let (number, files) = (count(files.len(), "file"), list(files, NAMED));
            tree.notes
                .push(&format!("skipped {number} ({why}): {files}"));
        }
        tree
    }

    fn skip(&mut self, reason: &'static str, file: &Path) {
        let files = self.skipped.entry(reason).or_default();
        files.push(file.display().to_string());
    }

    /// Whether the user excludes a path, or a directory around it.
    fn is_excluded(&self, path: &Path) -> bool {
        let plain = path.strip_prefix(".").unwrap_or(path);
        let is_match = |path: &Path| {
            self.walk
                .exclude
                .iter()
                .any(|pattern| pattern.is_match(path))
        };
        plain != Path::new(STDIN) && plain.ancestors().any(is_match)
    }

    /// Adds a file, unless a link or another argument led to it before.
    fn file(&mut self, path: &Path, root: Option<&Path>) {
        if path != Path::new(STDIN) {
            if let Ok(real) = std::fs::canonicalize(path)
                && !self.seen.insert(real)
            {
                return;
            }
            self.kustomizations.look_around(path);
        }
        self.files.push((path.to_owned(), root.map(Path::to_owned)));
    }

    fn directory(&mut self, root: &Path) {
        let follows_git = self.walk.recursive && !self.walk.include_ignored;
        let listed = follows_git.then(|| listed(root)).flatten();
        for entry in self.entries(root) {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let file = root.display().to_string();
                    let what = format!("the directory cannot be read: {error}");
                    self.failures.push(Failure::in_file(&file, None, what));
                    continue;
                }
            };
            let path = entry.path();
            let below = path.strip_prefix(root).unwrap_or(path);
            let is_listed = |listed: &BTreeSet<PathBuf>| {
                below.ancestors().any(|parent| listed.contains(parent))
            };
            let is_ignored = listed.as_ref().is_some_and(|listed| !is_listed(listed));
            if is_ignored && !path.is_dir() {
                if is_manifest(path) {
                    self.skip("in .gitignore; --include-ignored includes it", path);
                }
            } else {
                self.entry(&entry, root);
            }
        }
    }

    /// The entries of a directory, and of the directories below it with `-R`.
    fn entries(&self, root: &Path) -> impl Iterator<Item = walkdir::Result<DirEntry>> + use<> {
        WalkDir::new(root)
            .max_depth(if self.walk.recursive { usize::MAX } else { 1 })
            .sort_by_file_name()
            .into_iter()
            .filter_entry(|entry| {
                entry.depth() == 0 || entry.file_name() != ".git" && !is_of_volume(entry.path())
            })
    }

    fn entry(&mut self, entry: &DirEntry, root: &Path) {
        let path = entry.path();
        let is_directory = path.is_dir();
        if entry.depth() == 0 || !is_directory && !is_manifest(path) {
            return;
        }
        if self.is_excluded(path) {
            if !is_directory {
                self.skip("--exclude", path);
            }
        } else if is_directory && !self.walk.recursive {
            let path = one_line(&path.display().to_string());
            self.notes.push(&format!(
                "{path}: skipped a directory; to include it, add -f {}",
                shell_word(&path)
            ));
        } else if is_directory {
            if entry.path_is_symlink() {
                self.skip("a link to a directory", path);
            }
        } else if path.exists() && !path.is_file() {
            // Reading a pipe would block until another process writes to it.
            self.skip("not a regular file", path);
        } else {
            self.file(path, Some(root));
        }
    }
}

/// The files below a directory that are tracked, or that no .gitignore names, relative to the directory. A nested
/// repository counts as one of them. `None` without git, or outside of a repository.
fn listed(root: &Path) -> Option<BTreeSet<PathBuf>> {
    // The directory can have a repository inside, whose configuration must not run a program.
    let safe = "-c core.fsmonitor=false -c safe.bareRepository=explicit";
    let mut git = Command::new("git");
    git.args(safe.split(' '))
        .arg("-C")
        .arg(root)
        .args("ls-files -z --cached --others --exclude-standard".split(' '))
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE");
    let output = git.output().ok().filter(|output| output.status.success())?;
    let files = output
        .stdout
        .split(|byte| *byte == 0)
        .filter(|file| !file.is_empty())
        .map(path_of)
        .collect();
    Some(files)
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;

    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}
