//! The positions of the fields of an object, and the search for a finding's path.

use std::collections::BTreeMap;
use std::ops::Range;

/// The position of a value in a file, and of its entries.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// The line of the key of a field, or of the value of an item.
    pub(crate) line: usize,
    /// The key of a field with its colon, or the dash of an item, in bytes; `None` for an item in brackets.
    pub(crate) key: Option<Range<usize>>,
    /// The value with its anchor and its tag, in bytes.
    pub(crate) text: Range<usize>,
    pub(crate) form: Form,
    pub(crate) fields: BTreeMap<String, Place>,
    pub(crate) items: Vec<Place>,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// No text, which means null.
    Empty,
    /// A scalar without `|` and `>`, or an alias.
    Inline,
    /// A scalar after `|` or `>`, which its text does not include.
    Literal,
    /// A map or a list by indentation.
    Block,
    /// A map or a list in brackets.
    Flow,
    /// The value comes from an alias or a merge key, and has no text of its own.
    Elsewhere,
}

impl Place {
    pub(crate) fn new(line: usize, text: Range<usize>, form: Form) -> Self {
        Self {
            line,
            key: None,
            text,
            form,
            fields: BTreeMap::new(),
            items: Vec::new(),
        }
    }

    pub(crate) fn elsewhere(line: usize) -> Self {
        Self::new(line, 0..0, Form::Elsewhere)
    }

    /// The start of the key, of the dash, or of an item in brackets.
    pub(crate) fn start(&self) -> usize {
        self.key.as_ref().unwrap_or(&self.text).start
    }

    /// The fields or items, in the order of the text.
    pub(crate) fn entries(&self) -> Vec<&Self> {
        let mut entries: Vec<&Self> = self.fields.values().chain(&self.items).collect();
        entries.retain(|entry| entry.form != Form::Elsewhere);
        entries.sort_by_key(|entry| entry.start());
        entries
    }

    /// Follows the first name or index of a path. Names follow dots; indices, and names with dots, slashes, or brackets, are
    /// in brackets. The path is ambiguous without the object, so the longest name that exists is used.
    pub(crate) fn step<'p>(&self, path: &'p str) -> Option<(&Self, &'p str)> {
        let index = path.strip_prefix('[').and_then(|path| path.split_once(']'));
        if let Some((index, rest)) = index.filter(|_| !self.items.is_empty()) {
            return Some((self.items.get(index.parse::<usize>().ok()?)?, rest));
        }
        self.fields
            .iter()
            .filter_map(|(name, place)| Some((place, after(path, name)?)))
            .min_by_key(|(_, rest)| rest.len())
    }
}

/// The rest of a path after a name.
fn after<'p>(path: &'p str, name: &str) -> Option<&'p str> {
    let rest = match path.strip_prefix('[') {
        Some(path) => path.strip_prefix(name)?.strip_prefix(']')?,
        None => path.strip_prefix('.').unwrap_or(path).strip_prefix(name)?,
    };
    (rest.is_empty() || rest.starts_with(['.', '['])).then_some(rest)
}
