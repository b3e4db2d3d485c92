//! Reads the files that the user names, and finds the HyperConverged objects in them.

mod kustomization;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Result, ensure};
use cluster::files::{STDIN, is_manifest, is_of_volume, name, text_up_to};
use cluster::foreign::{self, one_line, shell_word};
use cluster::{Identity, Notes};
use globset::{Glob, GlobMatcher};
use kube_objects::text::list;
use manifest::{ManifestError, Object, documents};
use serde_json::Value;
use walkdir::WalkDir;

use crate::failure::{Failure, Place};
use crate::prose::count;
use crate::report::{NAMED, counted};

#[derive(Debug)]
pub(crate) struct Source {
    /// `-` for standard input.
    pub(crate) path: PathBuf,
    /// The directory that the user named, if the file was found in one.
    pub(crate) root: Option<PathBuf>,
    pub(crate) text: String,
    pub(crate) objects: Vec<Arc<Object>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) source: Arc<Source>,
    pub(crate) object: Arc<Object>,
    pub(crate) identity: Identity,
}

impl Found {
    pub(crate) fn place(&self) -> Place {
        let (file, line) = (self.source.name(), Some(self.object.line));
        Place { file, line }
    }
}

impl Source {
    pub(crate) fn is_stdin(&self) -> bool {
        self.path == Path::new(STDIN)
    }

    pub(crate) fn name(&self) -> String {
        name(&self.path)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Files {
    /// The HyperConverged objects, and the VirtualMachines if they were requested.
    pub(crate) found: Vec<Found>,
    /// The requested objects of other kinds.
    pub(crate) beside: Vec<Found>,
    with_machines: bool,
    walk: Walk,
    seen: BTreeSet<PathBuf>,
    pub(crate) notes: Notes,
    /// The names of skipped files and documents in directories, by reason.
    skipped: BTreeMap<&'static str, Vec<String>>,
    /// The number of skipped documents by kind.
    others: BTreeMap<String, usize>,
    pub(crate) failures: Vec<Failure>,
}

/// The maximum size of a file of `-f`. An object in etcd has at most 1.5 MiB.
const MANIFEST_LIMIT: u64 = 16 << 20;

/// A file that cannot be read or parsed is a failure, but the other files are still read. In a directory, templates of a
/// Helm chart are skipped, and a note names them.
pub(crate) fn read(paths: &[PathBuf], walk: Walk, with_machines: bool) -> Files {
    let mut files = Files {
        with_machines,
        walk,
        ..Files::default()
    };
    for path in paths {
        files.path(path);
    }
    for (why, names) in &files.skipped {
        let note = format!("skipped {} ({why})", list(names, NAMED));
        files.notes.push(&note);
    }
    let mut identities = files.found.iter().map(|found| &found.identity);
    if !identities.any(Identity::is_virtual_machine) {
        for found in std::mem::take(&mut files.beside) {
            files.count(found.identity.kind);
        }
    }
    if !files.others.is_empty() {
        let documents = count(files.others.values().sum(), "document");
        let kinds = counted(&files.others);
        let note = format!("skipped {documents} of other kinds: {kinds}");
        files.notes.push(&note);
    }
    files
}

/// The kinds of the other objects that a VirtualMachine depends on.
const BESIDE: [&str; 4] = [
    "DataSource",
    "KubeVirt",
    "VirtualMachinePreference",
    "VirtualMachineClusterPreference",
];

pub(crate) fn check_stdin(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<()> {
    let stdin = Path::new(STDIN);
    let mut stdin = paths.into_iter().filter(|path| path.as_ref() == stdin);
    ensure!(
        stdin.nth(1).is_none(),
        "only one of the files can be - (standard input)"
    );
    Ok(())
}

pub(crate) fn check_directories(paths: &[PathBuf], walk: &Walk) -> Result<()> {
    ensure!(
        !paths.is_empty() || !walk.recursive && walk.exclude.is_empty(),
        "-R, --include-ignored, and --exclude are for directories of -f: add -f DIRECTORY, or remove them"
    );
    Ok(())
}

impl Files {
    fn path(&mut self, path: &Path) {
        if self.is_excluded(path) {
            self.skip("--exclude", path.display().to_string());
        } else if path != Path::new(STDIN) && path.is_dir() {
            self.directory(path);
        } else {
            self.file(path, None);
        }
    }

    fn is_excluded(&self, path: &Path) -> bool {
        let plain = path.strip_prefix(".").unwrap_or(path);
        let mut patterns = self.walk.exclude.iter();
        plain != Path::new(STDIN)
            && patterns.any(|pattern| plain.ancestors().any(|path| pattern.is_match(path)))
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
                self.skip_subdirectory(path, entry.path_is_symlink());
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
                self.file(path, Some(root));
                continue;
            };
            self.skip(reason, path.display().to_string());
        }
    }

    fn skip_subdirectory(&mut self, path: &Path, is_link: bool) {
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

    /// Reads a file, unless a link or another argument led to it before.
    fn file(&mut self, path: &Path, root: Option<&Path>) {
        if path != Path::new(STDIN)
            && let Ok(real) = std::fs::canonicalize(path)
            && !self.seen.insert(real)
        {
            return;
        }
        let place = |line| Place {
            file: name(path),
            line,
        };
        let text = match text_up_to(path, MANIFEST_LIMIT) {
            Ok(text) => text,
            Err(error) => {
                let what = format!("cannot be read: {}", error.root_cause());
                return self.fail(place(None), what);
            }
        };
        if String::from_utf8_lossy(&text).contains("HyperConverged")
            && let Some(directory) = kustomization::of_patch(path)
        {
            let name = shell_word(&foreign::path(directory));
            return self.notes.push(&format!(
                "skipped the kustomization {name} and its patches; to include what it builds, pipe `kubectl kustomize {name}` to -f -"
            ));
        }
        let is_template = text.windows(2).any(|two| two == b"{{");
        if is_template && root.is_some() && is_of_chart(path) {
            let what =
                "a template of a Helm chart; to check it, pipe `helm template CHART` to -f -";
            return self.skip(what, place(None).to_string());
        }
        let (documents, error) = documents(&text);
        let (mut objects, mut unreadable) = (Vec::new(), Vec::new());
        for document in documents {
            match document {
                Ok(object) => objects.push(Arc::new(object)),
                Err(error) if root.is_some() => {
                    let place = place(Some(error.line)).to_string();
                    self.skip("a document that is not an object", place);
                }
                Err(error) => unreadable.push(error),
            }
        }
        for ManifestError { what, line, column } in unreadable.into_iter().chain(error) {
            let what = one_line(&what);
            let hint = if is_template {
                "; if it is a Helm template, pipe `helm template CHART` to -f -"
            } else {
                ""
            };
            self.fail(place(Some(line)), format!(
                "cannot be read as YAML or JSON, so nothing from this line on was checked: {what} (column {column}){hint}"
            ));
        }
        let source = Arc::new(Source {
            path: path.to_owned(),
            root: root.map(Path::to_owned),
            // Files that are not text have no objects.
            text: String::from_utf8(text).unwrap_or_default(),
            objects,
        });
        for object in &source.objects {
            self.object(Found {
                source: Arc::clone(&source),
                object: Arc::clone(object),
                identity: Identity::of(&object.value),
            });
        }
    }

    fn object(&mut self, found: Found) {
        let (identity, value, place) = (&found.identity, &found.object.value, found.place());
        match identity.kind.as_str() {
            _ if identity.is_hyperconverged() => self.found.push(found),
            _ if self.with_machines && identity.is_virtual_machine() => self.found.push(found),
            kind if self.with_machines && BESIDE.contains(&kind) => self.beside.push(found),
            // The wrong group may be a mistake, so a note names the object.
            "HyperConverged" => {
                let group = &identity.api_version;
                self.notes.push(&format!("{place}: skipped a HyperConverged of `{group}`"));
            }
            kind if contains_ours(value) => self.fail(place, format!(
                "not checked: the HyperConverged inside this {kind}; check it in a file of its own"
            )),
            "" => self.count("without a kind".to_owned()),
            _ => self.count(found.identity.kind),
        }
    }

    fn fail(&mut self, place: Place, what: String) {
        self.failures.push(Failure::new(Some(place), what));
    }

    fn skip(&mut self, what: &'static str, name: String) {
        self.skipped.entry(what).or_default().push(name);
    }

    fn count(&mut self, kind: String) {
        *self.others.entry(kind).or_default() += 1;
    }
}

/// Selects the files of a directory.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Walk {
    /// Also read subdirectories, except what .gitignore names
    #[arg(long, short = 'R', help_heading = "Objects")]
    pub(crate) recursive: bool,

    /// With -R, also read what .gitignore names
    #[arg(long, requires = "recursive", help_heading = "Objects")]
    pub(crate) include_ignored: bool,

    /// Skip files and directories whose printed path matches this pattern, for example 'charts/*' or '*.tmpl.yaml'
    #[arg(long, value_name = "GLOB", value_parser = pattern, help_heading = "Objects")]
    pub(crate) exclude: Vec<GlobMatcher>,
}

/// A pattern for paths that are not read. A `*` matches any text, including a `/`.
fn pattern(written: &str) -> Result<GlobMatcher, globset::Error> {
    // Shell completion adds a slash to the name of a directory.
    let text = written.strip_prefix("./").unwrap_or(written);
    let glob = Glob::new(text.strip_suffix('/').unwrap_or(text))?;
    Ok(glob.compile_matcher())
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

/// Whether a HyperConverged is inside a value of a kind that this command does not know. An object has metadata; the
/// resources that a ClusterAdmissionPolicy may read do not.
fn contains_ours(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            let is_ours =
                fields.contains_key("metadata") && Identity::of(value).is_hyperconverged();
            is_ours || fields.values().any(contains_ours)
        }
        Value::Array(items) => items.iter().any(contains_ours),
        _ => false,
    }
}

fn is_of_chart(file: &Path) -> bool {
    let mut parents = file.ancestors().skip(1);
    let templates = parents.find(|parent| parent.ends_with("templates"));
    let chart = templates.and_then(Path::parent);
    chart.is_some_and(|chart| chart.join("Chart.yaml").is_file())
}
