//! URLs, as Go reads them.

/// The scheme of a URL in lower case, empty if it has none; `None` if Go cannot parse the URL.
///
/// MIRRORS: Go 1.25 net/url, `Parse` and getScheme.
///
/// DIVERGES: user names, fragments, and addresses between brackets are not checked.
pub(super) fn scheme(url: &str) -> Option<String> {
    let place = url.split(['#', '?']).next()?;
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let (scheme, rest) = match place.split_once(':') {
        Some((scheme, rest))
            if scheme.bytes().all(is_known)
                && scheme.starts_with(|c: char| c.is_ascii_alphabetic()) =>
        {
            (scheme.to_ascii_lowercase(), rest)
        }
        // Without a scheme, only a later segment of the path can have a colon.
        Some((first, _)) if !first.contains('/') => return None,
        _ => (String::new(), place),
    };
    let authority = rest
        .strip_prefix("//")
        .and_then(|rest| rest.split('/').next());
    let is_valid = !place.bytes().any(|byte| byte.is_ascii_control())
        && has_valid_escapes(rest)
        && authority.is_none_or(is_authority);
    is_valid.then_some(scheme)
}

/// MIRRORS: Go net/url, parseHost.
fn is_authority(authority: &str) -> bool {
    let host = authority.rsplit('@').next().unwrap_or_default();
    let behind_brackets = host.rsplit(']').next().unwrap_or_default();
    let port = behind_brackets
        .rsplit_once(':')
        .map_or("", |(_, port)| port);
    port.bytes().all(|byte| byte.is_ascii_digit())
        && host.contains('[') == host.contains(']')
        && !host.contains([' ', '\\', '^', '`', '{', '|', '}'])
}

/// Whether two hexadecimal digits follow every percent sign.
fn has_valid_escapes(text: &str) -> bool {
    let mut escapes = text.split('%').skip(1);
    escapes.all(|escape| escape.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2)
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn the_scheme_is_what_go_reads() {
        let docker = "docker://quay.io/x:latest|DOCKER://quay.io/x|docker:quay.io/x|docker:|docker:///x\
                      |docker://quay.io/a b|docker://quay.io/x?%zz|docker://a:1/x|docker://user:p@ss@quay.io/x|docker://\u{fc}/x\
                      |docker://%c3%bc/x|docker://[fd00::1]:5000/x";
        let invalid = ":x| docker://quay.io/x|1docker://x|doc ker://quay.io/x|docker://quay.io/x\n\
                       |docker://a b/c|docker://a\\b/c|docker://quay.io:port/x|docker://%zz|docker://quay.io/%2|docker://[::1|quay.io/%zz";
        for (expected, urls) in [
            (Some("docker"), docker),
            (Some("oci-archive"), "oci-archive://x"),
            (Some(""), "//quay.io/x|quay.io/x:latest|docker||*|?a:b"),
            (Some("quay.io"), "quay.io:5000/x"),
            (None, invalid),
        ] {
            for url in urls.split('|') {
                assert_eq!(scheme(url).as_deref(), expected, "{url}");
            }
        }
    }
}
