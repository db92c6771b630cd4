//! What became of a pair: exactly one outcome each, so that pairs = the sum of all outcomes.

use std::fmt;

/// What became of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// No place differs.
    Match,
    /// At least one place differs that the noise does not explain.
    Diverged,
    /// Places differ, all of them where the primary's own version differs from itself too.
    Noise,
    /// A side never gave a whole answer.
    Incomplete(Incomplete),
    /// Both answered but they were not compared (or not wholly, and what was compared did not differ).
    Skipped(Skip),
}

/// Which side gave no whole answer, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Incomplete {
    /// The shadow never came: its cluster does not exist or has no endpoint.
    ShadowAbsent,
    /// The shadow ended before any response: it could not connect, was reset or timed out.
    ShadowFailed,
    /// The shadow's response was cut short.
    ShadowCut,
    /// The shadow was still going when the pair's time to live ran out.
    ShadowSlow,
    /// The primary ended before any response.
    PrimaryFailed,
    /// The primary's response was cut short, by the server or by the client.
    PrimaryCut,
    /// The primary was still going when the pair's time to live ran out.
    PrimarySlow,
    /// The request never came whole, so that it could not be copied: the primary answered before its end. Only where the
    /// module sends the copies itself.
    RequestCut,
}

/// Why a pair was not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Skip {
    /// A body is larger than the mirror's `body_bytes`, or decodes to more than `decoded_bytes`. A request's body counts
    /// only where the module sends the copies itself.
    TooLarge,
    /// A body's content encoding is unknown, broken, or expands beyond the cap on the ratio.
    Undecodable,
    /// Server-sent events: an endless stream has no end to compare.
    Streaming,
    /// The primary itself was served by the candidate.
    SameRevision,
    /// The pair table's budget in entries or bytes was used up, or that of the copies under way.
    Overload,
    /// Two live requests carried the same id and nothing else told them apart.
    DuplicateId,
    /// A JSON body is nested more deeply than the reader goes.
    TooDeep,
    /// Comparing would have taken more work than a worker may spend.
    TooComplex,
}

impl Incomplete {
    /// All reasons, in the order in which reports list them.
    pub const ALL: [Self; 8] = [
        Self::ShadowAbsent,
        Self::ShadowFailed,
        Self::ShadowCut,
        Self::ShadowSlow,
        Self::PrimaryFailed,
        Self::PrimaryCut,
        Self::PrimarySlow,
        Self::RequestCut,
    ];

    /// The word that metric names, JSON and tables use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ShadowAbsent => "shadow_absent",
            Self::ShadowFailed => "shadow_failed",
            Self::ShadowCut => "shadow_cut",
            Self::ShadowSlow => "shadow_slow",
            Self::PrimaryFailed => "primary_failed",
            Self::PrimaryCut => "primary_cut",
            Self::PrimarySlow => "primary_slow",
            Self::RequestCut => "request_cut",
        }
    }
}

impl Skip {
    /// All reasons, in the order in which reports list them.
    pub const ALL: [Self; 8] = [
        Self::TooLarge,
        Self::Undecodable,
        Self::Streaming,
        Self::SameRevision,
        Self::Overload,
        Self::DuplicateId,
        Self::TooDeep,
        Self::TooComplex,
    ];

    /// The word that metric names, JSON and tables use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::Undecodable => "undecodable",
            Self::Streaming => "streaming",
            Self::SameRevision => "same_revision",
            Self::Overload => "overload",
            Self::DuplicateId => "duplicate_id",
            Self::TooDeep => "too_deep",
            Self::TooComplex => "too_complex",
        }
    }
}

impl Outcome {
    /// All outcomes, in the order in which reports list them.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::Match, Self::Diverged, Self::Noise]
            .into_iter()
            .chain(Incomplete::ALL.into_iter().map(Self::Incomplete))
            .chain(Skip::ALL.into_iter().map(Self::Skipped))
    }

    /// The class: `match`, `diverged`, `noise`, `incomplete` or `skipped`.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::Diverged => "diverged",
            Self::Noise => "noise",
            Self::Incomplete(_) => "incomplete",
            Self::Skipped(_) => "skipped",
        }
    }

    /// The reason, where the class has reasons.
    pub const fn reason(self) -> Option<&'static str> {
        match self {
            Self::Match | Self::Diverged | Self::Noise => None,
            Self::Incomplete(reason) => Some(reason.as_str()),
            Self::Skipped(reason) => Some(reason.as_str()),
        }
    }

    /// The outcome that a class and a reason name.
    pub fn from_words(class: &str, reason: Option<&str>) -> Option<Self> {
        Self::all().find(|outcome| outcome.class() == class && outcome.reason() == reason)
    }
}

impl fmt::Display for Outcome {
    /// `match`, or `skipped (too_large)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason() {
            None => f.write_str(self.class()),
            Some(reason) => write!(f, "{} ({reason})", self.class()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_outcomes() {
        let mut seen = std::collections::HashSet::new();
        for outcome in Outcome::all() {
            assert!(seen.insert(outcome.to_string()), "{outcome} twice");
            assert_eq!(Outcome::from_words(outcome.class(), outcome.reason()), Some(outcome));
        }
        assert_eq!(seen.len(), 19);
        assert_eq!(Outcome::from_words("match", Some("too_large")), None);
    }
}
