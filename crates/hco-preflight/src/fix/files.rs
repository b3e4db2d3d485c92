//! The changes of `fix` in files: written, or shown as a diff.

use std::fmt::Write as _;
use std::sync::Arc;

use anstyle::Style;
use anyhow::{Context as _, Result, ensure};
use cluster::foreign;
use manifest::{EditError, Object, edited, objects};
use serde_json::Value;
use similar::TextDiff;

use super::Fixed;
use crate::args;
use crate::failure::{Failure, Place, chain};
use crate::input::Question;
use crate::input::files::{Found, Source};
use crate::terminal::{CYAN, GREEN, RED, Terminal, print_raw};

/// The fixes of a file that cannot be written do not count.
pub(super) fn write_or_show(
    fixed: &mut [Fixed],
    args: &args::Fix,
    terminal: &Terminal,
    failures: &mut Vec<Failure>,
) -> Result<()> {
    let file = |fixed: &Fixed| fixed.source().map(Arc::as_ptr);
    for of_file in fixed.chunk_by_mut(|one, other| file(one) == file(other)) {
        let Some(source) = of_file.first().and_then(Fixed::source).cloned() else {
            continue;
        };
        let value = |object: &Arc<Object>| {
            let fixed = of_file.iter().find(|fixed| fixed.is(object));
            fixed.map(|fixed| &fixed.value)
        };
        let text = edit(&source, value).with_context(|| foreign::one_line(&source.name()))?;
        if !args.write {
            terminal.print(&diff(&source.name(), &source.text, &text))?;
            continue;
        }
        let done = if source.is_stdin() {
            print_raw(text.as_bytes())
        } else if text != source.text {
            overwrite(&source, &text)
        } else {
            Ok(())
        };
        if let Err(error) = done {
            let (file, line) = (source.name(), None);
            let what = format!("not written: {}", chain(&error));
            failures.push(Failure::new(Some(Place { file, line }), what));
            for fixed in of_file {
                fixed.fixes.clear();
            }
            continue;
        }
        let written = objects(text.as_bytes()).into_iter().flatten();
        for (before, after) in source.objects.iter().zip(written) {
            let fixed = of_file.iter_mut().find(|fixed| fixed.is(before));
            let question = fixed.map(|fixed| Arc::make_mut(&mut fixed.judged.question));
            if let Some(found) = question.and_then(|question| question.found.as_mut()) {
                found.object = Arc::new(after);
            }
        }
    }
    Ok(())
}

/// `fix` only makes changes that the editor supports, and a change of one object does not affect another one.
fn edit<'v>(
    source: &'v Source,
    value: impl Fn(&Arc<Object>) -> Option<&'v Value>,
) -> Result<String, EditError> {
    let objects: Vec<_> = source
        .objects
        .iter()
        .map(|object| (&**object, value(object).unwrap_or(&object.value)))
        .collect();
    edited(&source.text, &objects)
}

pub(super) fn edit_error(question: &Question, value: &Value) -> Option<EditError> {
    let Found { source, object, .. } = question.found.as_ref()?;
    edit(source, |other| Arc::ptr_eq(other, object).then_some(value)).err()
}

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

/// Links, permissions, and the owner stay as they are.
fn overwrite(source: &Source, text: &str) -> Result<()> {
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
    // Root could write it.
    ensure!(!metadata.permissions().readonly(), "it is read-only");
    ensure!(
        std::fs::read(&path)? == source.text.as_bytes(),
        "the file has changed since it was read; run the command again"
    );
    Ok(std::fs::write(&path, text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changed_in_the_meantime_is_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file.yaml");
        std::fs::write(&path, "theirs").unwrap();
        let source = Source {
            path: path.clone(),
            text: "read".to_owned(),
            root: None,
            objects: Vec::new(),
        };
        let error = overwrite(&source, "ours").unwrap_err();
        assert!(error.to_string().contains("has changed since it was read"));
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
    }
}
