//! Steps over a value that nobody wants, making sure that it is JSON.

use super::scan::{byte, digits_end, plain_end, space_end};

/// How deep a value may be nested; 64 bits remember which of `[` and `{` are open.
const DEPTH_MAX: u32 = 64;

/// Where the value that begins at a position ends, white space before it left out;
/// none if it is no JSON, or too deep.
#[inline(never)]
pub(super) fn value(text: &[u8], at: usize) -> Option<usize> {
    match byte(text, at) {
        b'"' => string(text, at + 1),
        b'0'..=b'9' | b'-' => number(text, at),
        b'{' | b'[' => nested(text, at),
        _ => literal(text, at),
    }
}

/// As [`value`], for an array or an object.
#[inline(never)]
fn nested(text: &[u8], mut at: usize) -> Option<usize> {
    // One bit for each open bracket, the innermost the lowest: 1 for `{`.
    let (mut open, mut depth) = (0u64, 0);
    loop {
        let first = byte(text, at);
        match first {
            b'"' => at = string(text, at + 1)?,
            b'0'..=b'9' | b'-' => at = number(text, at)?,
            b'{' | b'[' => {
                let object = first == b'{';
                at = space_end(text, at + 1);
                // `]` and `}` follow `[` and `{` at the same distance.
                if byte(text, at) == first + 2 {
                    at += 1;
                } else {
                    if depth == DEPTH_MAX {
                        return None;
                    }
                    depth += 1;
                    open = open << 1 | u64::from(object);
                    if object {
                        at = name(text, at)?;
                    }
                    continue;
                }
            }
            _ => at = literal(text, at)?,
        }
        loop {
            if depth == 0 {
                return Some(at);
            }
            at = space_end(text, at);
            let object = open & 1 == 1;
            match byte(text, at) {
                b',' => {
                    at = space_end(text, at + 1);
                    if object {
                        at = name(text, at)?;
                    }
                    break;
                }
                b'}' if object => {}
                b']' if !object => {}
                _ => return None,
            }
            at += 1;
            depth -= 1;
            open >>= 1;
        }
    }
}

/// Where the string ends whose first quote is before a position.
#[inline(always)]
fn string(text: &[u8], at: usize) -> Option<usize> {
    let end = plain_end(text, at);
    if byte(text, end) == b'"' { Some(end + 1) } else { escaped(text, end) }
}

/// As [`string`], from a position with something other than a plain character.
#[inline(never)]
fn escaped(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match byte(text, at) {
            b'"' => return Some(at + 1),
            b'\\' => {}
            _ => return None,
        }
        at += 2;
        match byte(text, at - 1) {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
            b'u' => {
                if !text.get(at..at + 4)?.iter().all(u8::is_ascii_hexdigit) {
                    return None;
                }
                at += 4;
            }
            _ => return None,
        }
        at = plain_end(text, at);
    }
}

/// Where a number ends.
#[inline]
fn number(text: &[u8], mut at: usize) -> Option<usize> {
    if byte(text, at) == b'-' {
        at += 1;
    }
    let end = digits_end(text, at);
    if end == at || (byte(text, at) == b'0' && end > at + 1) {
        return None;
    }
    if matches!(byte(text, end), b'.' | b'e' | b'E') { fraction(text, end) } else { Some(end) }
}

/// Where a number ends whose digits before the point do at a position.
#[inline(never)]
fn fraction(text: &[u8], mut at: usize) -> Option<usize> {
    let digits = |at| Some(digits_end(text, at)).filter(|end| *end > at);
    if byte(text, at) == b'.' {
        at = digits(at + 1)?;
    }
    if matches!(byte(text, at), b'e' | b'E') {
        at += 1;
        if matches!(byte(text, at), b'+' | b'-') {
            at += 1;
        }
        at = digits(at)?;
    }
    Some(at)
}

/// Where `null`, `true` or `false` ends.
#[inline(never)]
fn literal(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    [&b"null"[..], b"true", b"false"]
        .into_iter()
        .find(|literal| rest.starts_with(literal))
        .map(|literal| at + literal.len())
}

/// Where the value of a member begins whose name begins at a position.
#[inline]
fn name(text: &[u8], at: usize) -> Option<usize> {
    if byte(text, at) != b'"' {
        return None;
    }
    let at = space_end(text, string(text, at + 1)?);
    (byte(text, at) == b':').then(|| space_end(text, at + 1))
}
