//! The skipping scan. Strings and scalars are stepped over eight bytes at a time. Nothing here recurses, so depth costs no stack.

use std::borrow::Cow;

use super::{Absence, Found};

/// Which bytes end a number, `true`, `false` or `null`.
static DELIMITER: [bool; 256] = {
    let mut table = [false; 256];
    let delimiters = b" \t\n\r,:\"[]{}";
    let mut i = 0;
    while i < delimiters.len() {
        table[delimiters[i] as usize] = true;
        i += 1;
    }
    table
};

/// Follows the steps from the start of `json`.
pub(super) fn find<'a>(steps: &[Box<str>], json: &'a [u8]) -> Result<Found<'a>, Absence> {
    let mut at = Cursor { rest: json };
    for step in steps {
        match at.peek()? {
            b'{' => at.enter_member(step)?,
            b'[' => at.enter_element(step)?,
            _ => {
                return Err(match at.scalar() {
                    Ok(_) | Err(Absence::Null) => Absence::Missing,
                    Err(absence) => absence,
                });
            }
        }
    }
    at.scalar()
}

/// Where the scan is: what is still before it.
struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// The next byte that is no white space; the cursor is then before it.
    #[inline(always)]
    fn peek(&mut self) -> Result<u8, Absence> {
        loop {
            let (byte, rest) = self.rest.split_first().ok_or(Absence::NotJson)?;
            if *byte > b' ' || !is_space(*byte) {
                return Ok(*byte);
            }
            self.rest = rest;
        }
    }

    /// The same; the cursor is then behind it.
    #[inline(always)]
    fn token(&mut self) -> Result<u8, Absence> {
        let byte = self.peek()?;
        self.rest = self.rest.get(1..).unwrap_or_default();
        Ok(byte)
    }

    /// From before `{` to the value of this member.
    ///
    /// Behind a name, only the first byte of its value is looked at: a string or a
    /// composite is stepped over, and a scalar has neither a quote nor a brace, so
    /// the next one of these is the next name or the end.
    fn enter_member(&mut self, name: &str) -> Result<(), Absence> {
        loop {
            if self.skip_to(b'"', b'}')? == b'}' {
                return Err(Absence::Missing);
            }
            let (raw, escaped) = self.string()?;
            let found = if escaped {
                decode(raw)?.as_bytes() == name.as_bytes()
            } else {
                raw == name.as_bytes()
            };
            if self.token()? != b':' {
                return Err(Absence::NotJson);
            }
            if found {
                return Ok(());
            }
            match self.token()? {
                b'"' => {
                    self.string()?;
                }
                b'{' | b'[' => self.skip_composite()?,
                _ => {}
            }
        }
    }

    /// From before `[` to this element.
    fn enter_element(&mut self, step: &str) -> Result<(), Absence> {
        self.token()?;
        let index = index(step).ok_or(Absence::Missing)?;
        for i in 0..=index {
            if self.peek()? == b']' {
                return Err(Absence::Missing);
            }
            if i == index {
                break;
            }
            let byte = self.token()?;
            self.skip_value(byte)?;
            match self.token()? {
                b',' => {}
                b']' => return Err(Absence::Missing),
                _ => return Err(Absence::NotJson),
            }
        }
        Ok(())
    }

    /// The scalar that begins here.
    fn scalar(&mut self) -> Result<Found<'a>, Absence> {
        match self.peek()? {
            b'"' => {
                self.token()?;
                let (raw, escaped) = self.string()?;
                if escaped {
                    return decode(raw).map(|text| Found::Text(Cow::Owned(text)));
                }
                if raw.iter().any(|byte| *byte < 0x20) {
                    return Err(Absence::NotJson);
                }
                let text = std::str::from_utf8(raw).map_err(|_| Absence::NotJson)?;
                Ok(Found::Text(Cow::Borrowed(text)))
            }
            b'{' | b'[' => Err(Absence::Composite),
            _ => {
                let (literal, _) = split_literal(self.rest);
                match literal {
                    b"null" => Err(Absence::Null),
                    b"true" | b"false" => Ok(Found::Literal(literal)),
                    _ if is_number(literal) => Ok(Found::Literal(literal)),
                    _ => Err(Absence::NotJson),
                }
            }
        }
    }

    /// Steps over the value that begins with `byte`, which is behind the cursor.
    fn skip_value(&mut self, byte: u8) -> Result<(), Absence> {
        match byte {
            b'"' => self.string().map(|_| ()),
            b'{' | b'[' => self.skip_composite(),
            _ if DELIMITER[usize::from(byte)] => Err(Absence::NotJson),
            _ => {
                (_, self.rest) = split_literal(self.rest);
                Ok(())
            }
        }
    }

    /// From behind an opening bracket to behind its closing one.
    fn skip_composite(&mut self) -> Result<(), Absence> {
        let mut depth = 1_usize;
        while depth > 0 {
            let (byte, rest) = self.rest.split_first().ok_or(Absence::NotJson)?;
            self.rest = rest;
            match byte {
                b'"' => {
                    self.string()?;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    /// From behind the opening quote to behind the closing one: the bytes between,
    /// and whether there is a backslash among them.
    #[inline(always)]
    fn string(&mut self) -> Result<(&'a [u8], bool), Absence> {
        let start = self.rest;
        let mut escaped = false;
        while self.skip_to(b'"', b'\\')? == b'\\' {
            escaped = true;
            self.rest = self.rest.get(1..).ok_or(Absence::NotJson)?;
        }
        let length = start.len() - self.rest.len() - 1;
        Ok((start.get(..length).unwrap_or_default(), escaped))
    }

    /// To behind the first `a` or `b`, and which of them it is.
    #[inline(always)]
    fn skip_to(&mut self, a: u8, b: u8) -> Result<u8, Absence> {
        const ONES: u64 = u64::from_ne_bytes([1; 8]);
        /// Sets the high bit of the lowest byte that is zero, and none below it.
        #[inline(always)]
        fn zero(word: u64) -> u64 {
            word.wrapping_sub(ONES) & !word & (ONES << 7)
        }
        while let Some((word, rest)) = self.rest.split_first_chunk::<8>() {
            let word = u64::from_le_bytes(*word);
            let hits = zero(word ^ (ONES * u64::from(a))) | zero(word ^ (ONES * u64::from(b)));
            if hits != 0 {
                let before = hits.trailing_zeros() / 8;
                self.rest = self.rest.get(before as usize + 1..).ok_or(Absence::NotJson)?;
                return Ok((word >> (before * 8)) as u8);
            }
            self.rest = rest;
        }
        loop {
            let (byte, rest) = self.rest.split_first().ok_or(Absence::NotJson)?;
            self.rest = rest;
            if *byte == a || *byte == b {
                return Ok(*byte);
            }
        }
    }
}

/// The bytes up to the next delimiter, and those from there.
fn split_literal(bytes: &[u8]) -> (&[u8], &[u8]) {
    let length = bytes.iter().position(|byte| DELIMITER[usize::from(*byte)]).unwrap_or(bytes.len());
    bytes.split_at(length)
}

fn decode(raw: &[u8]) -> Result<String, Absence> {
    let mut quoted = Vec::with_capacity(raw.len() + 2);
    quoted.push(b'"');
    quoted.extend_from_slice(raw);
    quoted.push(b'"');
    serde_json::from_slice(&quoted).map_err(|_| Absence::NotJson)
}

/// The index that a step means in an array. Leading zeros mean none, by RFC 6901.
fn index(step: &str) -> Option<usize> {
    let canonical = step == "0" || !step.starts_with('0');
    (canonical && step.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| step.parse().ok())
        .flatten()
}

/// By the grammar of RFC 8259.
fn is_number(raw: &[u8]) -> bool {
    let digits = |raw: &[u8]| raw.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let raw = raw.strip_prefix(b"-").unwrap_or(raw);
    let whole = digits(raw);
    let (whole, mut rest) = raw.split_at(whole);
    if whole.is_empty() || (whole.len() > 1 && whole.starts_with(b"0")) {
        return false;
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        let n = digits(fraction);
        if n == 0 {
            return false;
        }
        rest = fraction.get(n..).unwrap_or_default();
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = match exponent {
            [b'+' | b'-', exponent @ ..] => exponent,
            exponent => exponent,
        };
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
