//! Properties of every manifest. The fuzzer calls them with any bytes.

use std::fmt::Write as _;

use manifest::{Object, edited, objects};
use serde_json::{Value, json};

use crate::change::change;

/// Fields of a manifest are on lines of the file, and an edit makes the requested change and no other. The bytes after the
/// first zero select the changes.
pub(crate) fn manifest_yaml(input: &[u8]) {
    let (file, choices) = match input.iter().position(|byte| *byte == 0) {
        Some(end) => (&input[..end], &input[end + 1..]),
        None => (input, &[][..]),
    };
    // A single carriage return also ends a line of YAML.
    let lines = 1 + file.iter().filter(|byte| b"\n\r".contains(byte)).count();
    let read = match objects(file) {
        Ok(read) => read,
        Err(error) => {
            assert!(
                (1..=lines + 1).contains(&error.line) && error.column > 0,
                "{error}"
            );
            return;
        }
    };
    let text = str::from_utf8(file).expect("what was read is UTF-8");
    // JSON has the same value as for serde_json, except that whole floats are integers, as for the API server.
    if let Ok(value @ Value::Object(_)) = serde_json::from_slice::<Value>(file)
        && value
            .get("items")
            .is_none_or(|items| !items.is_array() && !items.is_null())
        && !has_float(&value)
    {
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].value, value);
    }
    for object in &read {
        assert!((1..=lines).contains(&object.line));
        walk(object, &object.value, &mut String::new(), &mut |path| {
            assert!((1..=lines).contains(&object.line_of(path)), "{path}");
        });
    }
    let written: Vec<String> = read.iter().map(|object| object.value.to_string()).collect();
    let again = objects(written.join("\n").as_bytes()).expect("objects as JSON are objects");
    // serde_json reads some floats slightly differently from how it wrote them.
    let is_exact = |object: &Object| {
        let value: Result<Value, _> = serde_json::from_str(&object.value.to_string());
        value.is_ok_and(|value| value == object.value)
    };
    if read.iter().all(is_exact) {
        let again = again.iter().map(|object| &object.value);
        assert!(again.eq(read.iter().map(|object| &object.value)), "{text}");
    }

    let unchanged: Vec<_> = read.iter().map(|object| (object, &object.value)).collect();
    assert_eq!(edited(text, &unchanged).expect("no change"), text);
    let mut targets: Vec<Value> = read.iter().map(|object| object.value.clone()).collect();
    if let Some(target) = targets.last_mut() {
        for choice in choices.chunks_exact(8).take(4) {
            let way: Vec<usize> = choice[2..].iter().map(|byte| usize::from(*byte)).collect();
            let way = &way[..=usize::from(choice[0]) % way.len()];
            change(target, way, &value(choice[1]), choice[0].into());
        }
    }
    let pairs: Vec<(&Object, &Value)> = read.iter().zip(&targets).collect();
    let Ok(edited) = edited(text, &pairs) else {
        return;
    };
    let values: Vec<Value> = objects(edited.as_bytes())
        .expect("the edited text has objects")
        .into_iter()
        .map(|object| object.value)
        .collect();
    assert_eq!(values, targets);
}

fn has_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_float),
        Value::Object(members) => members.values().any(has_float),
        _ => false,
    }
}

/// Calls `visit` with the paths of an object, as findings write them.
fn walk(object: &Object, value: &Value, path: &mut String, visit: &mut impl FnMut(&str)) {
    visit(path);
    let length = path.len();
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if name.contains(['.', '/', '[', ']']) {
                    let _ = write!(path, "[{name}]");
                } else {
                    let _ = write!(path, ".{name}");
                }
                walk(object, member, path, visit);
                path.truncate(length);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let _ = write!(path, "[{index}]");
                walk(object, item, path, visit);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

/// A new value.
pub(crate) fn value(choice: u8) -> Value {
    let values = [
        json!(null),
        json!(true),
        json!(-3),
        json!(""),
        json!("yes"),
        json!("amd64, arm64"),
        json!("a\nb\n"),
        json!("- a: #"),
        json!("é☃\u{1}"),
        json!([]),
        json!({}),
        json!(["a", {"b": [1]}]),
        json!({"a": {"b/c.d": "x"}, "<<": null}),
    ];
    values[usize::from(choice) % values.len()].clone()
}
