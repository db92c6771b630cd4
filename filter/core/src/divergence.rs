//! One place where two answers differ, and how.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::place::Place;

/// How a place differs, seen from the primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The primary has it, the shadow does not.
    Missing,
    /// The shadow has it, the primary does not.
    Added,
    /// Both have it, with values of different types (a string and a number, JSON and text).
    Type,
    /// Both have it, with different values of one type.
    Value,
    /// An array holds the same elements in another order.
    Order,
}

impl Kind {
    /// All kinds, in the order in which reports list them.
    pub const ALL: [Self; 5] = [Self::Missing, Self::Added, Self::Type, Self::Value, Self::Order];

    /// The word that metric names, JSON and tables use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Added => "added",
            Self::Type => "type",
            Self::Value => "value",
            Self::Order => "order",
        }
    }

    /// Whether it is about what is there rather than about what it says.
    pub const fn is_of_shape(self) -> bool {
        matches!(self, Self::Missing | Self::Added | Self::Type)
    }

    /// The kind that `word` names.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One difference. Values are texts ready to be shown: cut to [`SHOWN_BYTES`] and redacted where a rule or their
/// nature demands it; `None` where that side has nothing there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Where.
    pub place: Place,
    /// How.
    pub kind: Kind,
    /// What the primary has there.
    pub primary: Option<String>,
    /// What the shadow has there.
    pub shadow: Option<String>,
}

/// The most that is kept of a value, in bytes of UTF-8; a cut value ends in `…`.
pub const SHOWN_BYTES: usize = 120;

/// What stands for a value that must not be shown.
pub const REDACTED: &str = "[redacted]";

/// Makes `bytes` fit to be shown: at most [`SHOWN_BYTES`] of them, invalid UTF-8 as U+FFFD, `…` where cut.
pub fn shown(bytes: &[u8]) -> String {
    let Some(head) = bytes.get(..SHOWN_BYTES) else {
        return String::from_utf8_lossy(bytes).into_owned();
    };
    if bytes.len() == SHOWN_BYTES {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    // Do not let the cut itself make an invalid character out of a valid one.
    let valid = match std::str::from_utf8(head) {
        Err(error) if error.error_len().is_none() => head.get(..error.valid_up_to()).unwrap_or(head),
        _ => head,
    };
    let mut text = String::from_utf8_lossy(valid).into_owned();
    text.push('…');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_kinds() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_word(kind.as_str()), Some(kind));
        }
        assert_eq!(Kind::from_word("other"), None);
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        let long = "ä".repeat(SHOWN_BYTES);
        assert_eq!(shown(long.as_bytes()), format!("{}…", "ä".repeat(SHOWN_BYTES / 2)));
        let odd = format!("x{long}");
        assert_eq!(shown(odd.as_bytes()), format!("x{}…", "ä".repeat(SHOWN_BYTES / 2 - 1)));
        assert_eq!(shown(&[b'a'; SHOWN_BYTES]), "a".repeat(SHOWN_BYTES));
        assert_eq!(shown(b"a\xff"), "a\u{fffd}");
    }
}
