//! Reads a configuration's JSON, straight from the text and by the engine's own lexer. Derived code would cost the module
//! twice as much, and could not say where a mistake is.

use crate::compare::json::{lex, number, string};

use super::ConfigError;

/// A value of the configuration: its text, and the path to it.
pub(super) struct Value<'t> {
    /// `rules.tolerance[0].path`; empty for the document itself.
    path: String,
    text: &'t [u8],
}

impl<'t> Value<'t> {
    /// The whole document, all of which is checked to be JSON here.
    ///
    /// # Errors
    /// Text that is not JSON, or that goes on behind the JSON.
    pub(super) fn document(text: &'t [u8]) -> Result<Self, ConfigError> {
        let mut document = Value { path: String::new(), text };
        let start = lex::space(text, 0);
        let Ok(end) = lex::value(text, start, 0) else {
            return Err(document.refuse("is not JSON, or only the beginning of one (EOF)"));
        };
        if lex::space(text, end) != text.len() {
            return Err(document.refuse("trailing characters behind the JSON"));
        }
        document.text = text.get(start..end).unwrap_or_default();
        Ok(document)
    }

    /// The members of an object.
    pub(super) fn fields(self) -> Result<Fields<'t>, ConfigError> {
        let members = self.parts(b'{', "an object")?;
        Ok(Fields { path: self.path, members })
    }

    /// The members of an object whose names are not known beforehand.
    pub(super) fn entries(self) -> Result<Vec<(String, Self)>, ConfigError> {
        let fields = self.fields()?;
        let read = |(key, text): &Part<'t>| {
            let name = String::from_utf8_lossy(&string::unescape(key)).into_owned();
            let value = Value { path: fields.path_of(&name), text };
            (name, value)
        };
        Ok(fields.members.iter().map(read).collect())
    }

    /// The value as it is written.
    pub(super) fn text(&self) -> &'t [u8] {
        self.text
    }

    /// The elements of an array, each as `read` has it.
    pub(super) fn list<T>(self, read: fn(Self) -> Result<T, ConfigError>) -> Result<Vec<T>, ConfigError> {
        let mut list = Vec::new();
        for (_, text) in self.parts(b'[', "a list")? {
            list.push(read(Value { path: format!("{}[{}]", self.path, list.len()), text })?);
        }
        Ok(list)
    }

    /// A string.
    pub(super) fn string(self) -> Result<String, ConfigError> {
        if !self.text.starts_with(b"\"") {
            return Err(self.invalid("a string"));
        }
        String::from_utf8(string::unescape(self.text)).map_err(|_| self.invalid("a string in UTF-8"))
    }

    /// A string in the syntax of `T`.
    pub(super) fn parsed<T: TryFrom<String, Error: ToString>>(self) -> Result<T, ConfigError> {
        let path = self.path.clone();
        T::try_from(self.string()?).map_err(|error| ConfigError::new(path, error.to_string()))
    }

    /// An integer that `T` can hold.
    pub(super) fn integer<T: TryFrom<u64>>(self) -> Result<T, ConfigError> {
        let digits = std::str::from_utf8(self.text).ok();
        let integer = digits.and_then(|digits| digits.parse().ok()).and_then(|integer: u64| integer.try_into().ok());
        integer.ok_or_else(|| self.invalid("an integer that is not negative"))
    }

    /// A number.
    pub(super) fn number(self) -> Result<f64, ConfigError> {
        match self.text {
            [b'-' | b'0'..=b'9', ..] => Ok(number::nearest(self.text)),
            _ => Err(self.invalid("a number")),
        }
    }

    /// `true` or `false`.
    pub(super) fn truth(self) -> Result<bool, ConfigError> {
        match self.text {
            b"true" => Ok(true),
            b"false" => Ok(false),
            _ => Err(self.invalid("true or false")),
        }
    }

    /// What is said where this value is of no use.
    pub(super) fn invalid(&self, expected: &str) -> ConfigError {
        self.refuse(&format!("invalid value: expected {expected}"))
    }

    fn refuse(&self, reason: &str) -> ConfigError {
        refuse(&self.path, reason)
    }

    /// What stands in an object or array, which `open` tells.
    fn parts(&self, open: u8, expected: &str) -> Result<Vec<Part<'t>>, ConfigError> {
        if lex::byte(self.text, 0) != open {
            return Err(self.invalid(expected));
        }
        // The whole document is JSON, so that this part of it cannot fail.
        parts(self.text, open == b'{').map_err(|_| self.invalid(expected))
    }
}

/// Key and value as they are written; an array's elements have no key.
type Part<'t> = (&'t [u8], &'t [u8]);

fn parts(text: &[u8], keys: bool) -> Result<Vec<Part<'_>>, lex::Fault> {
    let span = |start, end| text.get(start..end).unwrap_or_default();
    let mut parts = Vec::new();
    let mut at = 0;
    loop {
        // Behind the opening bracket, or behind a comma.
        at = lex::space(text, lex::after(at));
        if matches!(lex::byte(text, at), b'}' | b']' | 0) {
            return Ok(parts);
        }
        let mut key: &[u8] = &[];
        if keys {
            let end = lex::string(text, at)?.0;
            key = span(at, end);
            at = lex::colon(text, end)?;
        }
        let end = lex::value(text, at, 0)?;
        parts.push((key, span(at, end)));
        at = lex::space(text, end);
    }
}

/// An object's fields, taken one by one. What nobody took in the end is unknown.
pub(super) struct Fields<'t> {
    path: String,
    members: Vec<Part<'t>>,
}

impl<'t> Fields<'t> {
    /// Takes a field that may be absent; `null` is as good as absent.
    pub(super) fn take(&mut self, name: &str) -> Option<Value<'t>> {
        let place = self.members.iter().position(|(key, _)| string::says(key, name.as_bytes()))?;
        let (_, text) = self.members.remove(place);
        (text != b"null").then(|| Value { path: self.path_of(name), text })
    }

    /// Takes a field that must be there.
    pub(super) fn need(&mut self, name: &str) -> Result<Value<'t>, ConfigError> {
        self.take(name).ok_or_else(|| refuse(&self.path, &format!("missing field `{name}`")))
    }

    /// Takes a field that may be absent, as `read` has it.
    pub(super) fn optional<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(Value<'t>) -> Result<T, ConfigError>,
    ) -> Result<Option<T>, ConfigError> {
        self.take(name).map(read).transpose()
    }

    /// Makes sure that every field was taken, and each once.
    pub(super) fn finish(self) -> Result<(), ConfigError> {
        let Some((key, _)) = self.members.first() else { return Ok(()) };
        let name = String::from_utf8_lossy(&string::unescape(key)).into_owned();
        Err(refuse(&self.path_of(&name), &format!("unknown field `{name}`, or one that is there twice")))
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

fn refuse(path: &str, reason: &str) -> ConfigError {
    ConfigError::new(if path.is_empty() { "." } else { path }, reason)
}
