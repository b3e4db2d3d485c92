//! How the module compares bytes.

use std::ptr::read_unaligned;

/// Eight bytes at a time, or four. The loop of the C library needs ten instructions for each byte, and strings of users
/// can begin alike: each name of a template, each path of a patch.
///
/// # Safety
///
/// Both pointers are valid for as many bytes.
#[expect(
    unsafe_code,
    unreachable_pub,
    reason = "the compiler calls the function by this name"
)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, length: usize) -> i32 {
    // WebAssembly is little-endian: the lowest bits are the first byte.
    macro_rules! compare {
        ($word:ty, $at:expr) => {
            // SAFETY: the caller promises it, because the word ends at `length` at the latest.
            let (one, other) = unsafe {
                let (one, other) = (one.add($at), other.add($at));
                (read_unaligned(one.cast::<$word>()), read_unaligned(other.cast::<$word>()))
            };
            if one != other {
                let first = (one ^ other).trailing_zeros() & !7;
                return (one >> first & 0xff) as i32 - (other >> first & 0xff) as i32;
            }
        };
    }
    let mut at = 0;
    if length >= 8 {
        while at < length - 8 {
            compare!(u64, at);
            at += 8;
        }
        // It can overlap the one before.
        compare!(u64, length - 8);
    } else if length >= 4 {
        compare!(u32, 0);
        compare!(u32, length - 4);
    } else {
        while at < length {
            compare!(u8, at);
            at += 1;
        }
    }
    0
}
