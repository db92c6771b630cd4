//! The words of a fixed set that names have as fields.

use crate::outcome::Outcome;
use crate::stats::Tally;

/// A key that may have had no room for a name of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Named<T> {
    /// This one.
    One(T),
    /// All that came after the cap was reached.
    Other,
}

impl<T> Named<T> {
    /// Changes what is named.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Named<U> {
        match self {
            Self::One(key) => Named::One(change(key)),
            Self::Other => Named::Other,
        }
    }
}

/// One of the two sides that every pair has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The version that users are served by.
    Primary,
    /// The version under test.
    Candidate,
}

/// An outcome without its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the words are explained at `Outcome`")]
pub enum Class {
    Match,
    Diverged,
    Noise,
    Incomplete,
    Skipped,
}

/// What can happen outside of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Diagnostic {
    /// A shadow came whose primary is not known.
    Stray,
    /// A marked request belonged to no mirror that is known.
    Orphan,
    /// A mirror's configuration was refused.
    ConfigRejected,
    /// Examples that the rate limit held back.
    ExamplesDropped,
}

/// A fixed set of values with a word for each, which names, JSON and tables use.
pub trait Word: Copy + 'static {
    /// All values.
    const ALL: &'static [Self];

    /// The value's word.
    fn word(self) -> &'static str;

    /// The value that a word names.
    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.word() == word)
    }
}

impl Word for Side {
    const ALL: &'static [Self] = &[Self::Primary, Self::Candidate];

    fn word(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Candidate => "candidate",
        }
    }
}

impl Word for Class {
    const ALL: &'static [Self] = &[Self::Match, Self::Diverged, Self::Noise, Self::Incomplete, Self::Skipped];

    fn word(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::Diverged => "diverged",
            Self::Noise => "noise",
            Self::Incomplete => "incomplete",
            Self::Skipped => "skipped",
        }
    }
}

impl Word for Diagnostic {
    const ALL: &'static [Self] = &[Self::Stray, Self::Orphan, Self::ConfigRejected, Self::ExamplesDropped];

    fn word(self) -> &'static str {
        match self {
            Self::Stray => "stray",
            Self::Orphan => "orphan",
            Self::ConfigRejected => "config_rejected",
            Self::ExamplesDropped => "examples_dropped",
        }
    }
}

impl Word for Tally {
    const ALL: &'static [Self] = &[Self::Diverged, Self::Noise, Self::Secondary];

    fn word(self) -> &'static str {
        match self {
            Self::Diverged => "diverged",
            Self::Noise => "noise",
            Self::Secondary => "secondary",
        }
    }
}

impl Class {
    /// The class of an outcome.
    pub const fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Match => Self::Match,
            Outcome::Diverged => Self::Diverged,
            Outcome::Noise => Self::Noise,
            Outcome::Incomplete(_) => Self::Incomplete,
            Outcome::Skipped(_) => Self::Skipped,
        }
    }
}
