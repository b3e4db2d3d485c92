//! The value of a YAML scalar, as kubectl reads it.
//!
//! MIRRORS: `go.yaml.in/yaml/v2` v2.4.2 `resolve.go`, by way of `sigs.k8s.io/yaml` v1.6.0 `yaml.go`: YAML 1.1
//! with exceptions, so `yes` is true, `0o17` and `017` are 15, and `1:30` is a string.

use saphyr_parser::Tag;
use serde_json::{Number, Value};

/// The name of a tag of YAML; empty for another tag.
pub(crate) fn short(tag: &Tag) -> String {
    let full = format!("{}{}", tag.handle, tag.suffix);
    let short = full.strip_prefix("tag:yaml.org,2002:");
    short.unwrap_or_default().to_owned()
}

/// The value of a scalar. `plain` means that it has no quotation marks. A scalar with another tag is a string.
pub(crate) fn resolve(text: &str, plain: bool, tag: Option<&Tag>) -> Result<Value, String> {
    match tag.map(short).as_deref() {
        None if plain => untagged(text),
        Some(tag @ ("binary" | "bool" | "float" | "int" | "null")) => {
            Err(format!("values tagged !!{tag} are not supported"))
        }
        _ => Ok(text.into()),
    }
}

fn untagged(text: &str) -> Result<Value, String> {
    let number = match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Ok(true.into());
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Ok(false.into());
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF"
        | "-.inf" | "-.Inf" | "-.INF" => {
            return Err(format!("JSON cannot represent the number {text}"));
        }
        // DIVERGES: after a leading dot, Go accepts an underscore only between two digits.
        _ if text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first)) => {
            int(text).or_else(|| float(text))
        }
        _ => None,
    };
    Ok(number.map_or_else(|| text.into(), Value::Number))
}

/// MIRRORS: Go `strconv.ParseInt` and `ParseUint` with base 0, for a text without its underscores.
fn int(text: &str) -> Option<Number> {
    let plain = text.replace('_', "");
    let (sign, digits) = match plain.strip_prefix(['+', '-']) {
        Some(digits) => (plain.get(..1)?, digits),
        None => ("", &*plain),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, digits.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, digits.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, digits.get(2..)?),
        [b'0', _, ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    // Rust would accept a second sign.
    if !digits.starts_with(|digit: char| digit.is_ascii_hexdigit()) {
        return None;
    }
    match i64::from_str_radix(&format!("{sign}{digits}"), base) {
        Ok(int) => Some(int.into()),
        Err(_) if sign.is_empty() => Some(u64::from_str_radix(digits, base).ok()?.into()),
        Err(_) => None,
    }
}

/// MIRRORS: Go `strconv.ParseFloat`, for text that begins like a decimal number: a number that is too large is a string, and
/// one that is too small is zero.
fn float(text: &str) -> Option<Number> {
    let plain = text.replace('_', "");
    // Rust also parses words such as `inf`. Go does, too, but they do not begin like a decimal number.
    let is_of_decimal = |character: char| character.is_ascii_digit() || "+-.eE".contains(character);
    let float = plain
        .chars()
        .all(is_of_decimal)
        .then(|| plain.parse().ok())?;
    Number::from_f64(float?)
}

/// The name of a field whose key has this value; `None` if it is not a name.
///
/// MIRRORS: `sigs.k8s.io/yaml` v1.6.0 yaml.go, `convertToJSONableObject`.
/// DIVERGES: kubectl also accepts floats.
pub(crate) fn name(key: Value) -> Option<String> {
    match key {
        Value::String(text) => Some(text),
        Value::Number(number) if number.is_i64() => Some(number.to_string()),
        Value::Bool(bool) => Some(bool.to_string()),
        _ => None,
    }
}

/// A value as the API server reads it from kubectl: kubectl writes whole numbers without a fraction, and the API server
/// reads them as integers if they fit.
///
/// MIRRORS: Go encoding/json, `floatEncoder`; kubernetes apimachinery v0.37.2 pkg/util/json,
/// `ConvertInterfaceNumbers`.
pub(crate) fn as_the_server_has_it(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(as_the_server_has_it).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, field)| (name, as_the_server_has_it(field)))
            .collect(),
        Value::Number(number) if !number.is_i64() => {
            // Rust writes a float with the digits that Go writes.
            let float = number.as_f64().unwrap_or_default();
            let int = float.to_string().parse::<i64>();
            int.map_or_else(|_| float.into(), Value::from)
        }
        other => other,
    }
}
