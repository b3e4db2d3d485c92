//! The path of a field: one type for messages, JSON Patch, and errors.

use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

use crate::text::escape;

/// The path of a field in an object, displayed as users write it:
/// `spec.dataImportCronTemplates[0].metadata.annotations[a.b/c]`. Paths share their parents, so they are cheap to clone.
/// The last step comes first, because different paths usually differ there.
#[must_use]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldPath(Option<Rc<(Segment, FieldPath)>>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    Key(Cow<'static, str>),
    Index(usize),
}

impl FieldPath {
    pub fn new(keys: &[&'static str]) -> Self {
        Self::default().keys(keys)
    }

    pub fn key(&self, key: impl Into<Cow<'static, str>>) -> Self {
        self.below(&Segment::Key(key.into()))
    }

    pub fn keys(&self, keys: &[&'static str]) -> Self {
        keys.iter().fold(self.clone(), |path, key| path.key(*key))
    }

    pub fn index(&self, index: usize) -> Self {
        self.below(&Segment::Index(index))
    }

    pub fn below(&self, segment: &Segment) -> Self {
        Self(Some(Rc::new((segment.clone(), self.clone()))))
    }

    pub fn join(&self, relative: &Self) -> Self {
        relative
            .segments()
            .into_iter()
            .fold(self.clone(), |path, segment| path.below(segment))
    }

    /// The path of the object or list that contains this field; `None` for the whole object.
    pub fn parent(&self) -> Option<&Self> {
        self.0.as_deref().map(|(_, parent)| parent)
    }

    pub fn segments(&self) -> Vec<&Segment> {
        let mut segments = Vec::new();
        let mut path = self;
        while let Some((segment, parent)) = path.0.as_deref() {
            segments.push(segment);
            path = parent;
        }
        segments.reverse();
        segments
    }

    pub fn pointer(&self) -> String {
        let mut pointer = String::new();
        for segment in self.segments() {
            pointer.push('/');
            match segment {
                Segment::Key(key) => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
                Segment::Index(index) => pointer.push_str(&index.to_string()),
            }
        }
        pointer
    }

    /// The path of a JSON pointer. A number counts as a position in a list.
    pub fn from_pointer(pointer: &str) -> Self {
        pointer
            .split('/')
            .skip(1)
            .fold(Self::default(), |path, segment| match segment.parse() {
                Ok(index) => path.index(index),
                Err(_) => path.key(unescaped(segment)),
            })
    }
}

/// The key that a segment of a JSON pointer stands for.
pub(crate) fn unescaped(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

impl fmt::Display for FieldPath {
    /// Keys with a dot or a slash are in brackets. A key can come from the user, so it is escaped and shortened.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const KEY: usize = 128;
        let segments = self.segments();
        if segments.is_empty() {
            return f.write_str("the document");
        }
        for (index, segment) in segments.into_iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) if key.contains(['.', '/']) => {
                    write!(f, "[{}]", escape(key, KEY))?;
                }
                Segment::Key(key) => {
                    let dot = if index == 0 { "" } else { "." };
                    write!(f, "{dot}{}", escape(key, KEY))?;
                }
            }
        }
        Ok(())
    }
}
