//! Levels for the templates whose names begin with a prefix. A rule looks up each template of the object, so one search
//! covers all prefixes.

use std::collections::BTreeMap;

use super::Levels;
use crate::rule::{Level, Rule};

/// Prefixes, sorted.
#[derive(Debug, Default)]
pub(super) struct Prefixes(Vec<Prefix>);

#[derive(Debug)]
struct Prefix {
    text: String,
    /// The levels of this prefix, completed with the levels of all shorter prefixes.
    levels: Levels,
    /// The index of the longest shorter prefix.
    shorter: Option<usize>,
}

impl Prefixes {
    pub(super) fn new(prefixes: BTreeMap<String, Levels>) -> Self {
        let mut list: Vec<Prefix> = Vec::new();
        for (text, own) in prefixes {
            // A shorter prefix sorts before this one, as do all others that begin with it.
            let last = list.len().checked_sub(1);
            let shorter = matching(&list, last, |prefix| text.starts_with(prefix));
            let inherited = shorter.and_then(|index| list.get(index));
            let mut levels = inherited.map(|it| it.levels.clone()).unwrap_or_default();
            levels.extend(own);
            list.push(Prefix {
                text,
                levels,
                shorter,
            });
        }
        Self(list)
    }

    /// The level of a rule for a template, from the longest prefix of its name that sets one.
    pub(super) fn level(&self, rule: &Rule, name: &str) -> Option<Level> {
        let list = &self.0;
        let last = list.partition_point(|prefix| prefix.text.as_str() <= name);
        let last = last.checked_sub(1);
        let nearest = list.get(last?)?;
        let pairs = nearest.text.bytes().zip(name.bytes());
        let common = pairs.take_while(|(one, other)| one == other).count();
        let index = matching(list, last, |prefix| prefix.len() <= common)?;
        list.get(index)?.levels.get(rule.id).copied()
    }

    /// The levels of each prefix.
    pub(super) fn levels(&self) -> impl Iterator<Item = &Levels> {
        self.0.iter().map(|prefix| &prefix.levels)
    }
}

/// The index of the first match among this prefix and its shorter prefixes.
fn matching(
    list: &[Prefix],
    mut index: Option<usize>,
    is_it: impl Fn(&str) -> bool,
) -> Option<usize> {
    loop {
        let prefix = list.get(index?)?;
        if is_it(&prefix.text) {
            return index;
        }
        index = prefix.shorter;
    }
}
