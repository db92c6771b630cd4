//! Places: where two answers differ, and the patterns by which rules name such places. One syntax serves both.
//!
//! | text | names |
//! |---|---|
//! | `status` | the status code |
//! | `header:NAME`, `trailer:NAME` | a response header or trailer, lower case |
//! | `cookie:NAME` | one cookie of `set-cookie` |
//! | `body` | the whole body (text, bytes, gRPC, or a JSON document's root) |
//! | `/a/*/b` | a JSON pointer (RFC 6901) into the body, `*` for any array index |
//!
//! In a pattern `*` stands for any one segment (an index or a key) and may end a header's, trailer's or cookie's name
//! (`header:x-debug-*`). A key that is itself `*` is written `~2`, beside RFC 6901's `~0` for `~` and `~1` for `/`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where two answers differ, in the syntax of this module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Place(String);

impl Place {
    /// The status code.
    pub fn status() -> Self {
        Self("status".to_owned())
    }

    /// A response header; `name` is lower-cased.
    pub fn header(name: &[u8]) -> Self {
        Self::named("header:", name)
    }

    /// A response trailer; `name` is lower-cased.
    pub fn trailer(name: &[u8]) -> Self {
        Self::named("trailer:", name)
    }

    /// A cookie that the answer sets; names of cookies are case-sensitive.
    pub fn cookie(name: &[u8]) -> Self {
        Self(format!("cookie:{}", String::from_utf8_lossy(name)))
    }

    /// The whole body.
    pub fn body() -> Self {
        Self("body".to_owned())
    }

    /// A JSON pointer that [`push_key`] and [`push_index`] built; the empty pointer is the whole body.
    pub fn pointer(pointer: String) -> Self {
        if pointer.is_empty() { Self::body() } else { Self(pointer) }
    }

    fn named(prefix: &str, name: &[u8]) -> Self {
        Self(format!("{prefix}{}", String::from_utf8_lossy(name).to_ascii_lowercase()))
    }

    /// The text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for Place {
    /// Takes text that this module wrote, for example from a metric's name.
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// Appends an object's key (already unescaped from JSON) to a pointer.
pub fn push_key(pointer: &mut String, key: &str) {
    pointer.push('/');
    for c in key.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            '*' if key.len() == 1 => pointer.push_str("~2"),
            c => pointer.push(c),
        }
    }
}

/// Appends an array's index, which is always shown as `*`.
pub fn push_index(pointer: &mut String) {
    pointer.push_str("/*");
}

/// One step of a pattern into a JSON body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// `*`: any key or index.
    Any,
    /// This key, or this index written in decimal.
    Key(String),
}

/// What a rule names. Parsed from and shown in the syntax of this module.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Pattern {
    /// `status`
    Status,
    /// `header:NAME`; the name is lower case and may end in `*`.
    Header(String),
    /// `trailer:NAME`; the name is lower case and may end in `*`.
    Trailer(String),
    /// `cookie:NAME`; the name may end in `*`.
    Cookie(String),
    /// `body` (no segments) or a JSON pointer.
    Body(Vec<Segment>),
}

/// Why a text is not a pattern. Says what was found and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError(String);

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PatternError {}

impl TryFrom<String> for Pattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, PatternError> {
        text.parse()
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.to_string()
    }
}

impl std::str::FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        match text {
            "status" => return Ok(Self::Status),
            "body" => return Ok(Self::Body(Vec::new())),
            _ => {}
        }
        if let Some(rest) = text.strip_prefix('/') {
            return Ok(Self::Body(rest.split('/').map(segment).collect::<Result<_, _>>()?));
        }
        match text.split_once(':') {
            Some(("header", name)) => Ok(Self::Header(checked_name(text, name)?.to_ascii_lowercase())),
            Some(("trailer", name)) => Ok(Self::Trailer(checked_name(text, name)?.to_ascii_lowercase())),
            Some(("cookie", name)) => Ok(Self::Cookie(checked_name(text, name)?.to_owned())),
            _ => Err(PatternError(format!(
                "`{text}` names no place: expected a JSON pointer such as `/items/*/price`, or `body`, `status`, \
                 `header:NAME`, `trailer:NAME` or `cookie:NAME`"
            ))),
        }
    }
}

fn segment(text: &str) -> Result<Segment, PatternError> {
    if text == "*" {
        return Ok(Segment::Any);
    }
    let mut key = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        key.push(match c {
            '~' => match chars.next() {
                Some('0') => '~',
                Some('1') => '/',
                Some('2') => '*',
                _ => {
                    return Err(PatternError(format!(
                        "`{text}`: `~` must be followed by 0 (for ~), 1 (for /) or 2 (for *)"
                    )));
                }
            },
            c => c,
        });
    }
    Ok(Segment::Key(key))
}

fn checked_name<'a>(text: &str, name: &'a str) -> Result<&'a str, PatternError> {
    let stem = name.strip_suffix('*').unwrap_or(name);
    if name.is_empty() || stem.contains('*') || stem.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(PatternError(format!("`{text}`: expected a name after the colon; `*` may only end it")));
    }
    Ok(name)
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status => f.write_str("status"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Trailer(name) => write!(f, "trailer:{name}"),
            Self::Cookie(name) => write!(f, "cookie:{name}"),
            Self::Body(segments) if segments.is_empty() => f.write_str("body"),
            Self::Body(segments) => {
                let mut pointer = String::new();
                for segment in segments {
                    match segment {
                        Segment::Any => push_index(&mut pointer),
                        Segment::Key(key) => push_key(&mut pointer, key),
                    }
                }
                f.write_str(&pointer)
            }
        }
    }
}

/// Whether `name` is what a header's, trailer's or cookie's pattern means: equal, or begun by it where it ends in `*`.
pub fn name_matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(stem) => name.starts_with(stem),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_shown_as_they_were_written() {
        for text in [
            "status",
            "body",
            "/",
            "/a",
            "/items/*/price",
            "/a~1b/~0/~2",
            "header:x-debug-*",
            "trailer:grpc-status",
            "cookie:SID",
        ] {
            assert_eq!(text.parse::<Pattern>().map(|p| p.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn names_of_headers_are_lower_case_and_of_cookies_are_not() {
        assert_eq!("header:X-Build".parse(), Ok(Pattern::Header("x-build".into())));
        assert_eq!("cookie:SID".parse(), Ok(Pattern::Cookie("SID".into())));
    }

    #[test]
    fn mistakes_are_refused_with_the_text_and_what_would_be_right() {
        for (text, said) in [
            ("items/price", "names no place"),
            ("", "names no place"),
            ("header:", "expected a name"),
            ("header:a*b", "expected a name"),
            ("cookie:a b", "expected a name"),
            ("/a~3", "must be followed by 0"),
            ("/a~", "must be followed by 0"),
        ] {
            let error = text.parse::<Pattern>().expect_err(text).to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn a_star_ends_a_name() {
        assert!(name_matches("x-*", "x-a"));
        assert!(!name_matches("x-*", "y-x-"));
        assert!(name_matches("x", "x"));
        assert!(!name_matches("x", "xy"));
    }

    #[test]
    fn a_pointer_keeps_keys_that_look_like_syntax() {
        let mut pointer = String::new();
        push_key(&mut pointer, "a/b~c");
        push_index(&mut pointer);
        push_key(&mut pointer, "*");
        assert_eq!(Place::pointer(pointer).as_str(), "/a~1b~0c/*/~2");
        assert_eq!(Place::pointer(String::new()), Place::body());
    }
}
