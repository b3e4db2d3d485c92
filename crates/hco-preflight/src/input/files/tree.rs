//! Finds the files below the paths that the user names, as kubectl does.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use cluster::files::{STDIN, is_manifest, is_of_volume};
use cluster::foreign::{one_line, shell_word};
use globset::{Glob, GlobMatcher};
use walkdir::{DirEntry, WalkDir};

use super::Files;
use crate::failure::{Failure, Place};

/// A pattern for paths that are not read. A `*` matches any text, including a `/`.
pub(super) fn pattern(written: &str) -> Result<GlobMatcher, globset::Error> {
    // Shell completion adds a slash to the name of a directory.
    let text = written.strip_prefix("./").unwrap_or(written);
    let glob = Glob::new(text.strip_suffix('/').unwrap_or(text))?;
    Ok(glob.compile_matcher())
}

impl Files {
    /// Reads a file or a directory that the user names.
    pub(super) fn path(&mut self, path: &Path) {
        if self.is_excluded(path) {
            self.skip("--exclude", path.display().to_string());
        } else if path != Path::new(STDIN) && path.is_dir() {
            self.directory(path);
        } else {
            self.once(path, None);
        }
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

    /// Reads a file, unless a link or another argument led to it before.
    fn once(&mut self, path: &Path, root: Option<&Path>) {
        if path != Path::new(STDIN)
            && let Ok(real) = std::fs::canonicalize(path)
            && !self.seen.insert(real)
        {
            return;
        }
        self.file(path, root);
    }

    fn directory(&mut self, root: &Path) {
        let follows_git = self.walk.recursive && !self.walk.include_ignored;
        let listed = follows_git.then(|| listed(root)).flatten();
        for entry in self.entries(root) {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let (file, line) = (root.display().to_string(), None);
                    let what = format!("the directory cannot be read: {error}");
                    let failure = Failure::new(Some(Place { file, line }), what);
                    self.failures.push(failure);
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
                    self.skip(
                        "in .gitignore; --include-ignored includes it",
                        path.display().to_string(),
                    );
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
                self.skip("--exclude", path.display().to_string());
            }
        } else if is_directory && !self.walk.recursive {
            let path = one_line(&path.display().to_string());
            self.notes.push(&format!(
                "{path}: skipped a directory; to include it, add -f {}",
                shell_word(&path)
            ));
        } else if is_directory {
            if entry.path_is_symlink() {
                self.skip("a link to a directory", path.display().to_string());
            }
        } else if path.exists() && !path.is_file() {
            // Reading a pipe would block until another process writes to it.
            self.skip("not a regular file", path.display().to_string());
        } else {
            self.once(path, Some(root));
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
        .map(|file| PathBuf::from(OsStr::from_bytes(file)))
        .collect();
    Some(files)
}
