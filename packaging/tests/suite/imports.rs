//! No file of `host/`, `manifest/`, or `preflight/` imports another one in a circle: a reader can start at the bottom. A
//! module and its own children aside.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::root;

/// The modules of a crate, as paths with `::`, and what each imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

fn files(directory: &Path, module: &str, found: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let module = match (module, name) {
            (_, "lib" | "main") => String::new(),
            ("", name) => name.to_owned(),
            (module, name) => format!("{module}::{name}"),
        };
        if path.is_dir() {
            files(&path, &module, found);
        } else {
            let text = std::fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]").next().unwrap();
            let lines = text.lines().filter(|line| !line.trim().starts_with("//"));
            found.insert(module, lines.collect::<Vec<_>>().join("\n"));
        }
    }
}

/// The paths of a `use`, without braces.
fn expanded(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let Some((before, inside)) = tree.split_once('{') else {
        return paths.push(format!("{prefix}{}", tree.trim()));
    };
    let inside = inside.rsplit_once('}').map_or(inside, |(inside, _)| inside);
    let prefix = format!("{prefix}{}", before.trim());
    let (mut depth, mut part) = (0, String::new());
    for letter in inside.chars().chain([',']) {
        match letter {
            ',' if depth == 0 => {
                let part = std::mem::take(&mut part);
                if !part.trim().is_empty() {
                    expanded(&prefix, &part, paths);
                }
                continue;
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        part.push(letter);
    }
}

fn imports(directory: &Path) -> Imports {
    let mut texts = BTreeMap::new();
    files(directory, "", &mut texts);
    let of = |module: &str, text: &str| {
        let mut paths = Vec::new();
        for statement in text.split("use ").skip(1) {
            expanded("", statement.split(';').next().unwrap(), &mut paths);
        }
        for start in ["crate::", "super::"] {
            let uses = text.match_indices(start).map(|(at, _)| {
                let is_path = |it: char| it.is_alphanumeric() || matches!(it, '_' | ':');
                let path: String = text
                    .get(at..)
                    .unwrap_or_default()
                    .chars()
                    .take_while(|it| is_path(*it))
                    .collect();
                path
            });
            paths.extend(uses);
        }
        let resolved = paths.iter().filter_map(|path| {
            let mut around: Vec<&str> = module.split("::").filter(|it| !it.is_empty()).collect();
            let mut names: Vec<&str> = path.split("::").map(str::trim).collect();
            while let Some(first) = names.first().copied() {
                match first {
                    "crate" => around.clear(),
                    "super" => drop(around.pop()),
                    "self" => {}
                    _ => break,
                }
                names.remove(0);
            }
            around.extend(names);
            // The longest part of the path that is a file.
            (1..=around.len()).rev().find_map(|length| {
                let name = around[..length].join("::");
                texts.contains_key(&name).then_some(name)
            })
        });
        resolved.filter(|it| it != module).collect()
    };
    texts
        .iter()
        .map(|(module, text)| (module.clone(), of(module, text)))
        .collect()
}

fn is_family(one: &str, other: &str) -> bool {
    let is_below =
        |one: &str, other: &str| other.is_empty() || one.starts_with(&format!("{other}::"));
    is_below(one, other) || is_below(other, one)
}

#[test]
fn no_file_imports_another_one_in_a_circle() {
    for directory in ["host", "manifest", "preflight"] {
        let mut left = imports(&root().join(directory).join("src"));
        assert!(left.len() > 5, "{directory}: {left:?}");
        for (module, imports) in &mut left {
            imports.retain(|import| !is_family(module, import));
        }
        // Whatever imports nothing that is left is in no circle.
        while let Some(module) = {
            let mut free = left.iter().filter(|(_, imports)| imports.is_empty());
            free.next().map(|(module, _)| module.clone())
        } {
            left.remove(&module);
            for imports in left.values_mut() {
                imports.remove(&module);
            }
        }
        assert!(left.is_empty(), "{directory}: circles among {left:#?}");
    }
}

/// The reader of imports finds them.
#[test]
fn imports_are_found() {
    let imports = imports(&root().join("preflight/src"));
    let of = |module: &str, import: &str| imports[module].contains(import);
    assert!(of("check", "stage") && of("check", "args"));
    assert!(of("stage::judge", "stage::settle") && of("stage::judge", "report"));
    assert!(of("output::sarif", "entry"));
}
