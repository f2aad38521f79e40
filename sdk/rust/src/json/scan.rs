//! Looks at eight bytes at a time, SIMD within a register; in WebAssembly at sixteen,
//! where there are many.
//!
//! The tests for a byte in a word are Mycroft's (comp.lang.c, 1987), as serde_json
//! has them: exact up to and including the first byte that is found, which is all
//! that is asked for. Eight digits are turned into a number by three multiplications,
//! as in simdjson (Langdale and Lemire, "Parsing Gigabytes of JSON per Second", 2019).

const ONES: u64 = u64::MAX / 255;
const HIGHS: u64 = ONES << 7;

/// The byte at a position; past the end 0, which is no part of any JSON.
#[inline(always)]
pub(super) fn byte(text: &[u8], at: usize) -> u8 {
    text.get(at).copied().unwrap_or(0)
}

/// Where the white space that may begin at a position ends.
#[inline(always)]
pub(super) fn space_end(text: &[u8], at: usize) -> usize {
    if byte(text, at) > b' ' { at } else { long_space_end(text, at) }
}

#[cold]
fn long_space_end(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\t' | b'\r')).count()
}

/// Where the first quote, backslash or control character is, or the end.
#[inline]
pub(super) fn plain_end(text: &[u8], at: usize) -> usize {
    let found = not_plain(word(text, at));
    if found == 0 { long_plain_end(text, at + 8) } else { place(at, found) }
}

/// Marks quotes, backslashes and control characters.
#[inline(always)]
fn not_plain(word: u64) -> u64 {
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = word ^ (ONES * 0x22);
    let quote = quote.wrapping_sub(ONES) & !quote;
    let backslash = word ^ (ONES * 0x5c);
    let backslash = backslash.wrapping_sub(ONES) & !backslash;
    (control | quote | backslash) & HIGHS
}

#[cfg(not(target_arch = "wasm32"))]
#[inline]
fn long_plain_end(text: &[u8], at: usize) -> usize {
    find(text, at, not_plain)
}

/// As [`find`], but sixteen bytes at a time: every host of components has SIMD.
#[cfg(target_arch = "wasm32")]
#[target_feature(enable = "simd128")]
#[inline(never)]
fn long_plain_end(text: &[u8], mut at: usize) -> usize {
    use std::arch::wasm32::{
        u8x16_bitmask, u8x16_eq, u8x16_lt, u8x16_splat, u64x2, v128_or,
    };
    while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<16>) {
        let block = u128::from_le_bytes(*block);
        let block = u64x2(block as u64, (block >> 64) as u64);
        let quote = u8x16_eq(block, u8x16_splat(b'"'));
        let backslash = u8x16_eq(block, u8x16_splat(b'\\'));
        let control = u8x16_lt(block, u8x16_splat(b' '));
        let found = u8x16_bitmask(v128_or(v128_or(quote, backslash), control));
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += 16;
    }
    find(text, at, not_plain)
}

/// Where the first byte is that a word from a position on marks.
#[inline(always)]
fn place(at: usize, found: u64) -> usize {
    at + found.trailing_zeros() as usize / 8
}

/// Where the digits that begin at a position end.
#[inline]
pub(super) fn digits_end(text: &[u8], at: usize) -> usize {
    find(text, at, |word| {
        let digits = word ^ (ONES * 0x30);
        (digits.wrapping_add(ONES * 0x76) | digits) & HIGHS
    })
}

/// The number that some digits are; at most 16 of them.
#[inline]
pub(super) fn integer(text: &[u8], from: usize, to: usize) -> u64 {
    let mut value = 0;
    let mut at = from;
    while at < to {
        let count = (to - at).min(8);
        // Zeros take the place of the digits that are missing on the left.
        let missing = 8 * (8 - count) as u32;
        let digits = (word(text, at) ^ (ONES * 0x30)).unbounded_shl(missing);
        value = value * POWERS[count] + eight_digits(digits);
        at += count;
    }
    value
}

const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Eight digits, the first in the lowest byte.
#[inline(always)]
fn eight_digits(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    low.wrapping_add(high) >> 32
}

/// The first byte from a position on that is marked by its highest bit; else the end.
/// A byte 0 must be.
///
/// A turn of the loop is two words, and what ends within the first word, as most names
/// and numbers do, needs no turn.
#[inline(always)]
fn find(text: &[u8], mut at: usize, mark: impl Fn(u64) -> u64) -> usize {
    let found = mark(word(text, at));
    if found != 0 {
        return place(at, found);
    }
    loop {
        let found = mark(word(text, at + 8));
        if found != 0 {
            return place(at + 8, found);
        }
        at += 16;
        let found = mark(word(text, at));
        if found != 0 {
            return place(at, found);
        }
    }
}

/// The eight bytes at a position, the first the lowest; past the end they are 0.
#[inline(always)]
fn word(text: &[u8], at: usize) -> u64 {
    match text.get(at..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => last_word(text, at),
    }
}

#[inline]
fn last_word(text: &[u8], at: usize) -> u64 {
    match text.last_chunk() {
        Some(bytes) => {
            let taken = 8 - text.len().saturating_sub(at) as u32;
            u64::from_le_bytes(*bytes).unbounded_shr(8 * taken)
        }
        None => short_word(text, at),
    }
}

#[cold]
fn short_word(text: &[u8], at: usize) -> u64 {
    let rest = text.get(at..).unwrap_or_default();
    rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}
