//! Finds the bytes that are special in a string, one block at a time: quotes, backslashes, and control
//! characters. It does not know whether they are in a string.

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd;

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use self::simd::special_in_block;

/// The size of a block: one byte for each bit of a word.
pub(crate) const BLOCK: usize = 64;

/// The special bytes of the block that starts at `at`, the first byte in the lowest bit. Positions after the
/// end of `bytes` are not special.
pub(crate) fn special_in(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk() {
        Some(block) => special_in_block(block),
        None => special_in_tail(rest),
    }
}

// Runs once, at the end of a document, so it must not be inlined into the loop.
#[cold]
#[inline(never)]
fn special_in_tail(tail: &[u8]) -> u64 {
    let mut block = [b' '; BLOCK];
    if let Some(start) = block.get_mut(..tail.len()) {
        start.copy_from_slice(tail);
    }
    special_in_block(&block)
}

/// Eight bytes at a time, in a word.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
fn special_in_block(block: &[u8; BLOCK]) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    const LOW: u64 = ONES * 0x7f;
    let (words, _) = block.as_chunks();
    words.iter().rev().fold(0, |mask, word| {
        let word = u64::from_le_bytes(*word);
        // The sums set the high bit of every byte whose lower seven bits are at least 0x21, or differ from a
        // backslash. They do not carry into the next byte.
        let flipped = word ^ (ONES * u64::from(FLIP));
        let quote_or_control = (flipped & LOW) + ONES * (0x80 - 0x21);
        let backslash = word ^ (ONES * u64::from(b'\\'));
        let backslash = (backslash & LOW) + LOW;
        let special = !((quote_or_control & backslash) | word) & !LOW;
        // The product moves the high bits of the eight bytes into the highest byte.
        mask << 8 | special.wrapping_mul(0x0002_0408_1020_4081) >> 56
    })
}

/// Flipping this bit moves the quote (0x22) next to the control characters (up to 0x1f) and no other byte
/// below it, so one comparison finds both.
const FLIP: u8 = 0x02;

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::{BLOCK, special_in};

    #[test]
    fn every_byte_is_judged_at_every_place_of_a_block() {
        for byte in 0..=u8::MAX {
            for place in 0..BLOCK {
                for filler in [b'a', b'!', b'#', b'[', 0x7f, 0x80, 0xa2, 0xdc, 0xff] {
                    let mut block = [filler; BLOCK];
                    block[place] = byte;
                    let is_special = matches!(byte, b'"' | b'\\' | 0..0x20);
                    assert_eq!(
                        special_in(&block, 0),
                        u64::from(is_special) << place,
                        "{byte:#x} at {place} among {filler:#x}"
                    );
                }
            }
        }
    }
}
