//! Noise: places that differ by themselves, told by a second copy that went to the primary's own version.
//!
//! *By pair*: what differs between primary and secondary in this very pair explains the same place's difference between
//! primary and candidate. A place below one that is missing, added or of another type there is explained as well: who
//! lacks `/a` lacks `/a/b`. The reverse does not hold, nor does an array's order explain its elements.
//!
//! *By statistics*: a place that often differs between primary and secondary is noise in the pairs too where, by chance,
//! it did not (a random flag agrees half the time), unless it differs clearly more often with the candidate. See
//! [`is_noise`].

use std::collections::BTreeMap;

use crate::divergence::{Divergence, Kind};
use crate::place::Place;

/// Triples (primary, candidate and secondary, all compared) that must have been seen before statistics say anything.
pub const LEAST_TRIPLES: u64 = 20;
/// How often a place must have differed between primary and secondary to be called noisy at all.
pub const LEAST_SECONDARY: u64 = 3;
/// After this many triples all counts are halved, so that a place that has long been noisy does not hide for ever that the
/// candidate has begun to differ in it.
const AGE: u64 = 4096;

/// Whether a place's differences are noise by statistics, after `triples` of which it differed in `candidate` between
/// primary and candidate, and in `secondary` between primary and secondary.
///
/// The two are paired samples: each triple yields one of both. McNemar's test fits such samples; it asks whether the
/// triples in which only the candidate differs (b) are more than those in which only the secondary does (d), with
/// `z = (b − d) / √(b + d)`. Only the totals are known here, and they suffice: b − d = candidate − secondary, and
/// b + d ≤ candidate + secondary, so `(c − s) / √(c + s)` never claims more than the exact z would. A place is *not*
/// noise where that exceeds √7 ≈ 2.65 (p < 0.4 %, one-sided) and the candidate differs by more than a fifth of the sum
/// more often, opendiffy's threshold: with enough samples every tiny difference becomes significant. There is no
/// threshold on the share of all triples, as opendiffy has: a rare difference that is really there is not to be lost.
pub fn is_noise(triples: u64, candidate: u64, secondary: u64) -> bool {
    if triples < LEAST_TRIPLES || secondary < LEAST_SECONDARY {
        return false;
    }
    let more = u128::from(candidate.saturating_sub(secondary));
    let sum = u128::from(candidate).saturating_add(u128::from(secondary));
    let significant = more.saturating_mul(more) > sum.saturating_mul(7);
    let relevant = more.saturating_mul(5) > sum;
    !(significant && relevant)
}

/// Whether what differs between primary and secondary explains a difference at `place` in the same pair.
pub(crate) fn explains(secondary: &[Divergence], place: &Place) -> bool {
    secondary.iter().any(|noise| {
        noise.place == *place
            || (matches!(noise.kind, Kind::Missing | Kind::Added | Kind::Type) && is_above(&noise.place, place))
    })
}

fn is_above(upper: &Place, lower: &Place) -> bool {
    let lower = lower.as_str();
    match upper.as_str() {
        "body" => lower.starts_with('/'),
        pointer if pointer.starts_with('/') => lower.strip_prefix(pointer).is_some_and(|rest| rest.starts_with('/')),
        _ => false,
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    candidate: u64,
    secondary: u64,
}

/// Running counts of one mirror's places.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    triples: u64,
    places: BTreeMap<Place, Counts>,
}

impl Tracker {
    /// Counts one triple. At most `most` places are tracked; ones that come later go untracked until others fade.
    pub(crate) fn record(&mut self, candidate: &[Divergence], secondary: &[Divergence], most: usize) {
        self.triples = self.triples.saturating_add(1);
        self.count(candidate, most, |counts| &mut counts.candidate);
        self.count(secondary, most, |counts| &mut counts.secondary);
        if self.triples >= AGE {
            self.fade();
        }
    }

    fn count(&mut self, divergences: &[Divergence], most: usize, which: fn(&mut Counts) -> &mut u64) {
        for (i, divergence) in divergences.iter().enumerate() {
            // A place may differ in two kinds; it counts once. There are few of them: see `Sink::MOST`.
            if divergences.iter().take(i).any(|earlier| earlier.place == divergence.place) {
                continue;
            }
            let full = self.places.len() >= most;
            let counts = match self.places.get_mut(&divergence.place) {
                Some(counts) => counts,
                None if full => continue,
                None => self.places.entry(divergence.place.clone()).or_default(),
            };
            let count = which(counts);
            *count = count.saturating_add(1);
        }
    }

    fn fade(&mut self) {
        self.triples /= 2;
        self.places.retain(|_, counts| {
            counts.candidate /= 2;
            counts.secondary /= 2;
            counts.candidate > 0 || counts.secondary > 0
        });
    }

    /// Whether statistics call `place` noise.
    pub(crate) fn is_noise(&self, place: &Place) -> bool {
        self.places.get(place).is_some_and(|counts| is_noise(self.triples, counts.candidate, counts.secondary))
    }
}
