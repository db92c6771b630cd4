//! Places as the subject of a sentence.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::model::Place;
use crate::report::text::plural;

/// What a place is, in the order in which they are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// A field of a body.
    Field,
    /// A body as a whole.
    Body,
    /// A header.
    Header,
    /// A trailer.
    Trailer,
    /// A cookie.
    Cookie,
    /// The status.
    Status,
}

impl What {
    /// What a place is.
    pub fn of(place: &Place) -> Self {
        match place.place.split_once(':').map_or(place.place.as_str(), |(what, _)| what) {
            "status" => Self::Status,
            "header" => Self::Header,
            "trailer" => Self::Trailer,
            "cookie" => Self::Cookie,
            "body" => Self::Body,
            _ => Self::Field,
        }
    }

    /// In one word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Field => "field",
            Self::Body => "body",
            Self::Header => "header",
            Self::Trailer => "trailer",
            Self::Cookie => "cookie",
            Self::Status => "status",
        }
    }
}

/// Places as the subject of a sentence, and whether it is a plural: `2 fields, 1 header and the status`.
pub fn subject(places: &[&Place]) -> Option<(String, bool)> {
    let mut names: BTreeMap<What, BTreeSet<&str>> = BTreeMap::new();
    for place in places {
        names.entry(What::of(place)).or_default().insert(&place.place);
    }
    let is_plural = names.values().map(BTreeSet::len).sum::<usize>() > 1;
    let parts = names.iter().map(|(what, names)| match what {
        What::Status | What::Body => format!("the {}", what.word()),
        what => plural(names.len() as u64, what.word()),
    });
    let mut parts: Vec<String> = parts.collect();
    let last = parts.pop()?;
    Some((if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) }, is_plural))
}
