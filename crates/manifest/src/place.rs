//! The positions of the fields of an object, and the search for a finding's path.

use std::collections::BTreeMap;
use std::ops::Range;

/// The lines of a value and of its entries, and its text. A field has the line of its key.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    line: usize,
    /// The start of the key of a field, in bytes; `None` for an item of a list.
    pub(crate) key: Option<usize>,
    /// The text of the value as the parser marks it, in bytes; see `Form`.
    pub(crate) text: Range<usize>,
    pub(crate) form: Form,
    below: Below,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// No text, which means null.
    Empty,
    /// A scalar without quotation marks.
    Plain,
    /// A scalar in quotation marks. The marked text can end after it.
    Quoted,
    /// A block scalar. The marked text begins after its `|` or `>`.
    Literal,
    /// A map or a list by indentation. The parser marks only its start.
    Block,
    /// A map or a list in brackets. The parser marks only its start.
    Flow,
    /// An alias.
    Alias,
    /// The value comes from an alias or a merge key, and has no text of its own.
    Elsewhere,
}

/// The content of a value.
#[derive(Debug, Clone)]
pub(crate) enum Below {
    Nothing,
    Fields {
        fields: BTreeMap<String, Place>,
        /// The values of merge keys.
        merged: Vec<Place>,
    },
    Items(Vec<Place>),
}

impl Place {
    pub(crate) fn new(line: usize, text: Range<usize>, form: Form, below: Below) -> Self {
        Self {
            line,
            key: None,
            text,
            form,
            below,
        }
    }

    /// A value without entries.
    pub(crate) fn scalar(line: usize, text: Range<usize>, form: Form) -> Self {
        Self::new(line, text, form, Below::Nothing)
    }

    /// A value without a text of its own.
    pub(crate) fn elsewhere(line: usize) -> Self {
        Self::scalar(line, 0..0, Form::Elsewhere)
    }

    /// The same as a field whose key is on this line and begins at this byte.
    pub(crate) fn of_key(self, line: usize, key: usize) -> Self {
        let key = Some(key);
        Self { line, key, ..self }
    }

    /// The start of the field, or of the value of an item. It differs for all entries of a map or a list.
    pub(crate) fn at(&self) -> usize {
        self.key.unwrap_or(self.text.start)
    }

    /// The same, in a map that gets it through a merge key.
    pub(crate) fn merged(self) -> Self {
        Self {
            form: Form::Elsewhere,
            ..self
        }
    }

    /// The places of the fields and merge keys, in the order of the text.
    pub(crate) fn entries(&self) -> Vec<&Self> {
        let mut entries: Vec<&Self> = match &self.below {
            Below::Nothing => Vec::new(),
            Below::Fields { fields, merged } => fields.values().chain(merged).collect(),
            Below::Items(items) => items.iter().collect(),
        };
        entries.retain(|entry| entry.form != Form::Elsewhere);
        entries.sort_by_key(|entry| entry.at());
        entries
    }

    /// The place of an item.
    pub(crate) fn item(&self, index: usize) -> Option<&Self> {
        match &self.below {
            Below::Items(items) => items.get(index),
            Below::Nothing | Below::Fields { .. } => None,
        }
    }

    pub(crate) fn line(&self) -> usize {
        self.line
    }

    /// The place of a field, if it has one of its own.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        match &self.below {
            Below::Fields { fields, .. } => fields.get(name),
            Below::Nothing | Below::Items(_) => None,
        }
    }

    /// Removes the place of a field, and returns it.
    pub(crate) fn take_field(&mut self, name: &str) -> Option<Self> {
        match &mut self.below {
            Below::Fields { fields, .. } => fields.remove(name),
            Below::Nothing | Below::Items(_) => None,
        }
    }

    /// The place of each item. Endless, because all items of an alias have the same place.
    pub(crate) fn into_items(self) -> impl Iterator<Item = Self> {
        let line = self.line;
        let items = match self.below {
            Below::Items(items) => items,
            Below::Nothing | Below::Fields { .. } => Vec::new(),
        };
        items
            .into_iter()
            .chain(std::iter::repeat_with(move || Self::elsewhere(line)))
    }

    /// Follows a path as far as its fields exist. Names follow dots; indices, and names with dots, slashes, or brackets,
    /// are in brackets. The path is ambiguous without the object, so the longest name that exists is used. A path that
    /// was cut ends at the parent.
    pub(crate) fn line_of(&self, path: &str) -> usize {
        let mut place = self;
        let mut rest = path;
        while let Some((next, left)) = place.step(rest) {
            place = next;
            rest = left;
        }
        place.line
    }

    fn step<'p>(&self, path: &'p str) -> Option<(&Self, &'p str)> {
        match &self.below {
            Below::Nothing => None,
            Below::Items(items) => {
                let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
                Some((items.get(index.parse::<usize>().ok()?)?, rest))
            }
            Below::Fields { fields, .. } => fields
                .iter()
                .filter_map(|(name, place)| Some((place, after(path, name)?)))
                .min_by_key(|(_, rest)| rest.len()),
        }
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
