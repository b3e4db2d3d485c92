//! Where the small things of JSON end: literals, numbers and `\u` escapes. They
//! are rare in a node list, so these are functions of plain values and leave
//! the scanner's state alone.

use super::Fault;

/// Where a value ends that is neither a string nor a container. Its `first`
/// byte is before `at`. A digit after a leading zero is left to whoever looks
/// for the comma.
#[inline(never)]
pub(super) fn scalar(bytes: &[u8], at: usize, first: u8) -> Result<usize, Fault> {
    let rest = bytes.get(at..).unwrap_or_default();
    let literal: &[u8] = match first {
        b'n' => b"ull",
        b't' => b"rue",
        b'f' => b"alse",
        _ => return number(bytes, at, first),
    };
    if rest.starts_with(literal) {
        Ok(at + literal.len())
    } else if literal.starts_with(rest) {
        Err(Fault::CutOff)
    } else {
        Err(Fault::Malformed)
    }
}

/// Where a number ends.
fn number(bytes: &[u8], at: usize, first: u8) -> Result<usize, Fault> {
    let byte = |at: usize| bytes.get(at).copied();
    let digits = |mut at: usize| {
        while byte(at).is_some_and(|byte| byte.is_ascii_digit()) {
            at += 1;
        }
        at
    };
    let some_digits = |at: usize| match byte(at) {
        None => Err(Fault::CutOff),
        Some(b'0'..=b'9') => Ok(digits(at)),
        Some(_) => Err(Fault::Malformed),
    };
    let mut at = match first {
        b'0' => at,
        b'1'..=b'9' => digits(at),
        b'-' if byte(at) == Some(b'0') => at + 1,
        b'-' => some_digits(at)?,
        _ => return Err(Fault::Malformed),
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

/// Where the digits after `\u` end. Whether they name a character is not asked
/// before the text is decoded.
#[inline(never)]
pub(super) fn four_digits(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    let digits = bytes.get(at..).and_then(|rest| rest.get(..4));
    let digits = digits.ok_or(Fault::CutOff)?;
    if digits.iter().all(u8::is_ascii_hexdigit) {
        Ok(at + 4)
    } else {
        Err(Fault::Malformed)
    }
}
