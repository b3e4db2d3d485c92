//! Reading JSON without building a tree of it.
//!
//! A request can hold a hundred thousand templates of which a handful of strings is judged. So a
//! value stays the text that was sent ([`Raw`]) until somebody needs a leaf of it, and only the leaf is
//! decoded. What cannot be read is told by path, what was expected and what was found.
//!
//! The rules are those of Go's decoder, which HCO uses: `null` is the same as absent, unknown keys
//! pass by, the last of two equal keys wins.
//!
//! The scanner that reads node lists reads these too. `serde_json`'s deserializer beside it would take
//! 50 kB of the module.

use std::collections::BTreeMap;
use std::fmt;

use crate::scan::{Fault, Kind, Scanner};

/// A value as it stands in the document, without blanks around it; its syntax is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Raw<'a>(&'a str);

impl<'a> Raw<'a> {
    /// The whole document as one value.
    pub(crate) fn document(document: &'a [u8]) -> Result<Self, Fault> {
        let text = str::from_utf8(document).map_err(|_| Fault::InvalidString)?;
        let mut scanner = Scanner::new(document);
        let span = scanner.span()?;
        if scanner.is_at_end() {
            Ok(Self(text.get(span).unwrap_or_default()))
        } else {
            Err(Fault::Syntax)
        }
    }

    /// What kind of value it is.
    pub(crate) fn kind(self) -> Kind {
        Scanner::new(self.0.as_bytes()).kind().unwrap_or(Kind::Null)
    }

    /// The text as it stands.
    pub(crate) fn text(self) -> &'a str {
        self.0
    }

    /// `None` for a null.
    fn present(self) -> Option<Self> {
        (self.0 != "null").then_some(self)
    }
}

/// A value that is not of the type that HCO reads there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unreadable {
    /// Path from where the reader stands; every level that it passes on the way up is put before it.
    pub(crate) path: String,
    expected: Kind,
    pub(crate) found: Kind,
}

impl Unreadable {
    fn new(expected: Kind, found: Raw<'_>) -> Self {
        Self {
            path: String::new(),
            expected,
            found: found.kind(),
        }
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
        write!(f, "{path} is {found}, not {expected}")
    }
}

/// The members of an object that bear one of `names`, in that order; `null` counts as absent.
pub(crate) fn members<'a, const N: usize>(
    raw: Raw<'a>,
    names: [&str; N],
) -> Result<[Option<Raw<'a>>; N], Unreadable> {
    let mut found = [None; N];
    find_members(raw, &names, &mut found, |name, key| name == key)?;
    Ok(found)
}

/// Finds the members whose keys are the same as one of `names`; of two the last one counts.
pub(crate) fn find_members<'a>(
    raw: Raw<'a>,
    names: &[&str],
    found: &mut [Option<Raw<'a>>],
    is_same: fn(&str, &str) -> bool,
) -> Result<(), Unreadable> {
    each_member(raw, &mut |key, value| {
        for (slot, name) in found.iter_mut().zip(names) {
            if is_same(name, key) {
                *slot = value.present();
            }
        }
    })
}

/// Shows every member of an object to `visit`, in the order in which they stand.
///
/// `null` has no members: Go's decoder leaves a struct as it was when it meets one.
pub(crate) fn each_member<'a>(
    raw: Raw<'a>,
    visit: &mut dyn FnMut(&str, Raw<'a>),
) -> Result<(), Unreadable> {
    let Some(Raw(text)) = raw.present() else {
        return Ok(());
    };
    Scanner::new(text.as_bytes())
        .object(
            |key| key.decode().map(Some),
            |scanner, key| {
                let span = scanner.span()?;
                visit(&key, Raw(text.get(span).unwrap_or_default()));
                Ok::<(), Fault>(())
            },
        )
        .map_err(|_| Unreadable::new(Kind::Object, raw))
}

/// The items of a list.
pub(crate) fn items(raw: Raw<'_>) -> Result<Vec<Raw<'_>>, Unreadable> {
    let mut items = Vec::new();
    Scanner::new(raw.0.as_bytes())
        .list(|scanner| {
            let span = scanner.span()?;
            items.push(Raw(raw.0.get(span).unwrap_or_default()));
            Ok::<(), Fault>(())
        })
        .map_err(|_| Unreadable::new(Kind::List, raw))?;
    Ok(items)
}

/// Decodes every item of a list, and names the one that cannot be read.
pub(crate) fn each<'a, T>(
    raw: Raw<'a>,
    mut decode: impl FnMut(usize, Raw<'a>) -> Result<T, Unreadable>,
) -> Result<Vec<T>, Unreadable> {
    let mut decoded = Vec::new();
    for (index, item) in items(raw)?.into_iter().enumerate() {
        decoded.push(decode(index, item).map_err(|error| error.under(&format!("[{index}]")))?);
    }
    Ok(decoded)
}

/// A string.
pub(crate) fn string(raw: Raw<'_>) -> Result<String, Unreadable> {
    let decoded = Scanner::new(raw.0.as_bytes())
        .text()
        .and_then(super::scan::Text::decode);
    decoded.map_or_else(
        |_| Err(Unreadable::new(Kind::String, raw)),
        |text| Ok(text.into_owned()),
    )
}

/// A string in a map or list of strings, where Go reads a null as an empty one.
pub(crate) fn string_or_null(raw: Raw<'_>) -> Result<String, Unreadable> {
    raw.present().map_or_else(|| Ok(String::new()), string)
}

/// A boolean.
pub(crate) fn boolean(raw: Raw<'_>) -> Result<bool, Unreadable> {
    match raw.0 {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Unreadable::new(Kind::Boolean, raw)),
    }
}

/// Decodes a member that may be absent, and names it if it cannot be read.
pub(crate) fn optional<'a, T>(
    segment: &str,
    raw: Option<Raw<'a>>,
    decode: impl FnOnce(Raw<'a>) -> Result<T, Unreadable>,
) -> Result<Option<T>, Unreadable> {
    match raw.map(decode) {
        None => Ok(None),
        Some(Ok(value)) => Ok(Some(value)),
        Some(Err(error)) => Err(error.under(segment)),
    }
}

/// Whether two values are the same, whatever the order of their keys and the blanks between them.
///
/// Values that are written otherwise than the API server writes them (escapes, `1.0` for `1`) count as
/// different: then they are judged, which is what happens to a change.
pub(crate) fn same(one: Option<Raw<'_>>, other: Option<Raw<'_>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => are_equal(one, other),
        (None, None) => true,
        _ => false,
    }
}

/// Goes no deeper than the scanner, which has passed over both values.
fn are_equal(one: Raw<'_>, other: Raw<'_>) -> bool {
    if one == other {
        return true;
    }
    if let (Ok(one), Ok(other)) = (items(one), items(other)) {
        let mut pairs = one.iter().zip(&other);
        return one.len() == other.len() && pairs.all(|(one, other)| are_equal(*one, *other));
    }
    match (map(one), map(other)) {
        (Some(one), Some(other)) => {
            let mut pairs = one.iter().zip(&other);
            one.len() == other.len()
                && pairs.all(|((left, one), (right, other))| {
                    left == right && are_equal(Raw(one), Raw(other))
                })
        }
        _ => false,
    }
}

/// The members by key. Copies, since maps of strings are there anyway and each further type of map is
/// 2 kB of the module.
fn map(raw: Raw<'_>) -> Option<BTreeMap<String, String>> {
    let mut map = BTreeMap::new();
    each_member(raw, &mut |key, value| {
        map.insert(key.to_owned(), value.text().to_owned());
    })
    .ok()?;
    // A null has no members either.
    raw.present().map(|_| map)
}

/// A field of an object, found by its path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaf<'a> {
    path: &'static [&'static str],
    raw: Option<Raw<'a>>,
    /// How far down `raw` stands: less than the length of `path` if something on the way is no object.
    depth: usize,
}

impl<'a> Leaf<'a> {
    /// Finds the fields at `paths`, all in one pass over the object.
    ///
    /// It never fails: where something on the way is no object, that something is the leaf, so that
    /// two objects can be compared before anything of them is decoded.
    pub(crate) fn all<const N: usize>(
        object: Raw<'a>,
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
        decode: impl FnOnce(Raw<'a>) -> Result<T, Unreadable>,
    ) -> Result<Option<T>, Unreadable> {
        let Some(raw) = self.raw else {
            return Ok(None);
        };
        if self.depth < self.path.len() {
            let above = path_text(self.path.get(..self.depth).unwrap_or_default());
            return Err(Unreadable::new(Kind::Object, raw).under(&above));
        }
        optional(&path_text(self.path), Some(raw), decode)
    }
}

fn descend<'a>(raw: Raw<'a>, depth: usize, leaves: &mut [&mut Leaf<'a>]) {
    for leaf in leaves.iter_mut() {
        leaf.raw = None;
    }
    if raw.present().is_none() {
        return;
    }
    let walked = each_member(raw, &mut |key, value| {
        let mut below: Vec<&mut Leaf<'a>> = Vec::new();
        for leaf in leaves.iter_mut() {
            if leaf.path.get(depth) == Some(&key) {
                if leaf.path.len() == depth + 1 {
                    leaf.raw = value.present();
                    leaf.depth = if leaf.raw.is_some() { depth + 1 } else { 0 };
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

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn raw(text: &str) -> Raw<'_> {
        Raw::document(text.as_bytes()).unwrap()
    }

    #[test]
    fn null_is_absent_and_the_last_of_two_equal_keys_wins() {
        let [a, b, c] =
            members(raw(r#"{"a":1,"b":null,"a":2,"\u0063":3}"#), ["a", "b", "c"]).unwrap();
        assert_eq!(a.unwrap().text(), "2");
        assert!(b.is_none());
        assert_eq!(c.unwrap().text(), "3");
    }

    #[test]
    fn a_leaf_under_something_that_is_no_object_is_that_something() {
        let [leaf] = Leaf::all(
            raw(r#"{"spec":{"workloads":"here"}}"#),
            [&["spec", "workloads", "nodePlacement", "nodeSelector"]],
        );
        let error = leaf.read(string).unwrap_err();
        assert_eq!(
            error.to_string(),
            "spec.workloads is a string, not an object"
        );
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
