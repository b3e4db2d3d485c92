//! The differences between two texts of a file.

use std::fmt::Write as _;

use anstyle::Style;
use similar::TextDiff;

use crate::foreign;
use crate::terminal::{CYAN, GREEN, RED};

pub(crate) struct Diff {
    /// A unified diff, with colors.
    pub(crate) text: String,
    /// Whether characters of the file are escaped in it.
    pub(crate) is_escaped: bool,
}

/// Compares two texts of a file.
pub(crate) fn diff(file: &str, old: &str, new: &str) -> Diff {
    let mut file = foreign::one_line(file);
    if file.contains(' ') {
        // `patch` needs a tab to find the end of the name.
        file.push('\t');
    }
    let diff = TextDiff::from_lines(old, new);
    let diff = diff.unified_diff().header(&file, &file).to_string();
    let mut shown = Diff {
        text: String::new(),
        is_escaped: false,
    };
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
        let words = words.join("\t");
        shown.is_escaped |= words != content;
        let _ = write!(shown.text, "{style}{words}{style:#}{end}");
    }
    shown
}
