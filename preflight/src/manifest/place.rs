//! Where the fields of an object stand, and how a finding's path is found among them.

use std::collections::BTreeMap;

/// The line of a value and of what is in it. A field has the line of its key.
#[derive(Debug, Clone)]
pub(super) struct Place {
    line: usize,
    below: Below,
}

#[derive(Debug, Clone)]
enum Below {
    Nothing,
    Fields(BTreeMap<String, Place>),
    Items(Vec<Place>),
}

impl Place {
    /// Nothing below has a line of its own.
    pub(super) fn at(line: usize) -> Self {
        let below = Below::Nothing;
        Self { line, below }
    }

    pub(super) fn of_fields(line: usize, fields: BTreeMap<String, Self>) -> Self {
        let below = Below::Fields(fields);
        Self { line, below }
    }

    pub(super) fn of_items(line: usize, items: Vec<Self>) -> Self {
        let below = Below::Items(items);
        Self { line, below }
    }

    /// The same, beginning on another line.
    pub(super) fn from(self, line: usize) -> Self {
        Self { line, ..self }
    }

    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// The place of a field, if it has one of its own.
    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        match &self.below {
            Below::Fields(fields) => fields.get(name),
            Below::Nothing | Below::Items(_) => None,
        }
    }

    /// The place of a field, taken out.
    pub(super) fn take_field(&mut self, name: &str) -> Option<Self> {
        match &mut self.below {
            Below::Fields(fields) => fields.remove(name),
            Below::Nothing | Below::Items(_) => None,
        }
    }

    /// The place of each item; endless, because what came by an alias has one for all.
    pub(super) fn into_items(self) -> impl Iterator<Item = Self> {
        let line = self.line;
        let items = match self.below {
            Below::Items(items) => items,
            Below::Nothing | Below::Fields(_) => Vec::new(),
        };
        items
            .into_iter()
            .chain(std::iter::repeat_with(move || Self::at(line)))
    }

    /// Follows a path as long as there is something: names behind dots, and in brackets indices and names with
    /// dots, slashes or brackets of their own. What the path means is only known by what is there, so the
    /// longest name that fits is taken; a path that was cut ends at the parent.
    pub(super) fn line_of(&self, path: &str) -> usize {
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
            Below::Fields(fields) => fields
                .iter()
                .filter_map(|(name, place)| Some((place, after(path, name)?)))
                .min_by_key(|(_, rest)| rest.len()),
        }
    }
}

/// What is left of a path behind a name.
fn after<'p>(path: &'p str, name: &str) -> Option<&'p str> {
    let rest = match path.strip_prefix('[') {
        Some(path) => path.strip_prefix(name)?.strip_prefix(']')?,
        None => path.strip_prefix('.').unwrap_or(path).strip_prefix(name)?,
    };
    (rest.is_empty() || rest.starts_with(['.', '['])).then_some(rest)
}
