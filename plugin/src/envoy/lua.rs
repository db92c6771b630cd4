//! Lua text that is safe to build from what users wrote.

use std::fmt::Write;

/// `text` as a Lua string literal. Whatever it holds, it is one string to Lua: printable ASCII stays readable, every
/// other byte, quotes and backslashes become `\ddd`.
pub fn quoted(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => write_escape(&mut literal, byte),
            b' '..=b'~' => literal.push(char::from(byte)),
            _ => write_escape(&mut literal, byte),
        }
    }
    literal.push('"');
    literal
}

fn write_escape(literal: &mut String, byte: u8) {
    // Three digits always, so that a digit that follows is not taken for a part of the escape.
    write!(literal, "\\{byte:03}").expect("writing to a string does not fail");
}

/// A Lua table with each of `texts` as a key: `{["a"] = true, ["b"] = true}`.
pub fn set<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let entries: Vec<_> = texts.into_iter().map(|text| format!("[{}] = true", quoted(text.as_ref()))).collect();
    format!("{{{}}}", entries.join(", "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads a literal the way Lua does; panics on anything that would end it early.
    fn read(literal: &str) -> Vec<u8> {
        let inner = literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).expect("quotes around it");
        let mut bytes = inner.bytes();
        let mut text = Vec::new();
        while let Some(byte) = bytes.next() {
            match byte {
                b'\\' => {
                    let digits: Vec<u8> = bytes.by_ref().take(3).collect();
                    let digits = String::from_utf8(digits).expect("ASCII digits");
                    assert_eq!(digits.len(), 3);
                    text.push(digits.parse().expect("a byte in decimal"));
                }
                b' '..=b'~' if byte != b'"' => text.push(byte),
                _ => panic!("{byte:#x} stands bare in {literal}"),
            }
        }
        text
    }

    proptest! {
        #[test]
        fn any_text_is_one_literal(text in any::<String>()) {
            prop_assert_eq!(read(&quoted(&text)), text.into_bytes());
        }

        #[test]
        fn text_that_looks_like_lua_is_one_literal(text in r#"["\\\n\r\x00\]\[=a0-9 -]{0,40}"#) {
            prop_assert_eq!(read(&quoted(&text)), text.into_bytes());
        }
    }

    #[test]
    fn sets_are_tables() {
        assert_eq!(set(["GET", "a\"b"]), r#"{["GET"] = true, ["a\034b"] = true}"#);
    }
}
