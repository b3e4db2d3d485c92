//! The value of a YAML scalar, as kubectl reads it.
//!
//! MIRRORS: `go.yaml.in/yaml/v2` v2.4.2 `resolve.go`, by way of `sigs.k8s.io/yaml` v1.6.0 `yaml.go`: YAML 1.1
//! with exceptions, so `yes` is true, `0o17` and `017` are 15, and `1:30` is a string.

use std::borrow::Cow;

use serde_json::{Number, Value};

/// The type and value of a scalar.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar<'t> {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer that is too large for a signed one.
    Unsigned(u64),
    Float(f64),
    Text(Cow<'t, str>),
}

const CORE: &str = "tag:yaml.org,2002:";

/// The beginning of an error about a field name, and the end of one that quotation marks correct.
pub(crate) const NAME: &str = "a field name";
pub(crate) const QUOTES: &str = "put it in quotes";

/// Resolves a scalar.
///
/// `plain` means that the scalar has no quotation marks. The tag is the full one.
///
/// DIVERGES: a scalar with the tag `!!timestamp` is not checked. It is a string, as in kubectl.
pub(crate) fn resolve<'t>(
    text: Cow<'t, str>,
    plain: bool,
    tag: Option<&str>,
) -> Result<Scalar<'t>, String> {
    let Some(tag) = tag else {
        return Ok(if plain {
            untagged(text)
        } else {
            Scalar::Text(text)
        });
    };
    let tag = tag.strip_prefix(CORE).unwrap_or("");
    match tag {
        "bool" | "int" | "float" | "null" => {}
        "binary" => return Err("values tagged !!binary are not supported".to_owned()),
        _ => return Ok(Scalar::Text(text)),
    }
    match (tag, untagged(text.clone())) {
        #[expect(clippy::cast_precision_loss, reason = "that is what Go does")]
        ("float", Scalar::Int(int)) => Ok(Scalar::Float(int as f64)),
        ("bool", found @ Scalar::Bool(_))
        | ("int", found @ (Scalar::Int(_) | Scalar::Unsigned(_)))
        | ("float", found @ Scalar::Float(_))
        | ("null", found @ Scalar::Null) => Ok(found),
        _ => Err(format!(
            "`{}` is tagged !!{tag}, but has another type",
            shortened(&text)
        )),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

fn untagged(text: Cow<'_, str>) -> Scalar<'_> {
    match &*text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Scalar::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Scalar::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            return Scalar::Float(f64::INFINITY);
        }
        "-.inf" | "-.Inf" | "-.INF" => return Scalar::Float(f64::NEG_INFINITY),
        _ => {}
    }
    let number = match text.as_bytes().first() {
        // Go requires each underscore to be between two digits here.
        Some(b'.') if text.trim_start_matches('.').split('_').all(is_number) => float(&text),
        Some(b'0'..=b'9' | b'+' | b'-') => int(&text).or_else(|| float(&text)),
        _ => None,
    };
    number.unwrap_or(Scalar::Text(text))
}

fn is_number(text: &str) -> bool {
    let is_digit = |it: char| it.is_ascii_digit();
    text.starts_with(is_digit) && text.ends_with(is_digit)
}

/// MIRRORS: Go `strconv.ParseInt` and `ParseUint` with base 0, for a text without its underscores.
fn int(text: &str) -> Option<Scalar<'static>> {
    let text = text.replace('_', "");
    let (sign, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => (text.get(..1)?, digits),
        None => ("", &*text),
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
        Ok(int) => Some(Scalar::Int(int)),
        Err(_) if sign.is_empty() => {
            let unsigned = u64::from_str_radix(digits, base).ok()?;
            Some(Scalar::Unsigned(unsigned))
        }
        Err(_) => None,
    }
}

/// MIRRORS: Go `strconv.ParseFloat`, for text that begins like a decimal number: a number that is too large is a string, and
/// one that is too small is zero.
fn float(text: &str) -> Option<Scalar<'static>> {
    let text = text.replace('_', "");
    // Rust also parses words such as `inf`. Go does, too, but they do not begin like a decimal number.
    if !text
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
    {
        return None;
    }
    let float: f64 = text.parse().ok()?;
    float.is_finite().then_some(Scalar::Float(float))
}

impl Scalar<'_> {
    /// The value as JSON.
    pub(crate) fn into_value(self) -> Result<Value, String> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(bool) => bool.into(),
            Self::Int(int) => int.into(),
            Self::Unsigned(int) => as_the_server_has_it(int.into()),
            Self::Float(float) => match Number::from_f64(float) {
                Some(number) => as_the_server_has_it(number.into()),
                None => return Err(format!("JSON cannot represent the number {float}")),
            },
            Self::Text(text) => text.into_owned().into(),
        })
    }

    /// The name of a field.
    ///
    /// MIRRORS: `sigs.k8s.io/yaml` v1.6.0 yaml.go, `convertToJSONableObject`.
    /// DIVERGES: kubectl also accepts floats.
    pub(crate) fn into_key(self) -> Result<String, String> {
        match self {
            Self::Text(text) => Ok(text.into_owned()),
            Self::Bool(bool) => Ok(bool.to_string()),
            Self::Int(int) => Ok(int.to_string()),
            Self::Null => Err(format!("{NAME} is null; {QUOTES}")),
            Self::Unsigned(int) => Err(format!("{NAME} is the number {int}; {QUOTES}")),
            Self::Float(float) => Err(format!("{NAME} is the number {float}; {QUOTES}")),
        }
    }
}

/// A number as the API server reads it from kubectl: kubectl writes whole numbers without a fraction, and the API server
/// reads them as integers if they fit.
///
/// MIRRORS: Go encoding/json, `floatEncoder`; kubernetes apimachinery v0.37.2 pkg/util/json,
/// `ConvertInterfaceNumbers`.
pub(crate) fn as_the_server_has_it(value: Value) -> Value {
    let Value::Number(number) = &value else {
        return value;
    };
    match number.as_f64() {
        // Rust writes a float with the digits that Go writes.
        Some(float) if !number.is_i64() => match float.to_string().parse::<i64>() {
            Ok(int) if number.is_f64() => int.into(),
            _ => Number::from_f64(float).map_or(value, Value::Number),
        },
        _ => value,
    }
}
