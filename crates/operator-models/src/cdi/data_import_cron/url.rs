//! URLs, as Go reads them.

use std::net::Ipv6Addr;

/// The scheme of a URL in lower case, empty if it has none; `None` if Go cannot parse the URL.
///
/// MIRRORS: Go 1.25 net/url, `Parse`.
pub(super) fn scheme(url: &str) -> Option<String> {
    let (url, fragment) = url.split_once('#').unwrap_or((url, ""));
    if url.bytes().any(|byte| byte.is_ascii_control()) || !has_valid_escapes(fragment) {
        return None;
    }
    if url == "*" {
        return Some(String::new());
    }
    let (scheme, rest) = split_scheme(url)?;
    let (rest, _query) = rest.split_once('?').unwrap_or((rest, ""));
    if !rest.starts_with('/') {
        let first = rest.split_once('/').map_or(rest, |(first, _)| first);
        let is_path = !first.contains(':') && has_valid_escapes(rest);
        return (!scheme.is_empty() || is_path).then_some(scheme);
    }
    let path = match rest.strip_prefix("//") {
        Some(behind) if !scheme.is_empty() || !behind.starts_with('/') => {
            let (authority, path) = behind.split_once('/').unwrap_or((behind, ""));
            if !is_authority(authority) {
                return None;
            }
            path
        }
        _ => rest,
    };
    has_valid_escapes(path).then_some(scheme)
}

/// MIRRORS: Go net/url, getScheme.
fn split_scheme(url: &str) -> Option<(String, &str)> {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    match url.split_once(':') {
        Some(("", _)) => None,
        Some((scheme, rest))
            if scheme.bytes().all(is_known)
                && scheme.starts_with(|c: char| c.is_ascii_alphabetic()) =>
        {
            Some((scheme.to_ascii_lowercase(), rest))
        }
        _ => Some((String::new(), url)),
    }
}

/// MIRRORS: Go net/url, parseAuthority.
fn is_authority(authority: &str) -> bool {
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    is_host(host) && user.bytes().all(is_known) && has_valid_escapes(user)
}

/// MIRRORS: Go net/url, parseHost.
fn is_host(host: &str) -> bool {
    let is_port = |port: &str| {
        let digits = port.strip_prefix(':');
        port.is_empty()
            || digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if host.contains('[') {
        let literal = host.strip_prefix('[').filter(|rest| !rest.contains('['));
        let Some((address, port)) = literal.and_then(|literal| literal.rsplit_once(']')) else {
            return false;
        };
        return is_port(port) && is_address(address);
    }
    let port = host.rfind(':').and_then(|at| host.get(at..));
    is_port(port.unwrap_or_default())
        && are_host_bytes(host, |byte| !byte.is_ascii() || byte == b'%')
}

/// An address between brackets. A zone follows `%25`. In it, only characters that a host can have, blanks, and percent
/// signs can be escaped.
fn is_address(address: &str) -> bool {
    let can_be_escaped =
        |byte: u8| byte.is_ascii() && (is_host_byte(byte) || b" %".contains(&byte));
    let address = match address.split_once('%') {
        Some((address, zone)) => match zone.strip_prefix("25") {
            Some(zone) if !zone.is_empty() && are_host_bytes(zone, can_be_escaped) => address,
            _ => return false,
        },
        None => address,
    };
    address.parse::<Ipv6Addr>().is_ok()
}

/// MIRRORS: Go net/url, unescape with encodeHost, and with encodeZone.
fn are_host_bytes(text: &str, can_be_escaped: impl Fn(u8) -> bool) -> bool {
    unescaped(text).is_some_and(|bytes| {
        bytes.into_iter().all(|(byte, is_escaped)| {
            if is_escaped {
                can_be_escaped(byte)
            } else {
                is_host_byte(byte)
            }
        })
    })
}

fn is_host_byte(byte: u8) -> bool {
    !byte.is_ascii() || byte.is_ascii_alphanumeric() || b"!$&'()*+,;=:[]<>\"-_.~".contains(&byte)
}

/// Whether two hexadecimal digits follow every percent sign.
fn has_valid_escapes(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|escape| escape.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2)
}

/// The bytes of a text, and whether each is escaped; `None` if an escape is not valid.
fn unescaped(text: &str) -> Option<Vec<(u8, bool)>> {
    let mut bytes = text.bytes();
    let mut unescaped = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        unescaped.push(if byte == b'%' {
            let value = (digit()? << 4) | digit()?;
            (u8::try_from(value).ok()?, true)
        } else {
            (byte, false)
        });
    }
    Some(unescaped)
}
