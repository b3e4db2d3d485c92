//! Changes of values. The fuzz target uses them, too.

use serde_json::Value;

/// Changes a value at the place that the numbers select.
pub(crate) fn change(target: &mut Value, way: &[usize], new: &Value, what: usize) {
    let (step, rest) = way
        .split_first()
        .map_or((0, way), |(step, rest)| (*step, rest));
    let length = match target {
        Value::Object(map) => map.len(),
        Value::Array(list) => list.len(),
        _ => 0,
    };
    let Some(index) = step.checked_rem(length) else {
        *target = new.clone();
        return;
    };
    let below = match target {
        Value::Object(map) => map.values_mut().nth(index),
        Value::Array(list) => list.get_mut(index),
        _ => None,
    };
    if let Some(below) = below.filter(|it| !rest.is_empty() && (it.is_object() || it.is_array())) {
        return change(below, rest, new, what);
    }
    match (target, what % 3) {
        (Value::Object(map), what) => {
            let name = map.keys().nth(index).cloned().expect("a name");
            match what {
                0 => drop(map.remove(&name)),
                1 => drop(map.insert(name, new.clone())),
                _ => drop(map.insert("added".to_owned(), new.clone())),
            }
        }
        (Value::Array(list), 0) => drop(list.remove(index)),
        (Value::Array(list), 1) => drop(list.splice(index..=index, [new.clone()])),
        (Value::Array(list), _) => list.insert(index + step % 2, new.clone()),
        _ => {}
    }
}
