//! The changes of `fix` in files: written, or shown as a diff.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use anstyle::Style;
use anyhow::{Context, Result, anyhow, ensure};
use cluster::foreign::{self};
use manifest::{EditError, Edited, Object, edited};
use serde_json::Value;
use similar::TextDiff;
use tempfile::NamedTempFile;

use super::{Fixed, note_summaries};
use crate::args;
use crate::failure::Failure;
use crate::failure::chain;
use crate::input::Question;
use crate::input::files::Source;
use crate::terminal::{CYAN, GREEN, RED, Terminal, print_raw};

/// Writes the fixed files, or shows the changes. The changes of a file that cannot be written are reverted.
pub(super) fn write_or_show(
    fixed: &mut [Fixed<'_>],
    args: &args::Fix,
    terminal: &Terminal,
    failures: &mut Vec<Failure>,
) -> Result<()> {
    let is_same = |one: &Fixed<'_>, other: &Fixed<'_>| {
        one.source()
            .zip(other.source())
            .is_some_and(|(one, other)| Arc::ptr_eq(one, other))
    };
    for of_file in fixed.chunk_by_mut(is_same) {
        let Some(source) = of_file.first().and_then(Fixed::source) else {
            continue;
        };
        let Edited { text, objects, .. } = edit(source, of_file)?;
        let is_changed = text != source.text;
        if is_changed && !args.quiet {
            note_summaries(of_file, terminal);
        }
        let done = if !args.write {
            if is_changed {
                terminal.print(&diff(&source.name(), &source.text, &text))?;
            }
            continue;
        } else if source.is_stdin() {
            print_raw(text.as_bytes())
        } else if is_changed {
            replace(source, &text)
        } else {
            Ok(())
        };
        if let Err(error) = done {
            let what = format!("not written: {}", chain(&error));
            failures.push(Failure::in_file(&source.name(), None, what));
            of_file.iter_mut().for_each(Fixed::reset);
            continue;
        }
        for (before, after) in source.objects.iter().zip(objects) {
            if let Some(fixed) = of_file.iter_mut().find(|fixed| fixed.is(before)) {
                fixed.written = Some(after);
            }
        }
    }
    Ok(())
}

/// The text of a file with the fixed objects in it. An object that the editor cannot change stays unchanged.
fn edit(source: &Source, of_file: &mut [Fixed<'_>]) -> Result<Edited> {
    fn with(source: &Source, fixed: &[Fixed<'_>]) -> Result<Edited, EditError> {
        let objects = source
            .objects
            .iter()
            .map(|object| {
                let value = fixed
                    .iter()
                    .find(|fixed| fixed.is(object))
                    .map_or(&object.value, |fixed| &fixed.value);
                (&**object, value)
            })
            .collect::<Vec<_>>();
        edited(&source.text, &objects)
    }
    if let Ok(edited) = with(source, of_file) {
        return Ok(edited);
    }
    for count in 1..=of_file.len() {
        // The following objects are still unchanged.
        let error = of_file
            .get(..count)
            .and_then(|them| with(source, them).err());
        if let (Some(error), Some(object)) = (error, of_file.get_mut(count - 1)) {
            object.reset();
            let what = format!("not changed: {error}; edit it manually");
            object.manual.push(what);
        }
    }
    Ok(with(source, of_file)?)
}

/// Why the text of an object's file cannot be changed to this value; `None` if it can.
pub(super) fn edit_error(question: &Question, value: &Value) -> Option<EditError> {
    let written = question.object.written()?;
    let objects: Vec<(&Object, &Value)> = written
        .source
        .objects
        .iter()
        .map(|object| {
            let is_own = Arc::ptr_eq(object, &written.object);
            (&**object, if is_own { value } else { &object.value })
        })
        .collect();
    edited(&written.source.text, &objects).err()
}

/// A unified diff of two texts of a file, with colors.
fn diff(file: &str, old: &str, new: &str) -> String {
    let mut file = foreign::one_line(file);
    if file.contains(' ') {
        // `patch` needs a tab to find the end of the name.
        file.push('\t');
    }
    let diff = TextDiff::from_lines(old, new)
        .unified_diff()
        .header(&file, &file)
        .to_string();
    let mut shown = String::new();
    for line in diff.split_inclusive('\n') {
        let style = match line.chars().next() {
            Some('+') => GREEN,
            Some('-') => RED,
            Some('@') => CYAN,
            _ => Style::new(),
        };
        // Tabs and Windows line breaks are harmless, and `patch` needs them to find the line.
        let content = line.trim_end_matches(['\r', '\n']);
        let end = line.get(content.len()..).unwrap_or_default();
        let words: Vec<String> = content.split('\t').map(foreign::one_line).collect();
        let _ = write!(shown, "{style}{}{style:#}{end}", words.join("\t"));
    }
    shown
}

/// Replaces a file atomically, and keeps its permissions and owner. It does not overwrite a file that has changed in
/// the meantime.
fn replace(source: &Source, text: &str) -> Result<()> {
    // A symbolic link stays a symbolic link.
    let path = std::fs::canonicalize(&source.path)?;
    if let Some(root) = &source.root {
        ensure!(
            path.starts_with(std::fs::canonicalize(root)?),
            "it is a link to {}, which is not in {}; to change that file, name it with -f",
            foreign::path(&path),
            foreign::path(root)
        );
    }
    let metadata = std::fs::metadata(&path)?;
    ensure!(metadata.is_file(), "it is not a regular file");
    // A user who may not write the file may not replace it either.
    std::fs::OpenOptions::new().write(true).open(&path)?;
    ensure!(!metadata.permissions().readonly(), "it is read-only");
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut new = NamedTempFile::new_in(directory).with_context(|| {
        format!(
            "cannot create a temporary file in {}",
            foreign::path(directory)
        )
    })?;
    new.write_all(text.as_bytes())?;
    new.as_file().set_permissions(metadata.permissions())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        // Only root can change the owner of a file. Without that permission, the user becomes the owner.
        let _ = fchown(new.as_file(), Some(metadata.uid()), Some(metadata.gid()));
    }
    new.as_file().sync_all()?;
    ensure!(
        std::fs::read(&path)? == source.text.as_bytes(),
        "the file has changed since it was read; run the command again"
    );
    new.persist(&path).map_err(|error| anyhow!(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changed_in_the_meantime_is_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file.yaml");
        std::fs::write(&path, "theirs").unwrap();
        let source = |text: &str| Source {
            path: path.clone(),
            text: text.to_owned(),
            root: None,
            objects: Vec::new(),
        };
        let error = replace(&source("read"), "ours").unwrap_err();
        assert!(error.to_string().contains("has changed since it was read"));
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
        replace(&source("theirs"), "ours").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"ours");
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1);
    }
}
