//! Changes JSON as a tree, with the words that objects have, so that most inputs stay JSON and reach the code behind the
//! parser. The inputs are JSON as people read it: a finding is a case, and a case is a seed.

use fastrand::Rng;
use serde_json::{Map, Value, json};

/// Names of fields, labels, annotations, and architectures, and texts that are special somewhere. The names of the rules
/// are added.
const WORDS: &str = include_str!("words.txt");

/// Mutates `data[..size]` in place; returns the new size.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = Rng::with_seed(seed.into());
    let parsed = data
        .get(..size)
        .and_then(|data| serde_json::from_slice::<Value>(data).ok());
    // Sometimes the bytes, because not all inputs are JSON, and no tree has equal keys, blanks or escapes.
    let Some(mut value) = parsed.filter(|_| random.u8(..8) > 0) else {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    };
    for _ in 0..random.usize(1..=4) {
        change(&mut value, &mut random);
    }
    let text = value.to_string();
    if text.len() > max_size {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    data[..text.len()].copy_from_slice(text.as_bytes());
    text.len()
}

/// Puts a part of one input in the place of a part of another; returns the size of the result.
pub fn cross(one: &[u8], other: &[u8], out: &mut [u8], seed: u32) -> usize {
    let mut random = Rng::with_seed(seed.into());
    let parsed = (
        serde_json::from_slice::<Value>(one),
        serde_json::from_slice::<Value>(other),
    );
    if let (Ok(mut value), Ok(mut other)) = parsed {
        let (count, count_of_other) = (nodes(&value), nodes(&other));
        let part = node(&mut other, &mut random.usize(..count_of_other)).map(|part| part.take());
        if let (Some(place), Some(part)) = (node(&mut value, &mut random.usize(..count)), part) {
            *place = part;
        }
        let text = value.to_string();
        if let Some(out) = out.get_mut(..text.len()) {
            out.copy_from_slice(text.as_bytes());
            return text.len();
        }
    }
    let size = one.len().min(out.len());
    out[..size].copy_from_slice(&one[..size]);
    size
}

/// How many values there are in a value, itself included.
fn nodes(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(nodes).sum(),
        Value::Object(members) => members.values().map(nodes).sum(),
        _ => 0,
    }
}

/// The value with this number.
fn node<'v>(value: &'v mut Value, number: &mut usize) -> Option<&'v mut Value> {
    if *number == 0 {
        return Some(value);
    }
    *number -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| node(item, number)),
        Value::Object(members) => members.values_mut().find_map(|member| node(member, number)),
        _ => None,
    }
}

fn change(value: &mut Value, random: &mut Rng) {
    let count = nodes(value);
    let mut copied = None;
    if random.u8(..4) == 0 {
        copied = node(value, &mut random.usize(..count)).cloned();
    }
    let Some(place) = node(value, &mut random.usize(..count)) else {
        return;
    };
    if let Some(copied) = copied {
        *place = copied;
        return;
    }
    match place {
        Value::Array(items) => change_list(items, random),
        Value::Object(members) => change_object(members, random),
        Value::String(text) if random.u8(..4) > 0 => change_text(text, random),
        other => *other = leaf(random),
    }
}

fn change_list(items: &mut Vec<Value>, random: &mut Rng) {
    let index = random.usize(..=items.len());
    match random.u8(..4) {
        0 if index < items.len() => drop(items.remove(index)),
        1 if index < items.len() => items.push(items[index].clone()),
        2 if index < items.len() => items.swap(0, index),
        _ => items.insert(index, leaf(random)),
    }
}

fn change_object(members: &mut Map<String, Value>, random: &mut Rng) {
    let names: Vec<String> = members.keys().cloned().collect();
    let name = random.choice(&names);
    match (random.u8(..4), name) {
        (0, Some(name)) => drop(members.remove(name)),
        // Under another name.
        (1, Some(name)) => {
            let value = members.remove(name).unwrap_or_default();
            members.insert(word(random), value);
        }
        (2, Some(name)) => drop(members.insert(name.clone(), leaf(random))),
        _ => drop(members.insert(word(random), leaf(random))),
    }
}

fn change_text(text: &mut String, random: &mut Rng) {
    // Some annotations hold JSON.
    if let Ok(mut value @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str(text)
        && random.u8(..8) > 0
    {
        change(&mut value, random);
        *text = value.to_string();
        return;
    }
    match random.u8(..8) {
        0 => *text = word(random),
        1 => *text = format!("{text},{}", word(random)),
        2 => *text = format!("{}{text}", word(random)),
        3 => text.push(' '),
        4 => *text = text.to_ascii_uppercase(),
        5 => drop(text.pop()),
        6 => *text = text.repeat(random.usize(..4)),
        _ => {
            let characters: Vec<char> = text.chars().collect();
            let at = random.usize(..=characters.len());
            let mut changed: String = characters[..at].iter().collect();
            changed.push(
                random
                    .choice([
                        '\u{0}', '\n', ' ', ',', '/', '*', '~', '"', '\u{202e}', 'é', '-', '0', 'A',
                    ])
                    .unwrap_or('x'),
            );
            changed.extend(&characters[at..]);
            *text = changed;
        }
    }
}

fn word(random: &mut Rng) -> String {
    let rules = engine::RULES.iter().map(|rule| rule.id);
    let words: Vec<&str> = WORDS.lines().chain(rules).collect();
    random.choice(words).unwrap_or_default().to_owned()
}

/// A small value, which is often a text.
fn leaf(random: &mut Rng) -> Value {
    match random.u8(..10) {
        0 => Value::Null,
        1 => random.bool().into(),
        2 => json!([]),
        3 => json!({}),
        4 => json!(random.i8(..)),
        5 => json!([word(random)]),
        6 => json!({word(random): word(random)}),
        _ => word(random).into(),
    }
}
