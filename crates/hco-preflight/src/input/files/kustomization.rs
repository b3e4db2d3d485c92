//! Kustomizations. Their patches look like objects, but are not objects.

use std::fs::canonicalize;
use std::path::Path;

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

/// The directory of a kustomization, if the file is that kustomization or one of its patches. By default, kustomize loads
/// no file from outside of its directory.
pub(super) fn of_patch(file: &Path) -> Option<&Path> {
    let real = canonicalize(file).ok()?;
    let directory = file.parent()?.ancestors().find(|directory| {
        let is_patch_of = |name| is_patch(&real, directory, &directory.join(name));
        NAMES.into_iter().any(is_patch_of)
    })?;
    // The parent of a file in the current directory is empty, which is not a path.
    let is_here = directory.as_os_str().is_empty();
    Some(if is_here { Path::new(".") } else { directory })
}

/// Whether a file is a kustomization, or one of its patches. A file that is also a resource is an object.
fn is_patch(file: &Path, directory: &Path, kustomization: &Path) -> bool {
    // Reading a pipe would block until another process writes to it.
    let content = kustomization
        .is_file()
        .then(|| cluster::files::text(kustomization).ok());
    let Some(objects) = content.flatten().and_then(|content| objects(&content).ok()) else {
        return false;
    };
    let mut kinds = objects.iter().map(|object| text(&object.value, "/kind"));
    // The deprecated fields contain only file names, or inline patches.
    let names = |field: &str| {
        let mut named = objects
            .iter()
            .flat_map(|object| items(&object.value, field));
        named.any(|item| {
            let name = item.get("path").unwrap_or(item).as_str();
            let path = name.and_then(|name| canonicalize(directory.join(name)).ok());
            path.as_deref() == Some(file)
        })
    };
    let is_own = canonicalize(kustomization).is_ok_and(|own| own == file);
    kinds.all(|kind| KINDS.contains(&kind))
        && (is_own || FIELDS.into_iter().any(names))
        && !names("/resources")
}
