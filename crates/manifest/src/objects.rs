//! The objects of a user's file, as kubectl reads them, with the line of each field.

use serde::de::IgnoredAny;
use serde_json::{Deserializer, Map, Value};

use crate::place::Place;
use crate::scalar::as_the_server_has_it;
use crate::text::ManifestError;
use crate::yaml::{self, MAX_DOCUMENTS};

/// An object of a file.
#[derive(Debug, Clone)]
pub struct Object {
    /// The object.
    pub value: Value,
    /// The line on which it begins, counted from 1.
    pub line: usize,
    pub(crate) place: Place,
}

/// Reads the objects of a file: documents of YAML, or values of JSON. The items of a list replace the list, and empty
/// documents are ignored.
///
/// MIRRORS: kubernetes apimachinery v0.37.2 pkg/util/yaml/decoder.go, `YAMLOrJSONDecoder.Decode`: JSON first,
/// and YAML from where that fails, unless more than one value was read.
pub fn objects(text: &[u8]) -> Result<Vec<Object>, ManifestError> {
    let (documents, error) = documents(text);
    error.map_or(Ok(()), Err)?;
    documents.into_iter().collect()
}

/// The documents before the first syntax error, and that error. A document that is not an object has its own error.
pub fn documents(text: &[u8]) -> (Vec<Result<Object, ManifestError>>, Option<ManifestError>) {
    let file = match std::str::from_utf8(text) {
        Ok(file) => file,
        Err(error) => {
            let before = String::from_utf8_lossy(text.get(..error.valid_up_to()).unwrap_or(text));
            let what = "the text is not valid UTF-8; save the file as UTF-8";
            return (Vec::new(), Some(ManifestError::after(&before, 0, what)));
        }
    };
    let text = file.strip_prefix('\u{feff}').unwrap_or(file);
    let start = file.len() - text.len();
    let mut documents = Vec::new();
    let read = if text.trim_start().starts_with('{') {
        in_json(file, start, &mut documents)
    } else {
        yaml::documents(file, start..file.len(), 0, &mut documents)
    };
    let mut objects = Vec::new();
    for (value, place) in documents {
        flatten(value, place, &Map::new(), &mut objects);
    }
    (objects, read.err())
}

/// Reads JSON values, and YAML after the first one. JSON is YAML too, so this function only separates the values. The few
/// values that the YAML parser rejects, for example with two escapes for one character, have no lines.
fn in_json(
    file: &str,
    start: usize,
    documents: &mut Vec<(Value, Place)>,
) -> Result<(), ManifestError> {
    let text = file.get(start..).unwrap_or_default();
    let mut values = Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let (mut part, mut lines) = (start..start, 0);
    while part.end < file.len()
        && let Some(value) = values.next()
    {
        part.end = match value {
            Ok(_) => start + values.byte_offset(),
            Err(_) if documents.len() > 1 => {
                return Err(ManifestError::after("", lines, "this is not valid JSON"));
            }
            Err(_) => file.len(),
        };
        let text = file.get(part.clone()).unwrap_or_default();
        if let Err(error) = yaml::documents(file, part.clone(), lines, documents) {
            let value = serde_json::from_str(text)
                .ok()
                .filter(|_| documents.len() < MAX_DOCUMENTS);
            let value = as_the_server_has_it(value.ok_or(error)?);
            documents.push((value, Place::elsewhere(1 + lines)));
        }
        lines += text.matches('\n').count();
        part.start = part.end;
    }
    Ok(())
}

/// MIRRORS: kubernetes apimachinery v0.37.2 pkg/apis/meta/v1/unstructured/helpers.go, `decode` and
/// `decodeToList`: an object with items is a list, and items without a kind have the kind of the list.
fn flatten(
    value: Value,
    mut place: Place,
    list: &Map<String, Value>,
    objects: &mut Vec<Result<Object, ManifestError>>,
) {
    let line = place.line;
    let mut object = match value {
        Value::Null => return,
        Value::Object(object) => object,
        _ => {
            return objects.push(Err(ManifestError {
                line,
                column: 1,
                what: "expected an object with `apiVersion` and `kind`".to_owned(),
            }));
        }
    };
    add_kind(&mut object, list);
    let is_list = match object.get("items") {
        // An empty list of a kind stays, because it states that no objects of the kind exist.
        Some(Value::Array(items)) => !items.is_empty() || !is_of_a_kind(&object),
        None | Some(Value::Null) => object.get("kind") == Some(&Value::from("List")),
        Some(_) => false,
    };
    if !is_list {
        let value = Value::Object(object);
        return objects.push(Ok(Object { value, line, place }));
    }
    let Some(Value::Array(items)) = object.remove("items") else {
        return;
    };
    let places = place
        .fields
        .remove("items")
        .unwrap_or_else(|| Place::elsewhere(line));
    // The items of an alias have its line.
    let elsewhere = Place::elsewhere(places.line);
    let mut own = places.items.into_iter();
    for item in items {
        let place = own.next().unwrap_or_else(|| elsewhere.clone());
        flatten(item, place, &object, objects);
    }
}

pub(crate) fn is_of_a_kind(list: &Map<String, Value>) -> bool {
    let kind = list.get("kind").and_then(Value::as_str).unwrap_or_default();
    kind.ends_with("List") && kind != "List"
}

pub(crate) fn add_kind(item: &mut Map<String, Value>, list: &Map<String, Value>) {
    if item.contains_key("kind") || item.contains_key("apiVersion") {
        return;
    }
    let text = |key: &str| list.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind_of_list = text("kind");
    let kind = kind_of_list.strip_suffix("List").unwrap_or(kind_of_list);
    for (key, text) in [("kind", kind), ("apiVersion", text("apiVersion"))] {
        if !text.is_empty() {
            item.insert(key.to_owned(), Value::from(text));
        }
    }
}

impl Object {
    /// The line of the field that a finding's path names, or of its nearest existing parent. A path that was cut ends at the
    /// parent.
    ///
    /// A value from an alias or a merge key has the line of the alias or key: there, the user can change it without changing
    /// something else.
    pub fn line_of(&self, path: &str) -> usize {
        let (mut place, mut rest) = (&self.place, path);
        while let Some((next, left)) = place.step(rest) {
            (place, rest) = (next, left);
        }
        place.line
    }
}
