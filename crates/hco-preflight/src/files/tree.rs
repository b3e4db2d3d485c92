//! Finds the files below the paths that the user names, as kubectl does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use globset::{Glob, GlobMatcher};
use ignore::Match;
use ignore::gitignore::Gitignore;

use super::kustomization::Kustomizations;
use super::{STDIN, Walk};
use crate::failure::Failure;
use crate::foreign::{one_line, shell_word};
use crate::notes::Notes;
use crate::prose::count;

/// The files, and the skipped files.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The files, each with the directory that the user named if it was found in one.
    pub(super) files: Vec<(PathBuf, Option<PathBuf>)>,
    pub(super) kustomizations: Kustomizations,
    pub(super) skipped: Skipped,
    pub(super) notes: Notes,
    pub(super) failures: Vec<Failure>,
    ignored: BTreeMap<PathBuf, Gitignore>,
    /// The real paths of the files.
    seen: BTreeSet<PathBuf>,
    pub(super) walk: Walk,
}

/// Why a file is skipped that Git ignores.
const IGNORED: &str = "in .gitignore; --include-ignored includes it";

/// A pattern for paths that are not read. A `*` matches any text, including a `/`.
#[derive(Debug, Clone)]
pub(crate) struct Pattern(GlobMatcher);

impl FromStr for Pattern {
    type Err = globset::Error;

    fn from_str(written: &str) -> Result<Self, Self::Err> {
        // Shell completion adds a slash to the name of a directory.
        let text = written.strip_prefix("./").unwrap_or(written);
        let glob = Glob::new(text.strip_suffix('/').unwrap_or(text))?;
        Ok(Self(glob.compile_matcher()))
    }
}

impl Pattern {
    fn matches(&self, path: &Path) -> bool {
        self.0.is_match(path.strip_prefix(".").unwrap_or(path))
    }
}

/// The number of skipped files in directories, by reason.
#[derive(Debug, Default)]
pub(super) struct Skipped(BTreeMap<&'static str, usize>);

impl Skipped {
    fn add(&mut self, reason: &'static str) {
        *self.0.entry(reason).or_default() += 1;
    }

    pub(super) fn in_words(&self) -> Option<String> {
        let reasons = self.0.iter();
        let reasons =
            reasons.map(|(reason, number)| format!("{} ({reason})", count(*number, "file")));
        let reasons: Vec<String> = reasons.collect();
        (!reasons.is_empty()).then(|| reasons.join(", "))
    }
}

impl Tree {
    /// Finds the files of directories.
    pub(super) fn of(paths: &[PathBuf], walk: Walk) -> Self {
        let mut tree = Self {
            walk,
            ..Self::default()
        };
        for path in paths {
            if tree.is_excluded(path) {
                continue;
            }
            if path != Path::new(STDIN) && path.is_dir() {
                tree.directory(path, path);
            } else {
                tree.file(path, None);
            }
        }
        tree
    }

    /// Whether the user excludes a path. It counts the path.
    fn is_excluded(&mut self, path: &Path) -> bool {
        let mut patterns = self.walk.exclude.iter();
        let is_excluded = path != Path::new(STDIN) && patterns.any(|it| it.matches(path));
        if is_excluded {
            self.skipped.add("--exclude");
        }
        is_excluded
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

    fn directory(&mut self, path: &Path, root: &Path) {
        let entries = std::fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => {
                let file = path.display().to_string();
                let what = format!("the directory cannot be read: {error}");
                return self.failures.push(Failure::in_file(&file, None, what));
            }
        };
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            // A mounted ConfigMap has its files a second and a third time, below such directories.
            if name.starts_with(b"..") || name == b".git" {
                continue;
            }
            let path = entry.path();
            let is_directory = path.is_dir();
            if !(is_directory || is_manifest(&path)) || self.is_excluded(&path) {
                continue;
            }
            if is_directory {
                let is_link = entry.file_type().is_ok_and(|it| it.is_symlink());
                self.subdirectory(&path, is_link, root);
            } else if path.exists() && !path.is_file() {
                // Reading a pipe would block until another process writes to it.
                self.skipped.add("not a regular file");
            } else if self.is_ignored(&path, false) {
                self.skipped.add(IGNORED);
            } else {
                self.file(&path, Some(root));
            }
        }
    }

    fn subdirectory(&mut self, path: &Path, is_link: bool, root: &Path) {
        if !self.walk.recursive {
            let path = one_line(&path.display().to_string());
            let how = if self.walk.is_flat {
                format!("to include it, add -f {}", shell_word(&path))
            } else {
                "use -R to include it".to_owned()
            };
            self.notes
                .push(&format!("{path}: skipped a directory; {how}"));
        } else if is_link {
            self.skipped.add("a link to a directory");
        } else if self.is_ignored(path, true) {
            self.skipped.add(IGNORED);
        } else {
            self.directory(path, root);
        }
    }

    /// Whether Git ignores a file or a directory, so that it will not be applied.
    fn is_ignored(&mut self, path: &Path, is_directory: bool) -> bool {
        if !self.walk.recursive || self.walk.include_ignored {
            return false;
        }
        let Ok(path) = std::path::absolute(path) else {
            return false;
        };
        let repository = path.ancestors().find(|it| it.join(".git").exists());
        let Some(repository) = repository else {
            return false;
        };
        // The nearest .gitignore file takes precedence.
        for directory in path.ancestors().skip(1) {
            let rules = self.ignored.entry(directory.to_owned());
            let rules = rules.or_insert_with(|| Gitignore::new(directory.join(".gitignore")).0);
            match rules.matched(&path, is_directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None if directory == repository => return false,
                Match::None => {}
            }
        }
        false
    }
}

/// Whether kubectl reads a file as a manifest, if it gets its directory.
pub(super) fn is_manifest(path: &Path) -> bool {
    let ending = path.extension().and_then(std::ffi::OsStr::to_str);
    matches!(ending, Some("json" | "yaml" | "yml"))
}
