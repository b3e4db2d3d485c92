//! Kustomizations. Their patches look like objects, but are not objects.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cluster::field::{items, text};
use manifest::objects;

/// MIRRORS: kustomize api/konfig/general.go, `RecognizedKustomizationFileNames`.
const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The fields with patches, including deprecated ones.
///
/// MIRRORS: kustomize api/types/kustomization.go, `Kustomization`.
const FIELDS: [&str; 3] = ["/patches", "/patchesJson6902", "/patchesStrategicMerge"];

/// The kinds of a kustomization, which may also have none.
const KINDS: [Option<&str>; 3] = [None, Some("Kustomization"), Some("Component")];

/// The kustomizations in the directories of the files, and their patches.
#[derive(Debug, Default)]
pub(super) struct Kustomizations {
    seen: BTreeSet<PathBuf>,
    /// The names of the directories, by the real path of a file.
    files: BTreeMap<PathBuf, String>,
}

impl Kustomizations {
    /// Reads the kustomizations in the directory of a file, and in its parent directories.
    pub(super) fn look_around(&mut self, file: &Path) {
        let parents = file.parent().unwrap_or(Path::new("")).ancestors();
        for directory in parents {
            if !self.seen.insert(directory.to_owned()) {
                break;
            }
            for name in NAMES {
                self.read(directory, name);
            }
        }
    }

    fn read(&mut self, directory: &Path, name: &str) {
        // Reading a pipe would block until another process writes to it.
        let file = Some(directory.join(name)).filter(|file| file.is_file());
        let content = file.and_then(|file| cluster::files::text(&file).ok());
        let objects = content.and_then(|content| objects(&content).ok());
        let Some(objects) = objects.filter(|objects| {
            let mut kinds = objects.iter().map(|object| text(&object.value, "/kind"));
            kinds.all(|kind| KINDS.contains(&kind))
        }) else {
            return;
        };
        // The parent of a file in the current directory is empty, which is not a path.
        let here = if directory.as_os_str().is_empty() {
            Path::new(".")
        } else {
            directory
        };
        // The deprecated fields contain only file names, or inline patches.
        let patches = objects
            .iter()
            .flat_map(|object| FIELDS.map(|field| items(&object.value, field)))
            .flatten()
            .filter_map(|patch| patch.get("path").unwrap_or(patch).as_str());
        let resources: Vec<PathBuf> = objects
            .iter()
            .flat_map(|object| items(&object.value, "/resources"))
            .filter_map(|resource| std::fs::canonicalize(directory.join(resource.as_str()?)).ok())
            .collect();
        // kustomize loads no file from elsewhere by default, and another directory's file may be used without it. A file
        // that is also a resource is an object.
        let own = std::fs::canonicalize(here);
        for patch in patches.chain([name]) {
            if let (Ok(path), Ok(own)) = (std::fs::canonicalize(directory.join(patch)), &own)
                && path.starts_with(own)
                && !resources.contains(&path)
            {
                let name = || here.to_string_lossy().into_owned();
                self.files.entry(path).or_insert_with(name);
            }
        }
    }

    /// The name of the directory of the kustomization, if a file is one or is one of its patches.
    pub(super) fn with_patch(&self, file: &Path) -> Option<&str> {
        let path = std::fs::canonicalize(file).ok()?;
        self.files.get(&path).map(String::as_str)
    }
}
