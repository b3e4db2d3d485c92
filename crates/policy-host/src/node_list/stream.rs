//! Reads nodes from YAML one by one, and reduces each. A document is never in memory as a whole.

use std::cell::RefCell;
use std::io::{self, BufRead};
use std::rc::Rc;

use manifest::ManifestError;
use manifest::yaml::{self, Reader};
use saphyr_parser::{Event, Parser, Span};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::reduction::Reduction;
use super::{NodeListError, single};

/// The reason why nodes cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stopped {
    /// The list is invalid.
    #[error(transparent)]
    List(#[from] NodeListError),
    /// The file could not be read to its end.
    #[error(transparent)]
    File(#[from] io::Error),
}

impl From<ManifestError> for Stopped {
    fn from(error: ManifestError) -> Self {
        Self::List(error.into())
    }
}

/// Reads the nodes of all documents.
pub(super) fn nodes(
    text: impl BufRead,
    reduction: Reduction<'_>,
) -> Result<Vec<Box<RawValue>>, Stopped> {
    let broken = Rc::new(RefCell::new(None));
    let characters = Characters {
        text,
        line: String::new(),
        at: 0,
        number: 0,
        broken: Rc::clone(&broken),
    };
    let mut documents = Documents {
        reduction,
        nodes: Vec::new(),
        values: Reader::default(),
        place: Place::Outside,
        rest: Map::new(),
        has_items: false,
        any: false,
    };
    for event in Parser::new_from_iter(characters) {
        // If the text ended early because of a read error, the parser's error is not the cause.
        if broken.borrow().is_some() {
            break;
        }
        let (event, span) = event.map_err(|error| yaml::wrong(&error, 0))?;
        documents.event(event, &span)?;
    }
    match broken.take() {
        Some(stopped) => Err(stopped),
        None if !documents.any => Err(NodeListError::Empty.into()),
        None => Ok(documents.nodes),
    }
}

/// The position of the next event in a document.
enum Place {
    Outside,
    /// Between two fields of the document.
    Fields,
    /// In the value of a field.
    Field(String),
    /// In the list of nodes, with the line on which the current node began.
    Items(Option<usize>),
}

struct Documents<'l> {
    reduction: Reduction<'l>,
    nodes: Vec<Box<RawValue>>,
    values: Reader,
    place: Place,
    /// The fields of a document except for its items: its kind, or a single node.
    rest: Map<String, Value>,
    has_items: bool,
    any: bool,
}

impl Documents<'_> {
    fn event(&mut self, event: Event<'_>, span: &Span) -> Result<(), Stopped> {
        match (&self.place, &event) {
            (Place::Outside, Event::MappingStart(..))
            | (Place::Items(None), Event::SequenceEnd) => {
                self.place = Place::Fields;
                return Ok(());
            }
            (Place::Outside, Event::SequenceStart(..)) => {
                return Err(NodeListError::Kind("no object".to_owned()).into());
            }
            (Place::Fields, Event::MappingEnd) => {
                self.place = Place::Outside;
                return self.end();
            }
            (Place::Field(name), Event::SequenceStart(..))
                if name == "items" && !self.values.is_inside() =>
            {
                self.place = Place::Items(None);
                self.has_items = true;
                return Ok(());
            }
            (Place::Items(None), _) => self.place = Place::Items(Some(span.start.line())),
            _ => {}
        }
        let Some(node) = self.values.event(event, span)? else {
            return Ok(());
        };
        self.place = match std::mem::replace(&mut self.place, Place::Fields) {
            Place::Outside if node.value.is_null() => Place::Outside,
            Place::Outside => return Err(NodeListError::Kind("no object".to_owned()).into()),
            Place::Fields => Place::Field(match node.value {
                Value::String(name) => name,
                other => other.to_string(),
            }),
            Place::Field(name) => {
                self.rest.insert(name, node.value);
                Place::Fields
            }
            Place::Items(line) => {
                let node = node.value.to_string();
                let line = line.unwrap_or_default();
                self.nodes.push(self.reduction.of(&node, line)?);
                Place::Items(None)
            }
        };
        Ok(())
    }

    /// Ends a document. Its kind is known only at this point.
    fn end(&mut self) -> Result<(), Stopped> {
        let rest = std::mem::take(&mut self.rest);
        self.any = true;
        let kind = rest.get("kind").and_then(Value::as_str);
        let has_items = std::mem::take(&mut self.has_items);
        if !(has_items && matches!(kind, Some("List" | "NodeList") | None)) {
            let node = || self.reduction.of(&Value::from(rest.clone()).to_string(), 1);
            self.nodes.push(single(kind, node)?);
        }
        Ok(())
    }
}

/// The characters of a text, a line at a time.
struct Characters<R> {
    text: R,
    line: String,
    at: usize,
    number: usize,
    /// The error that ended the text early, because an iterator cannot return one.
    broken: Rc<RefCell<Option<Stopped>>>,
}

impl<R: BufRead> Characters<R> {
    /// Whether there is another line.
    fn read(&mut self) -> bool {
        self.line.clear();
        self.at = 0;
        self.number += 1;
        let stopped = match self.text.read_line(&mut self.line) {
            Ok(length) => return length > 0,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let what = "the text is not valid UTF-8; save the file as UTF-8";
                ManifestError::new(self.number, 1, what).into()
            }
            Err(error) => Stopped::File(error),
        };
        *self.broken.borrow_mut() = Some(stopped);
        false
    }
}

impl<R: BufRead> Iterator for Characters<R> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        if self.at >= self.line.len() && !self.read() {
            return None;
        }
        let character = self.line.get(self.at..)?.chars().next()?;
        self.at += character.len_utf8();
        Some(character)
    }
}
