//! Reads files: texts, and the objects of a directory tree.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use manifest::{LIMIT, each_in_json, objects, read_up_to};
use serde_json::Value;
use walkdir::WalkDir;

use crate::foreign::one_line;

/// The path of standard input and standard output.
pub const STDIN: &str = "-";

pub const STDIN_NAME: &str = "stdin";

/// The name of a file in the output.
pub fn name(path: &Path) -> String {
    if path == Path::new(STDIN) {
        STDIN_NAME.to_owned()
    } else {
        path.display().to_string()
    }
}

pub fn text(path: &Path) -> Result<Vec<u8>> {
    text_up_to(path, LIMIT)
}

/// The text of a file, up to this number of bytes.
pub fn text_up_to(path: &Path, limit: u64) -> Result<Vec<u8>> {
    if path == Path::new(STDIN) {
        let text = read_up_to(limit, io::stdin());
        return text.context("standard input cannot be read");
    }
    let text = File::open(path).and_then(|file| read_up_to(limit, file));
    text.with_context(|| format!("{} cannot be read", name(path)))
}

/// Passes each object of a file, or of a directory tree, to a function as soon as it is read, because a must-gather is
/// larger than the part that is used. Files that are not manifests are skipped, for example logs. Returns which files of a
/// directory cannot be read, and why.
pub fn each_object(path: &Path, mut of: impl FnMut(&Path, Value)) -> Result<Vec<String>> {
    let mut skipped = Vec::new();
    for file in manifests(path)? {
        match each_in_file(&file, &mut |object| of(&file, object)) {
            Err(error) if file != path => skipped.push(format!("{error:#}")),
            read => read?,
        }
    }
    Ok(skipped)
}

/// Passes the objects of a file to a function, unless the file is truncated. JSON is read twice, so that a large file is
/// never in memory as a whole.
fn each_in_file(file: &Path, of: &mut dyn FnMut(Value)) -> Result<()> {
    // A pipe can be read only once.
    let is_piped = file == Path::new(STDIN) || !file.is_file();
    let piped = is_piped.then(|| text(file)).transpose()?;
    let each_in_json = |of: &mut dyn FnMut(Value)| -> Result<()> {
        match &piped {
            Some(text) => each_in_json(&**text, of)?,
            None => each_in_json(BufReader::new(File::open(file)?), of)?,
        }
        Ok(())
    };
    if each_in_json(&mut drop).is_ok() {
        // This does not fail, unless the file has changed in the meantime.
        return each_in_json(of);
    }
    let text = piped.map_or_else(|| text(file), Ok)?;
    let objects = objects(&text).map_err(|error| {
        let (name, line, what) = (name(file), error.line, one_line(&error.what));
        anyhow!("{name}:{line}: cannot be read as YAML or JSON: {what}")
    })?;
    for object in objects {
        of(object.value);
    }
    Ok(())
}

/// A file, or the manifests below a directory. The versions of a mounted `ConfigMap` are read once.
fn manifests(path: &Path) -> Result<Vec<PathBuf>> {
    if path == Path::new(STDIN) || !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = WalkDir::new(path)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| !is_of_volume(entry.path()));
    let mut files = Vec::new();
    for entry in entries {
        let entry =
            entry.with_context(|| format!("{}: the directory cannot be read", name(path)))?;
        // Reading a pipe would block until another process writes to it. A link to a missing file is an error later.
        let is_readable = entry.path().is_file() || !entry.path().exists();
        if is_manifest(entry.path()) && is_readable {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}

/// Whether a path is the directory `..data` of a mounted `ConfigMap` or Secret, or the directory that it links to. They have
/// its files a second and a third time.
pub fn is_of_volume(path: &Path) -> bool {
    let link = path.with_file_name("..data");
    let is_link = link.is_symlink() && path.is_dir();
    is_link
        && (path == link || std::fs::read_link(&link).is_ok_and(|target| path.ends_with(target)))
}

/// Whether kubectl reads a file as a manifest, if it gets its directory.
pub fn is_manifest(path: &Path) -> bool {
    let ending = path.extension().and_then(std::ffi::OsStr::to_str);
    matches!(ending, Some("json" | "yaml" | "yml"))
}
