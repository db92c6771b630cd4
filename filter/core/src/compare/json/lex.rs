//! Reading one JSON text (RFC 8259, strictly): where its tokens and values end. Nothing is decoded here and nothing
//! allocated; positions are byte offsets, and a lexeme is the text from its first byte up to its end.
//!
//! Bytes above 0x7F inside strings are taken as they are, valid UTF-8 or not.

use super::MAX_DEPTH;

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This is not JSON.
    Syntax,
    /// Nested more deeply than [`MAX_DEPTH`].
    Deep,
    /// More work than one comparison may do.
    Complex,
}

/// Where a lexeme stands in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first byte.
    pub start: usize,
    /// The byte behind its last.
    pub end: usize,
}

impl Span {
    /// The lexeme.
    pub fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.start..self.end).unwrap_or_default()
    }

    /// Its length in bytes.
    pub fn len(self) -> usize {
        self.end.wrapping_sub(self.start)
    }
}

/// The types of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl Type {
    /// The type of the value that begins with `first`; `None` where no value begins so.
    #[inline]
    pub fn begun_by(first: u8) -> Option<Self> {
        match first {
            b'"' => Some(Self::String),
            b'{' => Some(Self::Object),
            b'[' => Some(Self::Array),
            b'-' | b'0'..=b'9' => Some(Self::Number),
            b't' | b'f' => Some(Self::Bool),
            b'n' => Some(Self::Null),
            _ => None,
        }
    }
}

/// The byte at `at`, and 0 behind the end: no JSON text may hold one.
#[inline]
pub fn byte(text: &[u8], at: usize) -> u8 {
    text.get(at).copied().unwrap_or(0)
}

/// The position behind `at`.
#[inline]
pub const fn after(at: usize) -> usize {
    at.wrapping_add(1)
}

/// Checks that `text` is one JSON value and nothing else.
pub fn document(text: &[u8]) -> Result<(), Fault> {
    let end = value(text, space(text, document_start(text)), 0)?;
    if space(text, end) == text.len() { Ok(()) } else { Err(Fault::Syntax) }
}

/// Where the text begins behind a byte order mark.
pub fn document_start(text: &[u8]) -> usize {
    if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 }
}

/// Where the white space that may stand at `at` ends.
#[inline]
pub fn space(text: &[u8], at: usize) -> usize {
    if byte(text, at) > b' ' { at } else { long_space(text, at) }
}

fn long_space(text: &[u8], mut at: usize) -> usize {
    const BLANK: [u8; 8] = [b' '; 8];
    loop {
        // Indentation comes in long runs of blanks.
        while text.get(at..).and_then(|rest| rest.first_chunk()) == Some(&BLANK) {
            at = at.wrapping_add(BLANK.len());
        }
        if !matches!(byte(text, at), b' ' | b'\n' | b'\r' | b'\t') {
            return at;
        }
        at = after(at);
    }
}

/// Where the value at `at` ends. `depth` is the number of objects and arrays that are open around it.
pub fn value(text: &[u8], mut at: usize, depth: usize) -> Result<usize, Fault> {
    // What is open inside this value, the innermost in the lowest bit: 1 for an object, 0 for an array.
    let mut open: u128 = 0;
    let mut count: usize = 0;
    loop {
        match byte(text, at) {
            first @ (b'{' | b'[') => {
                if depth.saturating_add(count) >= MAX_DEPTH {
                    return Err(Fault::Deep);
                }
                let object = first == b'{';
                at = space(text, after(at));
                if byte(text, at) == if object { b'}' } else { b']' } {
                    at = after(at);
                } else {
                    open = open << 1 | u128::from(object);
                    count = count.wrapping_add(1);
                    if object {
                        at = key(text, at)?;
                    }
                    continue;
                }
            }
            first => at = scalar(text, at, first)?,
        }
        loop {
            if count == 0 {
                return Ok(at);
            }
            let object = open & 1 == 1;
            at = space(text, at);
            match byte(text, at) {
                b',' => {
                    at = space(text, after(at));
                    if object {
                        at = key(text, at)?;
                    }
                    break;
                }
                b'}' if object => {}
                b']' if !object => {}
                _ => return Err(Fault::Syntax),
            }
            at = after(at);
            open >>= 1;
            count = count.wrapping_sub(1);
        }
    }
}

/// Where the value of the member begins whose key stands at `at`.
#[inline]
pub fn key(text: &[u8], at: usize) -> Result<usize, Fault> {
    if byte(text, at) != b'"' {
        return Err(Fault::Syntax);
    }
    colon(text, string(text, at)?.0)
}

/// Where the value begins whose key ends at `at`.
#[inline]
pub fn colon(text: &[u8], at: usize) -> Result<usize, Fault> {
    let at = space(text, at);
    if byte(text, at) == b':' { Ok(space(text, after(at))) } else { Err(Fault::Syntax) }
}

/// Where the string, number, `true`, `false` or `null` at `at` ends, whose first byte is `first`.
#[inline]
pub fn scalar(text: &[u8], at: usize, first: u8) -> Result<usize, Fault> {
    match first {
        b'"' => string(text, at).map(|(end, _)| end),
        b'-' | b'0'..=b'9' => number(text, at),
        b't' => word(text, at, b"true"),
        b'f' => word(text, at, b"false"),
        b'n' => word(text, at, b"null"),
        _ => Err(Fault::Syntax),
    }
}

fn word(text: &[u8], at: usize, word: &[u8]) -> Result<usize, Fault> {
    let end = at.wrapping_add(word.len());
    if text.get(at..end) == Some(word) { Ok(end) } else { Err(Fault::Syntax) }
}

/// Where the number at `at` ends.
pub fn number(text: &[u8], mut at: usize) -> Result<usize, Fault> {
    if byte(text, at) == b'-' {
        at = after(at);
    }
    at = if byte(text, at) == b'0' { after(at) } else { digits(text, at)? };
    if byte(text, at) == b'.' {
        at = digits(text, after(at))?;
    }
    if matches!(byte(text, at), b'e' | b'E') {
        at = after(at);
        if matches!(byte(text, at), b'+' | b'-') {
            at = after(at);
        }
        at = digits(text, at)?;
    }
    Ok(at)
}

/// Where the digits at `at` end, of which there must be one.
#[inline]
fn digits(text: &[u8], at: usize) -> Result<usize, Fault> {
    let mut end = at;
    while byte(text, end).is_ascii_digit() {
        end = after(end);
    }
    if end > at { Ok(end) } else { Err(Fault::Syntax) }
}

/// Where the string at `at` (its opening quote) ends, and whether it holds escapes.
#[inline]
pub fn string(text: &[u8], at: usize) -> Result<(usize, bool), Fault> {
    let end = plain(text, after(at));
    if byte(text, end) == b'"' { Ok((after(end), false)) } else { escaped_string(text, end) }
}

fn escaped_string(text: &[u8], mut at: usize) -> Result<(usize, bool), Fault> {
    loop {
        match byte(text, at) {
            b'"' => return Ok((after(at), true)),
            b'\\' => at = plain(text, escape(text, at)?),
            _ => return Err(Fault::Syntax),
        }
    }
}

/// Where the escape at `at` (its backslash) ends.
fn escape(text: &[u8], at: usize) -> Result<usize, Fault> {
    let letter = after(at);
    match byte(text, letter) {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(after(letter)),
        b'u' => {
            let end = letter.wrapping_add(5);
            match text.get(after(letter)..end) {
                Some(hex) if hex.iter().all(u8::is_ascii_hexdigit) => Ok(end),
                _ => Err(Fault::Syntax),
            }
        }
        _ => Err(Fault::Syntax),
    }
}

/// The first quote, backslash or control character at or behind `at`, or the text's end.
#[inline]
fn plain(text: &[u8], mut at: usize) -> usize {
    while let Some(bytes) = text.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let special = special(u64::from_le_bytes(*bytes));
        if special != 0 {
            return at.wrapping_add(special.trailing_zeros() as usize / 8);
        }
        at = at.wrapping_add(8);
    }
    while at < text.len() && !matches!(byte(text, at), b'"' | b'\\' | ..b' ') {
        at = after(at);
    }
    at
}

/// The top bit of each byte of `word` that is a quote, a backslash or a control character. Bits above the lowest one
/// may be set wrongly (a borrow has passed them); the lowest is right.
#[inline]
fn special(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const TOPS: u64 = u64::from_le_bytes([0x80; 8]);
    const QUOTES: u64 = u64::from_le_bytes([b'"'; 8]);
    const BACKSLASHES: u64 = u64::from_le_bytes([b'\\'; 8]);
    const BLANKS: u64 = u64::from_le_bytes([b' '; 8]);
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    (zero(word ^ QUOTES) | zero(word ^ BACKSLASHES) | (word.wrapping_sub(BLANKS) & !word)) & TOPS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_json_is_read_to_its_end() {
        for text in [
            "null",
            " true ",
            "false",
            "0",
            "-0",
            "-0.0e-00",
            "10.25E+3",
            "1e5",
            "\"\"",
            r#""\"\\\/\b\f\n\r\t\u00e9\uD800""#,
            "\"a longer string, longer than a word of eight bytes\"",
            "[]",
            "[ ]",
            "{}",
            "{ }",
            "[[],{},[{}]]",
            "{\"a\":{\"b\":[1 , 2]} , \"a\":3}",
            "\u{feff}[1]",
            "\t\r\n [            1\n            ]",
            "\"\u{7f}\"",
        ] {
            assert_eq!(document(text.as_bytes()), Ok(()), "{text}");
        }
        assert_eq!(document(b"\"\xff\xc3\""), Ok(()), "bytes that are no UTF-8");
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in [
            "",
            " ",
            "\u{feff}",
            "nul",
            "nullx",
            "True",
            "01",
            "-",
            "-a",
            "+1",
            ".5",
            "1.",
            "1.e1",
            "1e",
            "1e+",
            "0x1",
            "00",
            "NaN",
            "Infinity",
            "\"",
            "\"abc",
            "\"\\",
            "\"\\\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\\u123\"",
            "\"a\nb\"",
            "\"1234567\u{1f}\"",
            "\"\0\"",
            "'a'",
            "[",
            "]",
            "[1",
            "[1,",
            "[1,]",
            "[,1]",
            "[1 2]",
            "[1}",
            "{",
            "}",
            "{]",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "{a:1}",
            "{1:1}",
            "{,}",
            "{\"a\":1]",
            "{\"a\":}",
            "1 2",
            "[] []",
            "{}x",
            "/**/1",
            "\u{a0}1",
            "1\0",
            "\u{feff}\u{feff}1",
            "[1]\u{feff}",
            "\x0b1",
        ] {
            assert_eq!(document(text.as_bytes()), Err(Fault::Syntax), "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(document(nested(MAX_DEPTH).as_bytes()), Ok(()));
        assert_eq!(document(nested(MAX_DEPTH + 1).as_bytes()), Err(Fault::Deep));
        assert_eq!(document("{\"\":".repeat(1_000_000).as_bytes()), Err(Fault::Deep));
        assert_eq!(value(b"[[]]", 0, MAX_DEPTH - 1), Err(Fault::Deep));
        assert_eq!(value(b"[]", 0, MAX_DEPTH - 1), Ok(2));
    }

    #[test]
    fn every_special_byte_is_seen_at_every_position() {
        for width in 0..40 {
            for first in 0..=255_u8 {
                let mut text = vec![b'\xe9'; width];
                text.push(first);
                text.extend(*b"\"\"\"\"\"\"\"\"\"");
                let expected = if matches!(first, b'"' | b'\\' | ..b' ') { width } else { width + 1 };
                assert_eq!(plain(&text, 0), expected, "{first:#x} behind {width} bytes");
            }
        }
        assert_eq!(plain(b"abcdefghij", 0), 10, "the end");
    }
}
