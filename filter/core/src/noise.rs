//! Noise: places that differ by themselves, told by a second copy that went to the primary's own version.
//!
//! *By pair*: what differs between primary and secondary in this very pair explains the same place's difference between
//! primary and candidate. A place below one that is missing, added or of another type there is explained as well: who
//! lacks `/a` lacks `/a/b`. The reverse does not hold, nor does an array's order explain its elements.
//!
//! *By statistics*: a place that often differs between primary and secondary is noise in the pairs too where, by chance,
//! it did not (a random flag agrees half the time), unless it differs clearly more often with the candidate. See
//! [`is_noise`].

use crate::divergence::{Divergence, Kind};
use crate::place::Place;
use crate::sorted::Sorted;

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
    places: Sorted<Place, Counts>,
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
            let Some(counts) = self.places.entry(&divergence.place, most, Counts::default) else { continue };
            let count = which(counts);
            *count = count.saturating_add(1);
        }
    }

    fn fade(&mut self) {
        self.triples /= 2;
        self.places.retain(|counts| {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_once_it_differs_clearly_more_often_with_the_candidate() {
        for (triples, candidate, secondary, noise) in [
            (19, 10, 10, false),
            (20, 10, 2, false),
            (20, 10, 3, true),
            (20, 20, 3, false),
            (20, 10, 10, true),
            (1000, 500, 1000, true),
            // A random flag: it differs half the time from either.
            (1000, 540, 500, true),
            // A field that always differs with the candidate, and half the time by itself.
            (20, 20, 10, true),
            (100, 100, 50, false),
            // Significant, but a tenth more at most: not relevant.
            (1_000_000, 110_000, 100_000, true),
            // Rare, and still there.
            (1_000_000, 30, 3, false),
            (u64::MAX, u64::MAX, u64::MAX, true),
            (u64::MAX, u64::MAX, 3, false),
        ] {
            assert_eq!(is_noise(triples, candidate, secondary), noise, "{triples} {candidate} {secondary}");
        }
    }

    fn at(pointer: &str, kind: Kind) -> Divergence {
        Divergence { place: Place::from(pointer.to_owned()), kind, primary: None, shadow: None }
    }

    #[test]
    fn what_lacks_a_place_explains_what_is_below_it() {
        for (noise, kind, place, explained) in [
            ("/a", Kind::Value, "/a", true),
            ("/a", Kind::Missing, "/a/b", true),
            ("/a", Kind::Added, "/a/b/c", true),
            ("/a", Kind::Type, "/a/*", true),
            ("/a", Kind::Missing, "/ab", false),
            ("/a", Kind::Value, "/a/b", false),
            ("/a", Kind::Order, "/a/*", false),
            ("/a/b", Kind::Missing, "/a", false),
            ("body", Kind::Type, "/a", true),
            ("body", Kind::Type, "status", false),
            ("header:a", Kind::Missing, "header:a/b", false),
        ] {
            let place = Place::from(place.to_owned());
            assert_eq!(explains(&[at(noise, kind)], &place), explained, "{noise} {kind} {place}");
        }
    }

    #[test]
    fn places_are_bounded_and_those_that_fell_silent_make_room() {
        let mut tracker = Tracker::default();
        let noisy = Place::from("/a".to_owned());
        tracker.record(&[at("/a", Kind::Value), at("/a", Kind::Type)], &[at("/once", Kind::Value)], 2);
        assert_eq!(tracker.places.get(&noisy).map(|counts| counts.candidate), Some(1), "two kinds, one place");
        for _ in 0..30 {
            tracker.record(&[], &[at("/a", Kind::Value), at("/late", Kind::Value)], 2);
        }
        assert_eq!(tracker.places.len(), 2);
        assert!(tracker.is_noise(&noisy) && !tracker.is_noise(&Place::from("/late".to_owned())));
        for _ in 0..AGE {
            tracker.record(&[], &[], 2);
        }
        assert!(tracker.triples < AGE);
        assert!(tracker.places.get(&Place::from("/once".to_owned())).is_none());
    }
}
