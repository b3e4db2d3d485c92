//! The sections of a module, with and without sections that do not change its behavior.

use sha2::{Digest as _, Sha256};
use wasmparser::{Encoding, Parser, Payload};

/// The SHA-256 of a module without its custom sections, in hexadecimal. `None` if the bytes are not a WebAssembly
/// module.
///
/// The digest is the same before and after `kwctl annotate`, which adds custom sections, and with or without the names
/// of functions.
pub fn module_sha256(module: &[u8]) -> Option<String> {
    let mut hash = Sha256::new();
    let mut done = 0;
    for payload in Parser::new(0).parse_all(module) {
        let (id, end) = match payload.ok()? {
            Payload::Version {
                encoding: Encoding::Component,
                ..
            } => return None,
            Payload::Version { range, .. } => (None, range.end),
            payload => match payload.as_section() {
                Some((id, range)) => (Some(id), range.end),
                // A function of the previous section.
                None => continue,
            },
        };
        // The section includes its id and length.
        if id != Some(CUSTOM) {
            hash.update(module.get(done..end)?);
        }
        done = end;
    }
    Some(registry::hex(&hash.finalize()))
}

/// The id of custom sections, which do not change the behavior of a module.
const CUSTOM: u8 = 0;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// A type section and a longer data section. The lengths are written both as a compiler writes them, and padded.
    fn module(custom: &[u8]) -> Vec<u8> {
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        module.extend(custom);
        module.extend([1, 0x81, 0x00, 0]);
        module.extend(custom);
        module.extend([11, 0xac, 0x02]);
        module.extend([7; 300]);
        module.extend(custom);
        module
    }

    #[test]
    fn custom_sections_do_not_count() {
        let plain = module_sha256(&module(&[])).unwrap();
        assert_eq!(
            plain,
            "4a9df9a3d03b979cbafb824fe2f7eab88726243c184c61cf176f645f397723c6"
        );
        assert_eq!(module_sha256(&module(&[0, 3, 1, b'a', 9])), Some(plain));
    }

    #[test]
    fn everything_else_counts() {
        let plain = module(&[]);
        for index in [11, 20, plain.len() - 1] {
            let mut other = plain.clone();
            other[index] ^= 1;
            assert_ne!(module_sha256(&other), module_sha256(&plain), "{index}");
        }
    }

    #[rstest]
    #[case::nothing(b"")]
    #[case::text(b"(module)")]
    #[case::a_component(b"\0asm\x0d\0\x01\0")]
    #[case::cut_in_a_section(b"\0asm\x01\0\0\0\x01\x05a")]
    #[case::cut_in_a_length(b"\0asm\x01\0\0\0\x01\x85")]
    #[case::a_length_without_end(b"\0asm\x01\0\0\0\x01\xff\xff\xff\xff\xff\xff")]
    fn what_is_no_module_has_none(#[case] bytes: &[u8]) {
        assert_eq!(module_sha256(bytes), None);
    }
}
