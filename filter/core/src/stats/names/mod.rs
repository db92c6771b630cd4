//! The names of all metrics: made by the module, read back by the plugin, by the same code.
//!
//! Envoy's metrics have no labels that a module could set, so a name carries everything:
//!
//! ```text
//! mirror_v1__pairs__default_2fhello__skipped__too_large__n
//! mirror_v1__endpoint__default_2fhello__diverged__GET_20_2fusers_2f_7bid_7d__n
//! mirror_v1__place__default_2fhello__value__diverged___2fitems_2f_2a_2fprice__n
//! mirror_v1__status__default_2fhello__200__503__n
//! mirror_v1__latency__default_2fhello__candidate__57__n
//! ```
//!
//! Only `A-Z a-z 0-9 _` occur, since Prometheus turns anything else into `_`. Fields are joined by `__`. Inside a field
//! letters and digits stand for themselves and any other byte is `_` and two lower-case hex digits, so `__` is always a
//! separator. Words of a fixed set (`too_large`) stand as they are. `_other` stands for whatever had no room for a name
//! of its own; no text is written so, because `o` is no hex digit. Every name ends in `__n`, so that nothing that a
//! client sends can end it in `_rq_200`, which Envoy's tag extraction would cut off.

mod text;
mod words;

use super::Tally;
use crate::divergence::Kind;
use crate::outcome::Outcome;

pub use text::Text;
pub(super) use text::bounded;
pub use words::{Class, Diagnostic, Named, Side, Word};

/// What every name begins with, the version of the format included.
pub const PREFIX: &str = "mirror_v1__";
/// What Envoy puts before a module's metrics everywhere but on its Prometheus page.
pub const ENVOY_PREFIX: &str = "wasmcustom.";

/// How many workers' VMs have a [`Metric::Alive`] of their own; beyond that they share them, and one that lives hides one
/// that died. Those of the module behind the router have the first so many slots, those before it the next so many.
pub const ALIVE_SLOTS: u32 = 256;

const SEPARATOR: &str = "__";
const OTHER: &str = "_other";
const END: &str = "n";

/// One metric. All are counters but [`Metric::Alive`] and [`Metric::Build`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Pairs by what became of them; their sum is the number of pairs.
    Pairs {
        /// The mirror's name.
        mirror: Text,
        /// What became of them.
        outcome: Outcome,
    },
    /// Pairs by endpoint; the sum of one mirror's is its number of pairs.
    Endpoint {
        /// The mirror's name.
        mirror: Text,
        /// The class of their outcome.
        class: Class,
        /// Method and folded path.
        endpoint: Named<Text>,
    },
    /// Pairs in which a place differed.
    Place {
        /// The mirror's name.
        mirror: Text,
        /// How it differed.
        kind: Kind,
        /// What the difference was counted as.
        tally: Tally,
        /// The place's text.
        place: Named<Text>,
    },
    /// Pairs of which both sides answered, by their status codes.
    Status {
        /// The mirror's name.
        mirror: Text,
        /// The primary's and the candidate's status.
        statuses: Named<(u16, u16)>,
    },
    /// Answers by the time they took.
    Latency {
        /// The mirror's name.
        mirror: Text,
        /// Whose answers.
        side: Side,
        /// The bucket, as [`super::histogram`] numbers them.
        bucket: u16,
    },
    /// Pairs whose secondary was compared too.
    Triples {
        /// The mirror's name.
        mirror: Text,
    },
    /// Events that belong to no pair.
    Diagnostic {
        /// What happened.
        what: Diagnostic,
        /// The mirror's name, where it is known.
        mirror: Option<Text>,
    },
    /// A gauge: when a worker's VM last ticked, in seconds since the epoch.
    Alive {
        /// Which worker's VM.
        slot: u32,
    },
    /// A gauge that is 1: the module's version.
    Build {
        /// The version.
        version: Text,
    },
}

impl Metric {
    /// The mirror that it is of; `None` for what concerns a whole worker.
    pub fn mirror(&self) -> Option<&Text> {
        match self {
            Self::Pairs { mirror, .. }
            | Self::Endpoint { mirror, .. }
            | Self::Place { mirror, .. }
            | Self::Status { mirror, .. }
            | Self::Latency { mirror, .. }
            | Self::Triples { mirror } => Some(mirror),
            Self::Diagnostic { mirror, .. } => mirror.as_ref(),
            Self::Alive { .. } | Self::Build { .. } => None,
        }
    }

    /// The metric's name, without [`ENVOY_PREFIX`].
    pub fn encode(&self) -> String {
        let mut name = Name(String::from(PREFIX));
        match self {
            Self::Pairs { mirror, outcome } => {
                name.word("pairs").text(mirror).word(outcome.class());
                if let Some(reason) = outcome.reason() {
                    name.word(reason);
                }
            }
            Self::Endpoint { mirror, class, endpoint } => {
                name.word("endpoint").text(mirror).word(class.word()).named(endpoint, |name, text| name.text(text));
            }
            Self::Place { mirror, kind, tally, place } => {
                name.word("place").text(mirror).word(kind.as_str()).word(tally.word());
                name.named(place, |name, text| name.text(text));
            }
            Self::Status { mirror, statuses } => {
                name.word("status").text(mirror);
                name.named(statuses, |name, (primary, shadow)| name.number(*primary).number(*shadow));
            }
            Self::Latency { mirror, side, bucket } => {
                name.word("latency").text(mirror).word(side.word()).number(*bucket);
            }
            Self::Triples { mirror } => {
                name.word("triples").text(mirror);
            }
            Self::Diagnostic { what, mirror } => {
                name.word("diagnostic").word(what.word());
                if let Some(mirror) = mirror {
                    name.text(mirror);
                }
            }
            Self::Alive { slot } => {
                name.word("alive").number(*slot);
            }
            Self::Build { version } => {
                name.word("build").text(version);
            }
        }
        name.0.push_str(END);
        name.0
    }

    /// The metric that a name stands for, with [`ENVOY_PREFIX`] or without. `None` for anything that
    /// [`Metric::encode`] does not write.
    pub fn decode(name: &str) -> Option<Self> {
        let name = name.strip_prefix(ENVOY_PREFIX).unwrap_or(name);
        let mut fields = Fields { rest: name.strip_prefix(PREFIX)? };
        let metric = match fields.raw()? {
            "pairs" => {
                let mirror = fields.text()?;
                let class = fields.raw()?;
                let reason = if fields.is_at_end() { None } else { Some(fields.raw()?) };
                Self::Pairs { mirror, outcome: Outcome::from_words(class, reason)? }
            }
            "endpoint" => {
                let (mirror, class) = (fields.text()?, fields.word()?);
                Self::Endpoint { mirror, class, endpoint: fields.named(Fields::text)? }
            }
            "place" => {
                let (mirror, kind, tally) = (fields.text()?, Kind::from_word(fields.raw()?)?, fields.word()?);
                Self::Place { mirror, kind, tally, place: fields.named(Fields::text)? }
            }
            "status" => {
                let mirror = fields.text()?;
                let statuses = fields.named(|fields| Some((fields.number()?, fields.number()?)))?;
                Self::Status { mirror, statuses }
            }
            "latency" => Self::Latency { mirror: fields.text()?, side: fields.word()?, bucket: fields.number()? },
            "triples" => Self::Triples { mirror: fields.text()? },
            "diagnostic" => {
                let what = fields.word()?;
                let mirror = if fields.is_at_end() { None } else { Some(fields.text()?) };
                Self::Diagnostic { what, mirror }
            }
            "alive" => Self::Alive { slot: fields.number()? },
            "build" => Self::Build { version: fields.text()? },
            _ => return None,
        };
        fields.is_at_end().then_some(metric)
    }
}

/// A name being written; each field ends with a separator.
struct Name(String);

impl Name {
    fn word(&mut self, word: &str) -> &mut Self {
        self.0.push_str(word);
        self.0.push_str(SEPARATOR);
        self
    }

    fn text(&mut self, text: &Text) -> &mut Self {
        for byte in text.as_str().bytes() {
            if byte.is_ascii_alphanumeric() {
                self.0.push(char::from(byte));
            } else {
                self.0.push('_');
                self.0.extend([byte >> 4, byte & 0xf].map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0')));
            }
        }
        self.word("")
    }

    fn number(&mut self, number: impl ToString) -> &mut Self {
        self.word(&number.to_string())
    }

    fn named<T>(&mut self, key: &Named<T>, write: impl for<'n> FnOnce(&'n mut Self, &T) -> &'n mut Self) {
        match key {
            Named::One(key) => write(self, key),
            Named::Other => self.word(OTHER),
        };
    }
}

/// The fields of a name being read.
struct Fields<'a> {
    rest: &'a str,
}

impl<'a> Fields<'a> {
    fn is_at_end(&self) -> bool {
        self.rest == END
    }

    /// The next field as it is written. An escape after a separator (`___2f`) begins the field behind it, because a
    /// field never ends in `_`.
    fn raw(&mut self) -> Option<&'a str> {
        let (field, rest) = self.rest.split_once(SEPARATOR)?;
        self.rest = rest;
        Some(field)
    }

    fn word<W: Word>(&mut self) -> Option<W> {
        W::from_word(self.raw()?)
    }

    fn number<N: std::str::FromStr + ToString>(&mut self) -> Option<N> {
        let field = self.raw()?;
        let number: N = field.parse().ok()?;
        (number.to_string() == field).then_some(number)
    }

    fn text(&mut self) -> Option<Text> {
        let mut bytes = Vec::new();
        let mut field = self.raw()?.bytes();
        while let Some(byte) = field.next() {
            bytes.push(match byte {
                b'_' => escaped(field.next()?, field.next()?)?,
                byte if byte.is_ascii_alphanumeric() => byte,
                _ => return None,
            });
        }
        let text = Text::new(std::str::from_utf8(&bytes).ok()?);
        // A longer one than a text may be was not written here.
        (text.as_str().as_bytes() == bytes).then_some(text)
    }

    fn named<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Named<T>> {
        let before = self.rest;
        if self.raw()? == OTHER {
            return Some(Named::Other);
        }
        self.rest = before;
        read(self).map(Named::One)
    }
}

/// The byte that two hex digits stand for, where they are how this byte is written.
fn escaped(high: u8, low: u8) -> Option<u8> {
    let digit = |c: u8| match c {
        b'0'..=b'9' => Some(c.wrapping_sub(b'0')),
        b'a'..=b'f' => Some(c.wrapping_sub(b'a').wrapping_add(10)),
        _ => None,
    };
    let byte = digit(high)? << 4 | digit(low)?;
    (!byte.is_ascii_alphanumeric()).then_some(byte)
}

#[cfg(test)]
pub(crate) mod tests;
