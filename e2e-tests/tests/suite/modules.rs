//! The modules of a crate import each other in one direction only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use e2e_tests::repository::root;

/// The names of the modules that each top-level module of a crate imports. Child modules count as their parents.
fn imports(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files(source) {
        let inner = file.strip_prefix(source).unwrap();
        let first = inner.components().next().unwrap();
        let module = Path::new(first.as_os_str()).with_extension("");
        let imported = imports.entry(module.display().to_string()).or_default();
        for line in fs::read_to_string(&file).unwrap().lines() {
            let is_code = !line.trim_start().starts_with("//");
            let paths = line.split("crate::").skip(1).filter(|_| is_code);
            imported.extend(paths.filter_map(|path| {
                let name = path.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
                name.map(str::to_owned).next()
            }));
        }
    }
    for (module, imported) in &mut imports {
        imported.remove(module);
    }
    imports
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .filter(|path| path.extension().is_some_and(|name| name == "rs"))
        .collect()
}

#[test]
fn modules_form_no_circle() {
    for name in [
        "engine",
        "kube-objects",
        "operator-models",
        "policy-host",
        "registry",
    ] {
        let mut left = imports(&root().join("crates").join(name).join("src"));
        left.remove("lib");
        let mut size = usize::MAX;
        while left.len() < size {
            size = left.len();
            let open: BTreeSet<String> = left.keys().cloned().collect();
            left.retain(|_, imported| imported.iter().any(|module| open.contains(module)));
        }
        assert!(left.is_empty(), "{name}: {left:#?}");
    }
}
