//! Which requests are copied, beyond a mirror's methods and hosts: what a configuration says of it. The selector's script
//! is made from it; where the module sends the copies itself, [`crate::selection`] decides by it.

use std::convert::Infallible;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::ConfigError;
use super::read::Value;

/// All of these must hold for a request to be copied. Knative's probes never are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Selection {
    /// The share that is copied, in millionths.
    pub millionths: u32,
    /// The header whose value decides whether a request is in the sample, so that one user is always in or always out;
    /// a request without it is never copied. `x-request-id` decides where `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sticky: Option<String>,
    /// Headers that the request must have, all of them.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_texts")]
    pub headers: Vec<HeaderMatch>,
    /// Paths, one of which the request's path (without query) must be; any where empty.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_texts")]
    pub paths: Vec<PathMatch>,
    /// When the mirror ends, in seconds since the Unix epoch: from then on nothing is copied. Never where `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// Hex digits in the names of the headers that name clusters, so that clients cannot know them.
    pub token: String,
}

/// The whole, for [`Selection::millionths`].
pub const WHOLE: u32 = 1_000_000;

/// The last second of the year 9999: a later [`Selection::expires`] is not in seconds.
const LATEST: u64 = 253_402_300_799;

/// A header that a request must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderMatch {
    /// Its name, lower case.
    pub name: String,
    /// What its value must be.
    pub value: ValueMatch,
}

/// What a header's value must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueMatch {
    /// Anything.
    Present,
    /// This.
    Exact(String),
    /// Something that begins like this.
    Prefix(String),
}

/// What a request's path (without query) must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathMatch {
    /// This.
    Exact(String),
    /// Something that begins like this.
    Prefix(String),
}

impl Selection {
    /// Every request, with a new token.
    pub fn everything() -> Self {
        Self {
            millionths: WHOLE,
            sticky: None,
            headers: Vec::new(),
            paths: Vec::new(),
            expires: None,
            token: new_token(),
        }
    }

    pub(super) fn check_token(&self) -> Result<(), ConfigError> {
        if self.token.len() < 8 || !self.token.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(ConfigError::new("token", "must be at least 8 lower-case hex digits"));
        }
        Ok(())
    }

    pub(super) fn read(value: Value<'_>) -> Result<Self, ConfigError> {
        let mut fields = value.fields()?;
        let mut texts =
            |name| Ok::<_, ConfigError>(fields.optional(name, |value| value.list(Value::string))?.unwrap_or_default());
        let (headers, paths) = (texts("headers")?, texts("paths")?);
        let selection = Self {
            millionths: fields.need("millionths")?.integer()?,
            sticky: fields.optional("sticky", Value::string)?,
            headers: headers.iter().map(|text| HeaderMatch::new(text)).collect(),
            paths: paths.iter().map(|text| PathMatch::new(text)).collect(),
            expires: fields.optional("expires", Value::integer)?,
            token: fields.need("token")?.string()?,
        };
        fields.finish()?;
        Ok(selection)
    }

    /// The header that names the candidate's cluster.
    pub fn candidate_header(&self) -> String {
        format!("x-mirror-to-{}", self.token)
    }

    /// The header that names the secondary's cluster.
    pub fn secondary_header(&self) -> String {
        format!("x-mirror-also-{}", self.token)
    }

    /// Checks what types alone cannot say.
    ///
    /// # Errors
    /// The first value that makes no sense, with its path.
    pub fn check(&self) -> Result<(), ConfigError> {
        let error = |path: String, reason: String| Err(ConfigError { path, reason });
        if self.millionths == 0 || self.millionths > WHOLE {
            let reason = format!("{} is out of range: at least 1, at most {WHOLE}", self.millionths);
            return error("millionths".into(), reason);
        }
        self.check_token()?;
        if let Some(expires) = self.expires.filter(|expires| !(1..=LATEST).contains(expires)) {
            let reason =
                format!("{expires} is out of range: seconds since the Unix epoch, at least 1, at most {LATEST}");
            return error("expires".into(), reason);
        }
        let sticky = self.sticky.iter().map(|name| ("sticky".to_owned(), name));
        let headers = self.headers.iter().enumerate().map(|(i, header)| (format!("headers[{i}]"), &header.name));
        for (path, name) in sticky.chain(headers) {
            if !is_header_name(name) {
                return error(path, format!("`{name}` is not the name of a header"));
            }
        }
        for (i, path) in self.paths.iter().enumerate() {
            let (PathMatch::Exact(text) | PathMatch::Prefix(text)) = path;
            if !text.starts_with('/') || text.contains('?') {
                return error(format!("paths[{i}]"), format!("`{text}` is not a path: expected `/…` without a query"));
            }
        }
        Ok(())
    }
}

fn as_texts<S: Serializer>(matches: &[impl ToString], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(matches.iter().map(ToString::to_string))
}

/// As [`HeaderMatch::from_str`] reads it.
impl fmt::Display for HeaderMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            ValueMatch::Present => f.write_str(&self.name),
            ValueMatch::Exact(value) => write!(f, "{}={value}", self.name),
            ValueMatch::Prefix(value) => write!(f, "{}={value}*", self.name),
        }
    }
}

/// As [`PathMatch::from_str`] reads it.
impl fmt::Display for PathMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(path) => f.write_str(path),
            Self::Prefix(path) => write!(f, "{path}*"),
        }
    }
}

impl HeaderMatch {
    fn new(text: &str) -> Self {
        let (name, value) = match text.split_once('=') {
            None => (text, ValueMatch::Present),
            Some((name, value)) => match value.strip_suffix('*') {
                Some(prefix) => (name, ValueMatch::Prefix(prefix.to_owned())),
                None => (name, ValueMatch::Exact(value.to_owned())),
            },
        };
        Self { name: name.to_ascii_lowercase(), value }
    }
}

impl FromStr for HeaderMatch {
    type Err = Infallible;

    /// `NAME` (present), `NAME=VALUE` (exact) or `NAME=VALUE*` (prefix).
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::new(text))
    }
}

impl PathMatch {
    fn new(text: &str) -> Self {
        match text.strip_suffix('*') {
            Some(prefix) => Self::Prefix(prefix.to_owned()),
            None => Self::Exact(text.to_owned()),
        }
    }
}

impl FromStr for PathMatch {
    type Err = Infallible;

    /// `/PATH` (exact) or `/PATH*` (prefix).
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::new(text))
    }
}

/// Whether Envoy can be asked for a header of this name: a lower-case token of RFC 9110, so no pseudo-header either.
fn is_header_name(name: &str) -> bool {
    let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(good)
}

/// 16 random hex digits. The standard library seeds its hashers from the operating system.
fn new_token() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_read_from_short_texts() {
        let header = |text: &str| text.parse::<HeaderMatch>().expect("never fails");
        let made = |name: &str, value| HeaderMatch { name: name.into(), value };
        assert_eq!(header("X-Beta"), made("x-beta", ValueMatch::Present));
        assert_eq!(header("x=a=b"), made("x", ValueMatch::Exact("a=b".into())));
        assert_eq!(header("x=a*"), made("x", ValueMatch::Prefix("a".into())));
        assert_eq!("/a".parse(), Ok(PathMatch::Exact("/a".into())));
        assert_eq!("/a/*".parse(), Ok(PathMatch::Prefix("/a/".into())));
        for text in ["x-beta", "x=a=b", "x=a*"] {
            assert_eq!(header(text).to_string(), text);
        }
        for text in ["/a", "/a/*"] {
            assert_eq!(text.parse::<PathMatch>().map(|path| path.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn mistakes_are_refused_with_their_path() {
        let good = Selection::everything();
        assert_eq!(good.check(), Ok(()));
        assert_ne!(good.token, Selection::everything().token);
        for (bad, path) in [
            (Selection { millionths: 0, ..good.clone() }, "millionths"),
            (Selection { millionths: WHOLE + 1, ..good.clone() }, "millionths"),
            (Selection { expires: Some(0), ..good.clone() }, "expires"),
            (Selection { expires: Some(LATEST + 1), ..good.clone() }, "expires"),
            (Selection { token: "short".into(), ..good.clone() }, "token"),
            (Selection { token: "5f3a9c0\"".into(), ..good.clone() }, "token"),
            (Selection { sticky: Some(":path".into()), ..good.clone() }, "sticky"),
            (Selection { sticky: Some("".into()), ..good.clone() }, "sticky"),
            (Selection { headers: vec!["a\nb=1".parse().expect("never fails")], ..good.clone() }, "headers[0]"),
            (Selection { paths: vec!["a".parse().expect("never fails")], ..good.clone() }, "paths[0]"),
            (Selection { paths: vec!["/a?b".parse().expect("never fails")], ..good.clone() }, "paths[0]"),
        ] {
            assert_eq!(bad.check().expect_err(path).path, path);
        }
    }
}
