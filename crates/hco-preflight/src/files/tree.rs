//! Finds the files below the paths that the user names, as kubectl does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use globset::{Glob, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};
use kube_objects::text::list;

use super::kustomization::Kustomizations;
use super::{STDIN, Walk};
use crate::failure::Failure;
use crate::foreign::{one_line, shell_word};
use crate::notes::Notes;
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
        let path = path.strip_prefix(".").unwrap_or(path);
        let is_match = |it: &Path| self.walk.exclude.iter().any(|pattern| pattern.is_match(it));
        path != Path::new(STDIN) && path.ancestors().any(is_match)
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
        let is_file = |entry: &DirEntry| is_manifest(entry.path()) && !entry.path().is_dir();
        let mut read = BTreeSet::new();
        for entry in self.entries(root, follows_git) {
            match entry {
                Ok(entry) => {
                    read.insert(entry.path().to_owned());
                    self.entry(&entry, root);
                }
                Err(error) => {
                    let file = root.display().to_string();
                    let what = format!("the directory cannot be read: {error}");
                    self.failures.push(Failure::in_file(&file, None, what));
                }
            }
        }
        if follows_git {
            let all = self.entries(root, false).flatten().filter(is_file);
            for entry in all.filter(|it| !read.contains(it.path())) {
                let why = "in .gitignore; --include-ignored includes it";
                self.skip(why, entry.path());
            }
        }
    }

    /// The entries of a directory, and of the directories below it with `-R`.
    fn entries(&self, root: &Path, follows_git: bool) -> ignore::Walk {
        WalkBuilder::new(root)
            .standard_filters(false)
            .git_ignore(follows_git)
            .parents(follows_git)
            .max_depth((!self.walk.recursive).then_some(1))
            .sort_by_file_name(Ord::cmp)
            // A mounted ConfigMap has its files a second and a third time, below directories that begin with two dots.
            .filter_entry(|entry| {
                let name = entry.file_name().as_encoded_bytes();
                entry.depth() == 0 || !name.starts_with(b"..") && name != b".git"
            })
            .build()
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

/// Whether kubectl reads a file as a manifest, if it gets its directory.
fn is_manifest(path: &Path) -> bool {
    let ending = path.extension().and_then(std::ffi::OsStr::to_str);
    matches!(ending, Some("json" | "yaml" | "yml"))
}
