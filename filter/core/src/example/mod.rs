//! Examples of divergences: one JSON line each, redacted, few a minute.
//!
//! What a line says is what is needed to look into a difference, and nothing that the request kept secret.
//! The plugin reads lines back with [`Line::parse`].

mod line;
mod secrets;
mod time;

use std::borrow::Cow;
use std::hash::BuildHasher;

use crate::divergence::Divergence;
use crate::headers::HeaderBlock;
use crate::place::Place;
use secrets::Secrets;

pub use line::{Line, PREFIX, VERSION};

/// One difference and the pair it was found in.
#[derive(Clone, Copy, Debug)]
pub struct Example<'a> {
    /// The mirror's name.
    pub mirror: &'a str,
    /// The pair's id, which a client may have chosen.
    pub pair: &'a str,
    /// The request's endpoint, as [`crate::stats::endpoint::endpoint`] makes it: never the path itself.
    pub endpoint: &'a str,
    /// Status of primary and candidate, where both answered.
    pub statuses: Option<(u16, u16)>,
    /// Time from request to the response's end, in nanoseconds, of primary and candidate, where both are known.
    pub latencies_ns: Option<(u64, u64)>,
    /// What differs.
    pub divergence: &'a Divergence,
    /// The request's headers: what they keep secret is not shown.
    pub request: &'a HeaderBlock,
}

/// Writes examples as far as the rate allows.
///
/// Half of a burst is kept for places that were not shown yet, so that a place that differs in every pair does not hide
/// one that differs now and then.
#[derive(Debug)]
pub struct Writer {
    per_minute: u32,
    /// What may be spent, in sixty-billionths of an example: each nanosecond adds `per_minute`.
    credit: u64,
    /// When `credit` was brought up to date.
    at: u64,
    /// Hashes of what was shown, sorted.
    shown: Vec<u64>,
    dropped: u64,
}

/// What an example costs.
const COST: u64 = 60_000_000_000;
/// The most examples at once.
const BURST: u32 = 32;
/// How many places and kinds are remembered as shown; beyond that, memory starts anew.
const SHOWN_MOST: usize = 512;
/// The most bytes of a pair's id, and of a place or an endpoint.
const PAIR_BYTES: usize = 64;
const TEXT_BYTES: usize = 256;

impl Writer {
    /// Allows `per_minute` examples, spread evenly but for a burst of 32 at most; 0 for none.
    pub fn new(per_minute: u32) -> Self {
        let mut writer = Self { per_minute, credit: 0, at: 0, shown: Vec::new(), dropped: 0 };
        writer.credit = writer.most_credit();
        writer
    }

    /// Changes the rate from now on.
    pub fn set_rate(&mut self, per_minute: u32) {
        self.per_minute = per_minute;
        self.credit = self.credit.min(self.most_credit());
    }

    /// The line for the log, if the rate allows it. `now` is in nanoseconds since the epoch.
    pub fn write(&mut self, now: u64, example: &Example<'_>) -> Option<String> {
        if self.per_minute == 0 {
            return None;
        }
        if !self.admit(now, example) {
            self.dropped = self.dropped.saturating_add(1);
            return None;
        }
        Some(render(now, example).to_log())
    }

    /// How many examples the rate held back since this was asked last. A rate of 0 holds nothing back: none are wanted.
    pub fn dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    /// Pays for an example, if there is enough for one of its sort.
    fn admit(&mut self, now: u64, example: &Example<'_>) -> bool {
        let earned = now.saturating_sub(self.at).saturating_mul(self.per_minute.into());
        self.credit = self.credit.saturating_add(earned).min(self.most_credit());
        self.at = now;
        let Some(left) = self.credit.checked_sub(COST) else {
            return false;
        };
        let difference = example.divergence;
        let key = (example.mirror, difference.place.as_str(), difference.kind);
        let hash = foldhash::fast::FixedState::default().hash_one(key);
        match self.shown.binary_search(&hash) {
            Ok(_) if left < self.kept_for_new() => return false,
            Ok(_) => {}
            Err(at) => self.remember(at, hash),
        }
        self.credit = left;
        true
    }

    fn remember(&mut self, at: usize, hash: u64) {
        if self.shown.len() < SHOWN_MOST {
            self.shown.insert(at, hash);
        } else {
            self.shown.clear();
            self.shown.push(hash);
        }
    }

    fn kept_for_new(&self) -> u64 {
        u64::from(self.per_minute.min(BURST) / 2).saturating_mul(COST)
    }

    fn most_credit(&self) -> u64 {
        u64::from(self.per_minute.min(BURST)).saturating_mul(COST)
    }
}

fn render(now: u64, example: &Example<'_>) -> Line {
    let secrets = Secrets::of(example.request);
    let Divergence { place, kind, primary, shadow } = example.divergence;
    let micros = |ns: u64| ns / 1000;
    Line {
        v: VERSION,
        time: time::rfc3339(now),
        mirror: example.mirror.to_owned(),
        pair: secrets.hide(&cut(example.pair, PAIR_BYTES)),
        endpoint: secrets.hide(&cut(example.endpoint, TEXT_BYTES)),
        place: Place::from(secrets.hide(&cut(place.as_str(), TEXT_BYTES))),
        kind: *kind,
        primary: primary.as_deref().map(|text| secrets.hide(text)),
        candidate: shadow.as_deref().map(|text| secrets.hide(text)),
        statuses: example.statuses,
        latencies_us: example.latencies_ns.map(|(primary, candidate)| (micros(primary), micros(candidate))),
    }
}

/// At most `most` bytes of a text, with `…` where it is cut.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let head = text.get(..text.floor_char_boundary(most)).unwrap_or_default();
    Cow::Owned(format!("{head}…"))
}

#[cfg(test)]
mod tests;
