//! Finds the files below the paths that the user names, as kubectl does.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use cluster::files::{STDIN, is_manifest, is_of_volume};
use cluster::foreign::{one_line, shell_word};
use globset::{Glob, GlobMatcher};
use walkdir::WalkDir;

use super::Files;
use crate::failure::Place;

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
        let mut patterns = self.walk.exclude.iter();
        plain != Path::new(STDIN)
            && patterns.any(|pattern| plain.ancestors().any(|path| pattern.is_match(path)))
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
        let entries = WalkDir::new(root)
            .min_depth(1)
            .max_depth(if self.walk.recursive { usize::MAX } else { 1 })
            .sort_by_file_name()
            .into_iter()
            .filter_entry(|entry| entry.file_name() != ".git" && !is_of_volume(entry.path()));
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let (file, line) = (root.display().to_string(), None);
                    let what = format!("the directory cannot be read: {error}");
                    self.fail(Place { file, line }, what);
                    continue;
                }
            };
            let path = entry.path();
            if path.is_dir() {
                self.subdirectory(path, entry.path_is_symlink());
                continue;
            } else if !is_manifest(path) {
                continue;
            }
            let below = path.strip_prefix(root).unwrap_or(path);
            let is_ignored = listed
                .as_ref()
                .is_some_and(|listed| !below.ancestors().any(|parent| listed.contains(parent)));
            let reason = if is_ignored {
                "in .gitignore; --include-ignored includes it"
            } else if self.is_excluded(path) {
                "--exclude"
            } else if path.exists() && !path.is_file() {
                // Reading a pipe would block until another process writes to it.
                "not a regular file"
            } else {
                self.once(path, Some(root));
                continue;
            };
            self.skip(reason, path.display().to_string());
        }
    }

    /// Notes a directory whose files are not read.
    fn subdirectory(&mut self, path: &Path, is_link: bool) {
        if self.is_excluded(path) {
            return;
        }
        let name = path.display().to_string();
        if !self.walk.recursive {
            let name = one_line(&name);
            self.notes.push(&format!(
                "{name}: skipped a directory; to include it, add -f {}",
                shell_word(&name)
            ));
        } else if is_link {
            self.skip("a link to a directory", name);
        }
    }
}

/// The files below a directory that are tracked, or that no .gitignore names, relative to the directory. A nested
/// repository counts as one of them. `None` without git, or outside of a repository.
fn listed(root: &Path) -> Option<BTreeSet<PathBuf>> {
    // The directory can have a repository inside, whose configuration must not run a program.
    let safe = "-c core.fsmonitor=false -c safe.bareRepository=explicit";
    let output = Command::new("git")
        .args(safe.split(' '))
        .arg("-C")
        .arg(root)
        .args("ls-files -z --cached --others --exclude-standard".split(' '))
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let files = output
        .stdout
        .split(|byte| *byte == 0)
        .filter(|file| !file.is_empty())
        .map(|file| PathBuf::from(OsStr::from_bytes(file)))
        .collect();
    Some(files)
}
