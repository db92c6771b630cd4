//! Texts that names have as fields, bounded.

use std::borrow::Cow;

use crate::config::fingerprint;

/// A text inside a name: at most [`Text::MOST`] bytes; a longer one is cut and ends in `~` and 8 hex digits that tell it
/// from others that begin alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(String);

impl Text {
    /// The most bytes of a text.
    pub const MOST: usize = 160;

    /// Takes a text, cut where it is too long.
    pub fn new(text: &str) -> Self {
        Self(bounded(text).into_owned())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What [`Text`] makes of a text.
pub(in crate::stats) fn bounded(text: &str) -> Cow<'_, str> {
    if text.len() <= Text::MOST {
        return Cow::Borrowed(text);
    }
    let mark = format!("~{}", fingerprint(text.as_bytes()));
    let head = text.get(..text.floor_char_boundary(Text::MOST.saturating_sub(mark.len()))).unwrap_or_default();
    Cow::Owned(format!("{head}{mark}"))
}
