//! Reading JSON without building a tree of it.
//!
//! A request can hold a hundred thousand templates of which a handful of strings is judged. So a
//! value stays the text that was sent ([`RawValue`]) until somebody needs a leaf of it, and only the
//! leaf is decoded. What cannot be read is told by path, what was expected and what was found.
//!
//! The rules are those of Go's decoder, which HCO uses: `null` is the same as absent, unknown keys
//! pass by, the last of two equal keys wins.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A value that is not of the type that HCO reads there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unreadable {
    /// Path from where the reader stands; every level that it passes on the way up is put before it.
    pub(crate) path: String,
    expected: &'static str,
    found: &'static str,
}

impl Unreadable {
    pub(crate) fn new(expected: &'static str, found: &RawValue) -> Self {
        Self {
            path: String::new(),
            expected,
            found: kind(found),
        }
    }

    /// What was found, as a half-sentence.
    pub(crate) fn found(&self) -> String {
        format!("it is {}", self.found)
    }

    /// The same error, seen from one level further up.
    pub(crate) fn under(mut self, segment: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') {
            ""
        } else {
            "."
        };
        self.path = format!("{segment}{dot}{}", self.path);
        self
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            expected,
            found,
        } = self;
        if found == expected {
            // Only half of a surrogate pair gets this far: JSON allows it, Unicode does not.
            write!(f, "{path} holds an escape that is no character")
        } else {
            write!(f, "{path} is {found}, not {expected}")
        }
    }
}

/// What a value is, told by its first character.
pub(crate) fn kind(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// `None` for a null.
fn present(raw: &RawValue) -> Option<&RawValue> {
    (raw.get() != "null").then_some(raw)
}

/// The members of an object that bear one of `names`, in that order; `null` counts as absent.
pub(crate) fn members<'a, const N: usize>(
    raw: &'a RawValue,
    names: [&str; N],
) -> Result<[Option<&'a RawValue>; N], Unreadable> {
    let mut found = [None; N];
    each_member(raw, |key, value| {
        for (slot, name) in found.iter_mut().zip(names) {
            if name == key {
                *slot = present(value);
            }
        }
    })?;
    Ok(found)
}

/// Shows every member of an object to `visit`, in the order in which they stand.
///
/// `null` has no members: Go's decoder leaves a struct as it was when it meets one.
pub(crate) fn each_member<'a>(
    raw: &'a RawValue,
    mut visit: impl FnMut(&str, &'a RawValue),
) -> Result<(), Unreadable> {
    /// One visitor for every caller: what differs is behind a reference, so the code is there once.
    struct Members<'v, 'a>(&'v mut dyn FnMut(&str, &'a RawValue));

    impl<'de> Visitor<'de> for Members<'_, 'de> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<Key<'de>>()? {
                (self.0)(&key.0, map.next_value()?);
            }
            Ok(())
        }
    }

    if present(raw).is_none() {
        return Ok(());
    }
    serde_json::Deserializer::from_str(raw.get())
        .deserialize_map(Members(&mut visit))
        .map_err(|_| Unreadable::new("an object", raw))
}

/// A key as it stands in the text, or decoded if it has escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: serde::de::Error>(self, key: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(key)))
            }

            fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(key.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// The items of a list.
pub(crate) fn items(raw: &RawValue) -> Result<Vec<&RawValue>, Unreadable> {
    serde_json::from_str(raw.get()).map_err(|_| Unreadable::new("a list", raw))
}

/// A string.
pub(crate) fn string(raw: &RawValue) -> Result<String, Unreadable> {
    serde_json::from_str(raw.get()).map_err(|_| Unreadable::new("a string", raw))
}

/// A boolean.
pub(crate) fn boolean(raw: &RawValue) -> Result<bool, Unreadable> {
    serde_json::from_str(raw.get()).map_err(|_| Unreadable::new("a boolean", raw))
}

/// Decodes a member that may be absent, and names it if it cannot be read.
pub(crate) fn optional<'a, T>(
    segment: &str,
    raw: Option<&'a RawValue>,
    decode: impl FnOnce(&'a RawValue) -> Result<T, Unreadable>,
) -> Result<Option<T>, Unreadable> {
    raw.map(decode)
        .transpose()
        .map_err(|error| error.under(segment))
}

/// Whether two values are the same, whatever the order of their keys and the blanks between them.
///
/// Values that are written otherwise than the API server writes them (escapes, `1.0` for `1`) count as
/// different: then they are judged, which is what happens to a change.
pub(crate) fn same(one: Option<&RawValue>, other: Option<&RawValue>) -> bool {
    /// Deeper than any object is that the API server takes; the stack is not ours to fill.
    const DEPTH: usize = 100;
    match (one, other) {
        (Some(one), Some(other)) => are_equal(one, other, DEPTH),
        (None, None) => true,
        _ => false,
    }
}

fn are_equal(one: &RawValue, other: &RawValue, depth: usize) -> bool {
    if one.get() == other.get() {
        return true;
    }
    if depth == 0 {
        return false;
    }
    if let (Ok(one), Ok(other)) = (items(one), items(other)) {
        let mut pairs = one.iter().zip(&other);
        return one.len() == other.len() && pairs.all(|(one, other)| are_equal(one, other, depth - 1));
    }
    match (map(one), map(other)) {
        (Some(one), Some(other)) => {
            let mut pairs = one.iter().zip(&other);
            one.len() == other.len()
                && pairs.all(|((left, one), (right, other))| {
                    left == right && are_equal(one, other, depth - 1)
                })
        }
        _ => false,
    }
}

fn map(raw: &RawValue) -> Option<BTreeMap<String, &RawValue>> {
    let mut map = BTreeMap::new();
    each_member(raw, |key, value| {
        map.insert(key.to_owned(), value);
    })
    .ok()?;
    // A null has no members either.
    present(raw).map(|_| map)
}

/// A field of an object, found by its path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaf<'a> {
    path: &'static [&'static str],
    raw: Option<&'a RawValue>,
    /// How far down `raw` stands: less than the length of `path` if something on the way is no object.
    depth: usize,
}

impl<'a> Leaf<'a> {
    /// Finds the fields at `paths`, all in one pass over the object.
    ///
    /// It never fails: where something on the way is no object, that something is the leaf, so that
    /// two objects can be compared before anything of them is decoded.
    pub(crate) fn all<const N: usize>(
        object: &'a RawValue,
        paths: [&'static [&'static str]; N],
    ) -> [Self; N] {
        let mut leaves = paths.map(|path| Leaf {
            path,
            raw: None,
            depth: 0,
        });
        descend(object, 0, &mut leaves.iter_mut().collect::<Vec<_>>());
        leaves
    }

    /// Whether the field is the same in another object.
    pub(crate) fn same_as(&self, other: &Self) -> bool {
        self.depth == other.depth && same(self.raw, other.raw)
    }

    /// Decodes the field; `None` if it is absent or `null`.
    pub(crate) fn read<T>(
        &self,
        decode: impl FnOnce(&'a RawValue) -> Result<T, Unreadable>,
    ) -> Result<Option<T>, Unreadable> {
        let Some(raw) = self.raw else {
            return Ok(None);
        };
        if self.depth < self.path.len() {
            let above = path_text(self.path.get(..self.depth).unwrap_or_default());
            return Err(Unreadable::new("an object", raw).under(&above));
        }
        optional(&path_text(self.path), Some(raw), decode)
    }
}

fn descend<'a>(raw: &'a RawValue, depth: usize, leaves: &mut [&mut Leaf<'a>]) {
    for leaf in leaves.iter_mut() {
        leaf.raw = None;
    }
    if present(raw).is_none() {
        return;
    }
    let walked = each_member(raw, |key, value| {
        let mut below: Vec<&mut Leaf<'a>> = Vec::new();
        for leaf in leaves.iter_mut() {
            if leaf.path.get(depth) == Some(&key) {
                if leaf.path.len() == depth + 1 {
                    leaf.raw = present(value);
                    leaf.depth = depth + 1;
                } else {
                    below.push(leaf);
                }
            }
        }
        if !below.is_empty() {
            descend(value, depth + 1, &mut below);
        }
    });
    if walked.is_err() {
        for leaf in leaves {
            leaf.raw = Some(raw);
            leaf.depth = depth;
        }
    }
}

/// `spec.workloads` or `metadata.annotations[ssp.kubevirt.io/jsonpatch]`: keys with a dot or a
/// slash stand in brackets.
pub(crate) fn path_text(path: &[&str]) -> String {
    let mut text = String::new();
    for segment in path {
        if segment.contains(['.', '/']) {
            text.push('[');
            text.push_str(segment);
            text.push(']');
        } else {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(segment);
        }
    }
    if text.is_empty() {
        text.push_str("the object");
    }
    text
}

/// The whole document as one value, its syntax checked.
pub(crate) fn document(payload: &[u8]) -> Result<&RawValue, serde_json::Error> {
    let text = std::str::from_utf8(payload).map_err(serde_json::Error::custom)?;
    serde_json::from_str(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> &RawValue {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn null_is_absent_and_the_last_of_two_equal_keys_wins() {
        let [a, b, c] =
            members(raw(r#"{"a":1,"b":null,"a":2,"\u0063":3}"#), ["a", "b", "c"]).unwrap();
        assert_eq!(a.unwrap().get(), "2");
        assert!(b.is_none());
        assert_eq!(c.unwrap().get(), "3");
    }

    #[test]
    fn a_leaf_under_something_that_is_no_object_is_that_something() {
        let [leaf] = Leaf::all(
            raw(r#"{"spec":{"workloads":"here"}}"#),
            [&["spec", "workloads", "nodePlacement", "nodeSelector"]],
        );
        let error = leaf.read(string).unwrap_err();
        assert_eq!(error.to_string(), "spec.workloads is a string, not an object");
        let [same] = Leaf::all(
            raw(r#"{"metadata":{},"spec":{"workloads":"here"}}"#),
            [&["spec", "workloads", "nodePlacement", "nodeSelector"]],
        );
        assert!(leaf.same_as(&same));
    }

    #[test]
    fn two_values_are_the_same_whatever_the_order_of_keys() {
        let one = Some(raw(r#"{"a":[1,2],"b":{}}"#));
        assert!(same(one, Some(raw(r#"{ "b": {}, "a": [1, 2] }"#))));
        assert!(!same(one, Some(raw(r#"{"b":{},"a":[2,1]}"#))));
        assert!(!same(one, None));
        assert!(!same(Some(raw("{}")), Some(raw(r#"{"a":null}"#))));
        assert!(!same(Some(raw("null")), Some(raw("{}"))));
    }

    #[test]
    fn keys_with_dots_stand_in_brackets() {
        assert_eq!(
            path_text(&["metadata", "annotations", "ssp.kubevirt.io/jsonpatch"]),
            "metadata.annotations[ssp.kubevirt.io/jsonpatch]"
        );
    }
}
