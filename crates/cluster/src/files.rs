//! Reads files: texts, and the objects of a directory tree.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use manifest::{LIMIT, each_in_json, objects, read_up_to};
use serde_json::Value;
use walkdir::WalkDir;

use crate::foreign::one_line;

pub const STDIN: &str = "-";

pub const STDIN_NAME: &str = "stdin";

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

pub fn text_up_to(path: &Path, limit: u64) -> Result<Vec<u8>> {
    if path == Path::new(STDIN) {
        return read_up_to(limit, io::stdin()).context("standard input cannot be read");
    }
    let text = File::open(path).and_then(|file| read_up_to(limit, file));
    text.with_context(|| format!("{} cannot be read", name(path)))
}

/// Passes objects on as soon as they are read, because a must-gather is larger than the part that is used. Returns which
/// files of a directory cannot be read, and why.
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

/// JSON is read twice, so that a truncated file has no effect, and a large one is never in memory as a whole.
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

/// Whether a path is `..data` of a mounted `ConfigMap`, or the target of that link: both only repeat the files.
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
