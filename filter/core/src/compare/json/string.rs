//! Strings by value: what a lexeme says once its escapes are undone.

/// Whether two string lexemes (with their quotes) say the same.
pub fn equal(one: &[u8], other: &[u8]) -> bool {
    let same = one.iter().zip(other).take_while(|(a, b)| a == b && **a != b'\\').count();
    match (one.get(same..), other.get(same..)) {
        (Some(one), Some(other)) if one.starts_with(b"\\") || other.starts_with(b"\\") => {
            Units::new(one).eq(Units::new(other))
        }
        (one, other) => one == other,
    }
}

/// Whether a string lexeme says `plain`.
pub fn says(lexeme: &[u8], plain: &[u8]) -> bool {
    Units::of(lexeme).eq(plain.iter().map(|byte| u32::from(*byte)))
}

/// What a string lexeme says, as bytes that are UTF-8 wherever the text is; a lone surrogate gets the three bytes that
/// UTF-8 would give it.
pub fn unescape(lexeme: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(lexeme.len());
    let mut units = Units::of(lexeme);
    while !units.rest.is_empty() || units.pending != 0 {
        // Most of a string is plain even where it has escapes.
        if units.pending == 0 {
            let plain = memchr::memchr(b'\\', units.rest).unwrap_or(units.rest.len());
            let (plain, rest) = units.rest.split_at_checked(plain).unwrap_or((units.rest, &[]));
            bytes.extend_from_slice(plain);
            units.rest = rest;
        }
        match units.next().map(|unit| (unit, u8::try_from(unit))) {
            Some((_, Ok(byte))) => bytes.push(byte),
            Some((unit, Err(_))) => {
                bytes.extend([0xed, 0x80 | (unit >> 6 & 0x3f) as u8, 0x80 | (unit & 0x3f) as u8]);
            }
            None => {}
        }
    }
    bytes
}

/// What stands between the quotes of a string lexeme.
pub fn inside(lexeme: &[u8]) -> &[u8] {
    match lexeme {
        [b'"', inside @ .., b'"'] => inside,
        _ => lexeme,
    }
}

/// Whether a string lexeme holds escapes.
pub fn has_escapes(lexeme: &[u8]) -> bool {
    // Most are short, for which a call costs more than the search.
    if lexeme.len() < 32 { lexeme.contains(&b'\\') } else { memchr::memchr(b'\\', lexeme).is_some() }
}

/// What a string lexeme says, unit by unit: bytes, and lone surrogates (0xD800 and above), which have no bytes.
struct Units<'t> {
    rest: &'t [u8],
    /// Bytes of a character that are still to come, the next in the lowest eight bits. None of them is 0.
    pending: u32,
}

impl<'t> Units<'t> {
    fn of(lexeme: &'t [u8]) -> Self {
        Self::new(inside(lexeme))
    }

    fn new(rest: &'t [u8]) -> Self {
        Self { rest, pending: 0 }
    }

    fn character(&mut self, code: u32) -> u32 {
        let Some(character) = char::from_u32(code) else {
            return code;
        };
        let mut bytes = [0; 4];
        character.encode_utf8(&mut bytes);
        let packed = u32::from_le_bytes(bytes);
        self.pending = packed >> 8;
        packed & 0xff
    }

    /// Reads `\uXXXX` at the beginning of the rest.
    fn hex(&mut self) -> Option<u32> {
        let [b'\\', b'u', digits @ ..] = self.rest else {
            return None;
        };
        let (digits, rest) = digits.split_first_chunk::<4>()?;
        self.rest = rest;
        Some(digits.iter().fold(0, |code, digit| code << 4 | char::from(*digit).to_digit(16).unwrap_or(0)))
    }
}

impl Iterator for Units<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.pending != 0 {
            let byte = self.pending & 0xff;
            self.pending >>= 8;
            return Some(byte);
        }
        if let Some(code) = self.hex() {
            if matches!(code, 0xd800..0xdc00) {
                let before = self.rest;
                if let Some(low @ 0xdc00..0xe000) = self.hex() {
                    return Some(self.character(((code & 0x3ff) << 10 | low & 0x3ff).wrapping_add(0x1_0000)));
                }
                self.rest = before;
            }
            return Some(self.character(code));
        }
        let (byte, rest) = match self.rest {
            [b'\\', letter, rest @ ..] => (unescaped(*letter), rest),
            [byte, rest @ ..] => (*byte, rest),
            [] => return None,
        };
        self.rest = rest;
        Some(u32::from(byte))
    }
}

/// The byte that a backslash and `letter` stand for.
fn unescaped(letter: u8) -> u8 {
    match letter {
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        same => same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_equal_by_what_they_say() {
        for (one, other) in [
            (r#""a""#, r#""\u0061""#),
            (r#""/""#, r#""\/""#),
            (r#""\b\f\n\r\t\"\\""#, r#""\u0008\u000C\u000a\u000D\u0009\u0022\u005c""#),
            (r#""é€""#, r#""\u00e9\u20AC""#),
            (r#""😀""#, r#""\ud83d\uDE00""#),
            (r#""\udbff\udfff""#, "\"\u{10ffff}\""),
            (r#""\ud800x""#, r#""\uD800\u0078""#),
            (r#""\u0000a""#, r#""\u0000\u0061""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ud83d😀""#),
        ] {
            assert!(equal(one.as_bytes(), other.as_bytes()), "{one} {other}");
            assert!(equal(other.as_bytes(), one.as_bytes()), "{other} {one}");
        }
    }

    #[test]
    fn strings_that_say_something_else_differ() {
        for (one, other) in [
            (r#""a""#, r#""A""#),
            (r#""a""#, r#""aa""#),
            (r#""\u0061""#, r#""b""#),
            (r#""\ud800""#, r#""\ud801""#),
            (r#""\ud800""#, r#""\ufffd""#),
            (r#""\ude00\ud83d""#, r#""😀""#),
            (r#""\\u0061""#, r#""a""#),
            (r#""\\n""#, r#""\n""#),
            (r#""é""#, r#""e\u0301""#),
        ] {
            assert!(!equal(one.as_bytes(), other.as_bytes()), "{one} {other}");
        }
        assert!(!equal(b"\"\\ud800\"", b"\"\xed\xa0\x80\""), "a lone surrogate is not the bytes that would encode it");
        assert!(!equal(b"\"\xff\"", b"\"\xfe\""));
    }

    #[test]
    fn what_is_said_is_text() {
        assert_eq!(unescape(r#""a\/\u00e9\ud83d\ude00\n""#.as_bytes()), "a/é😀\n".as_bytes());
        assert_eq!(unescape(br#""\udbff""#), b"\xed\xaf\xbf");
        assert!(says(br#""\u0061b""#, b"ab"));
        assert!(!says(br#""ab""#, b"abc"));
    }
}
