//! The search in a vector, for WebAssembly.

use std::arch::wasm32::{u8x16_bitmask, u8x16_eq, u8x16_lt, u8x16_splat, u64x2, v128_or, v128_xor};

use super::{BLOCK, FLIP};

/// Sixteen bytes at a time, in a vector. Written without a loop, because the compiler does not unroll loops in a
/// module that is optimized for size. A loop is 10 % slower.
pub(super) fn special_in_block(block: &[u8; BLOCK]) -> u64 {
    let (words, _) = block.as_chunks();
    let [a, b, c, d, e, f, g, h] = words else {
        return 0; // Not reached: 64 bytes are eight times eight.
    };
    special_in_vector(*a, *b)
        | special_in_vector(*c, *d) << 16
        | special_in_vector(*e, *f) << 32
        | special_in_vector(*g, *h) << 48
}

fn special_in_vector(low: [u8; 8], high: [u8; 8]) -> u64 {
    let bytes = u64x2(u64::from_le_bytes(low), u64::from_le_bytes(high));
    let flipped = v128_xor(bytes, u8x16_splat(FLIP));
    let quote_or_control = u8x16_lt(flipped, u8x16_splat(0x21));
    let backslash = u8x16_eq(bytes, u8x16_splat(b'\\'));
    u64::from(u8x16_bitmask(v128_or(quote_or_control, backslash)))
}
