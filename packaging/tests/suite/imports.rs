//! No files of a crate import each other in a circle, a module and its own children aside. Then each file can be read
//! after the files that it imports.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::root;

/// The crates whose files are compared: those of the workspace with more than one file, but for `benches/`.
const CRATES: [&str; 10] = [
    "e2e-tests",
    "engine",
    "host",
    "json-stream",
    "kubernetes",
    "manifest",
    "operators",
    "packaging",
    "preflight",
    "sources",
];

/// A module by its path in the crate; the root has none.
type Module = Vec<String>;
type Imports = BTreeMap<Module, BTreeSet<Module>>;

#[test]
fn no_files_import_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for name in CRATES {
        let imports = imports(&files(&root().join(name).join("src")));
        assert!(imports.len() > 1, "{name} has only {} files", imports.len());
        let all = imports.keys().cloned().collect();
        for circle in find(&imports, &all) {
            let files: Vec<String> = circle.iter().map(|module| file(name, module)).collect();
            circles.push(format!(
                "These files import each other in a circle: {}. Move what they share to a file that both import.",
                files.join(" -> ")
            ));
        }
    }
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

#[test]
fn a_circle_is_found_unless_it_is_a_module_and_its_children() {
    let circles = |files: &[(&str, &str)]| -> Vec<String> {
        let files = files
            .iter()
            .map(|(path, text)| (module(path), (*text).to_owned()));
        let imports = imports(&files.collect());
        let circles = find(&imports, &imports.keys().cloned().collect());
        let circles = circles
            .iter()
            .map(|circle| circle.iter().map(|it| it.join("/")));
        circles
            .map(|circle| circle.collect::<Vec<_>>().join(" "))
            .collect()
    };
    let lib = ("lib.rs", "mod a; mod b;");
    let of = |a, b| circles(&[lib, ("a.rs", a), ("b.rs", b)]);
    assert_eq!(of("use crate::b::B;", "use crate::a::A;"), ["a b a"]);
    assert_eq!(of("use crate::b::B;", "use std::a::A;"), [""; 0]);
    assert_eq!(of("use super::b;", "fn f() -> crate::a::A {}"), ["a b a"]);
    assert_eq!(
        of("use crate::{c, b::{B, C}};", "use crate::{\n    a::A,\n};"),
        ["a b a"]
    );
    // Comments and tests do not count.
    assert_eq!(of("// use crate::b::B;", "use crate::a::A;"), [""; 0]);
    assert_eq!(
        of(
            "#[cfg(test)]\nmod tests { use crate::b::B; }",
            "use crate::a::A;"
        ),
        [""; 0]
    );

    assert_eq!(
        of(
            "#[cfg(test)]\nuse std::fmt;\nuse crate::b::B;",
            "use crate::a::A;"
        ),
        ["a b a"]
    );

    let child = |a, child, b| circles(&[lib, ("a.rs", a), ("a/c.rs", child), ("b.rs", b)]);
    assert_eq!(child("use self::c::C;", "use super::A;", ""), [""; 0]);
    assert_eq!(
        child("use self::c::C;", "use crate::b::B;", "use crate::a::A;"),
        ["a a/c b a"]
    );
    assert_eq!(
        child(
            "mod c;\nconst C: C = c::C;",
            "use crate::b::B;",
            "use crate::a::A;"
        ),
        ["a a/c b a"]
    );
    assert_eq!(
        child("", "use crate::b::B;", "use crate::a::c::C;"),
        ["a/c b a/c"]
    );
    let children = [
        lib,
        ("a.rs", "use self::c::C; use self::d::D;"),
        ("a/c.rs", "use super::{A, d::D};"),
        ("a/d.rs", "use super::c::C;"),
    ];
    assert_eq!(circles(&children), ["a/c a/d a/c"]);
}

/// The text of each file.
fn files(source: &Path) -> BTreeMap<Module, String> {
    let mut files = BTreeMap::new();
    let mut directories = vec![source.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let name = path.strip_prefix(source).unwrap().to_str().unwrap();
                files.insert(module(name), fs::read_to_string(&path).unwrap());
            }
        }
    }
    files
}

/// `a/b.rs` is the module `a::b`.
fn module(path: &str) -> Module {
    let path = path.strip_suffix(".rs").unwrap();
    match path {
        "lib" | "main" => Module::new(),
        path => path.split('/').map(str::to_owned).collect(),
    }
}

fn file(name: &str, module: &Module) -> String {
    let path = if module.is_empty() {
        "lib".to_owned()
    } else {
        module.join("/")
    };
    format!("{name}/src/{path}.rs")
}

/// Which files of the crate each file imports.
fn imports(files: &BTreeMap<Module, String>) -> Imports {
    let of = |module: &Module, text: &str| {
        let paths = paths(text)
            .into_iter()
            .filter_map(|path| absolute(module, path));
        let files = paths.map(|mut path| {
            while !files.contains_key(&path) {
                path.pop();
            }
            path
        });
        // The root imports everything.
        files.filter(|it| it != module && !it.is_empty()).collect()
    };
    let files = files.iter();
    files
        .map(|(module, text)| (module.clone(), of(module, text)))
        .collect()
}

/// A path from the root of the crate.
fn absolute(module: &Module, path: Vec<String>) -> Option<Module> {
    let mut absolute = module.clone();
    let mut path = path.into_iter().peekable();
    match path.next()?.as_str() {
        "crate" => absolute.clear(),
        "super" => drop(absolute.pop()?),
        _ => {}
    }
    while path.next_if(|name| name == "super").is_some() {
        absolute.pop()?;
    }
    absolute.extend(path);
    Some(absolute)
}

/// All paths that begin with `crate`, `self`, `super`, or a child, outside of comments and of the tests at the end.
fn paths(text: &str) -> Vec<Vec<String>> {
    let (text, _) = text
        .split_once("#[cfg(test)]\nmod tests")
        .unwrap_or((text, ""));
    let children: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_suffix(';')?.rsplit_once("mod "))
        .map(|(_, child)| child)
        .collect();
    let lines = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    let text = lines.collect::<Vec<_>>().join("\n");
    let mut paths = Vec::new();
    for (begin, _) in text.match_indices("::") {
        let (before, rest) = text.split_at(begin);
        let first = before
            .rsplit(|it: char| !is_name(it))
            .next()
            .unwrap_or_default();
        let start = match first {
            "crate" | "self" | "super" => vec![first.to_owned()],
            child if children.contains(child) => vec!["self".to_owned(), child.to_owned()],
            _ => continue,
        };
        if !before.ends_with(&format!("::{first}")) {
            let mut rest = rest.get(2..).unwrap_or_default();
            tree(&start, &mut rest, &mut paths);
        }
    }
    paths
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Reads `a::{b, c::d}` behind a prefix.
fn tree(prefix: &[String], text: &mut &str, paths: &mut Vec<Vec<String>>) {
    *text = text.trim_start();
    if let Some(rest) = text.strip_prefix('{') {
        *text = rest;
        loop {
            tree(prefix, text, paths);
            *text = text.trim_start();
            let Some(rest) = text.strip_prefix(',') else {
                break;
            };
            *text = rest;
        }
        *text = text.strip_prefix('}').unwrap_or(text);
        return;
    }
    let (name, rest) = text.split_at(text.find(|it| !is_name(it)).unwrap_or(text.len()));
    *text = rest;
    let path = [prefix, &[name.to_owned()]].concat();
    if let Some(rest) = text.strip_prefix("::") {
        *text = rest;
        tree(&path, text, paths);
    } else {
        // `use a as b`
        let end = text.find([',', '}', ';', '(', ')']).unwrap_or(text.len());
        if text.starts_with(" as ") {
            *text = text.get(end..).unwrap_or_default();
        }
        paths.push(path);
    }
}

/// The circles among these files, one for each set of files that import each other.
fn find(imports: &Imports, among: &BTreeSet<Module>) -> Vec<Vec<Module>> {
    let mut circles = Vec::new();
    let mut done = BTreeSet::new();
    for module in among {
        if done.contains(module) {
            continue;
        }
        let reached = reachable(imports, among, module);
        let circle = reached
            .iter()
            .filter(|it| reachable(imports, among, it).contains(module));
        let mut circle: BTreeSet<Module> = circle.cloned().collect();
        done.extend(circle.iter().cloned());
        let is_above_all = |it: &&Module| circle.iter().all(|other| other.starts_with(it));
        if let Some(parent) = circle.iter().find(is_above_all).cloned() {
            // A module and its own children: the children alone.
            circle.remove(&parent);
            circles.extend(find(imports, &circle));
        } else if !circle.is_empty() {
            circles.push(path(imports, &circle, module));
        }
    }
    circles
}

/// The files that a file imports, directly or through others.
fn reachable(imports: &Imports, among: &BTreeSet<Module>, module: &Module) -> BTreeSet<Module> {
    let mut reached = BTreeSet::new();
    let mut next = vec![module];
    while let Some(module) = next.pop() {
        let imported = imports.get(module).into_iter().flatten();
        for imported in imported.filter(|it| among.contains(*it)) {
            if reached.insert(imported.clone()) {
                next.push(imported);
            }
        }
    }
    reached
}

/// A way from a file back to itself through files of its circle.
fn path(imports: &Imports, circle: &BTreeSet<Module>, begin: &Module) -> Vec<Module> {
    let mut ways = vec![vec![begin.clone()]];
    let mut seen = BTreeSet::new();
    while let Some(way) = (!ways.is_empty()).then(|| ways.remove(0)) {
        let last = way.last().unwrap();
        for imported in imports.get(last).into_iter().flatten() {
            let way = [way.as_slice(), std::slice::from_ref(imported)].concat();
            if imported == begin {
                return way;
            }
            if circle.contains(imported) && seen.insert(imported.clone()) {
                ways.push(way);
            }
        }
    }
    Vec::new()
}
