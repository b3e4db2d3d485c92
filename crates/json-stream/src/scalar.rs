//! Finds the end of literals, numbers, and escapes.

use crate::Error;

/// The end of a value that is neither a string nor a container. `first` is its first byte, `at` the position
/// after it. What follows the value is not checked: after `0` in `01` the caller finds a `1` instead of a comma.
pub(crate) fn end_of_scalar(bytes: &[u8], at: usize, first: u8) -> Result<usize, Error> {
    match first {
        b'n' => end_of_literal(bytes, at, b"ull"),
        b't' => end_of_literal(bytes, at, b"rue"),
        b'f' => end_of_literal(bytes, at, b"alse"),
        b'-' | b'0'..=b'9' => end_of_number(bytes, at, first),
        _ => Err(Error::Syntax),
    }
}

fn end_of_literal(bytes: &[u8], at: usize, literal: &[u8]) -> Result<usize, Error> {
    let rest = bytes.get(at..).unwrap_or_default();
    if rest.starts_with(literal) {
        Ok(at + literal.len())
    } else if literal.starts_with(rest) {
        Err(Error::UnexpectedEnd)
    } else {
        Err(Error::Syntax)
    }
}

fn end_of_number(bytes: &[u8], at: usize, first: u8) -> Result<usize, Error> {
    let byte = |at: usize| bytes.get(at).copied();
    let digits = |mut at: usize| {
        while byte(at).is_some_and(|byte| byte.is_ascii_digit()) {
            at += 1;
        }
        at
    };
    let some_digits = |at: usize| match byte(at) {
        None => Err(Error::UnexpectedEnd),
        Some(b'0'..=b'9') => Ok(digits(at)),
        Some(_) => Err(Error::Syntax),
    };
    let mut at = match first {
        b'0' => at,
        b'-' if byte(at) == Some(b'0') => at + 1,
        b'-' => some_digits(at)?,
        _ => digits(at),
    };
    if byte(at) == Some(b'.') {
        at = some_digits(at + 1)?;
    }
    if let Some(b'e' | b'E') = byte(at) {
        at += 1;
        if let Some(b'+' | b'-') = byte(at) {
            at += 1;
        }
        at = some_digits(at)?;
    }
    Ok(at)
}

/// The end of the four digits after `\u`. Whether they represent a character is decided when the string is
/// decoded.
pub(crate) fn end_of_digits(bytes: &[u8], at: usize) -> Result<usize, Error> {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.get(..4) {
        Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => Ok(at + 4),
        None if rest.iter().all(u8::is_ascii_hexdigit) => Err(Error::UnexpectedEnd),
        _ => Err(Error::Syntax),
    }
}
