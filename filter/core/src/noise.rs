//! Noise: places that differ by themselves, told by a second copy that went to the primary's own version.
//!
//! *By pair*: what differs between primary and secondary in this very pair explains the same place's difference between
//! primary and candidate. But a time stamp that always says something else does not explain that the candidate has none:
//! what is missing, added or of another type ([`is_of_shape`](crate::divergence::Kind::is_of_shape)) is explained by its like alone. That explains all
//! below it as well: who lacks `/a` lacks `/a/b`. The reverse does not hold, nor does an array's order explain its
//! elements.
//!
//! *By statistics*: a place that often differs between primary and secondary is noise in the pairs too where, by chance,
//! it did not (a random flag agrees half the time), unless it differs clearly more often with the candidate. See
//! [`is_noise`].

use crate::divergence::Divergence;
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

/// Whether what differs between primary and secondary explains what the candidate differs in, in the same pair.
pub(crate) fn explains(secondary: &[Divergence], found: &Divergence) -> bool {
    secondary.iter().any(|noise| {
        let same = noise.place == found.place && (noise.kind.is_of_shape() || !found.kind.is_of_shape());
        same || (noise.kind.is_of_shape() && is_above(&noise.place, &found.place))
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

/// In how many triples a place differed.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    candidate: u64,
    secondary: u64,
}

/// One place's counts, apart for differences of shape and for all others.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    shape: Counts,
    content: Counts,
}

/// Running counts of one mirror's places.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    triples: u64,
    places: Sorted<Place, Counted>,
}

impl Tracker {
    /// Counts one triple. At most `most` places are tracked; ones that come later go untracked until others fade.
    pub(crate) fn record(&mut self, candidate: &[Divergence], secondary: &[Divergence], most: usize) {
        self.triples = self.triples.saturating_add(1);
        self.count(candidate, most, |counted, shape, content| {
            increase(&mut counted.shape.candidate, shape);
            increase(&mut counted.content.candidate, content);
        });
        self.count(secondary, most, |counted, shape, content| {
            increase(&mut counted.shape.secondary, shape);
            increase(&mut counted.content.secondary, shape || content);
        });
        if self.triples >= AGE {
            self.fade();
        }
    }

    /// Calls `add` once for each place, with whether it differs in shape and whether it differs otherwise.
    fn count(&mut self, divergences: &[Divergence], most: usize, add: impl Fn(&mut Counted, bool, bool)) {
        for (i, divergence) in divergences.iter().enumerate() {
            let here = |other: &&Divergence| other.place == divergence.place;
            // There are few of them: see `Sink::MOST`.
            if divergences.iter().take(i).any(|earlier| here(&earlier)) {
                continue;
            }
            let Some(counted) = self.places.entry(&divergence.place, most, Counted::default) else { continue };
            let shape = divergences.iter().filter(here).any(|found| found.kind.is_of_shape());
            let content = divergences.iter().filter(here).any(|found| !found.kind.is_of_shape());
            add(counted, shape, content);
        }
    }

    fn fade(&mut self) {
        self.triples /= 2;
        self.places.retain(|Counted { shape, content }| {
            let counts = [&mut shape.candidate, &mut shape.secondary, &mut content.candidate, &mut content.secondary];
            counts.into_iter().fold(false, |any, count| {
                *count /= 2;
                any || *count > 0
            })
        });
    }

    /// Whether statistics call a difference noise.
    pub(crate) fn is_noise(&self, found: &Divergence) -> bool {
        self.places.get(&found.place).is_some_and(|counted| {
            let counts = if found.kind.is_of_shape() { counted.shape } else { counted.content };
            is_noise(self.triples, counts.candidate, counts.secondary)
        })
    }
}

fn increase(count: &mut u64, by_one: bool) {
    *count = count.saturating_add(by_one.into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::divergence::Kind;

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
            ("/a", Kind::Missing, "/a", true),
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
            assert_eq!(explains(&[at(noise, kind)], &at(place, Kind::Value)), explained, "{noise} {kind} {place}");
        }
    }

    #[test]
    fn what_the_candidate_lacks_is_not_explained_by_what_says_something_else_each_time() {
        for lost in [Kind::Missing, Kind::Added, Kind::Type] {
            assert!(!explains(&[at("/at", Kind::Value)], &at("/at", lost)), "{lost}");
            assert!(explains(&[at("/at", Kind::Missing)], &at("/at", lost)), "{lost}");
        }
        let mut tracker = Tracker::default();
        for _ in 0..30 {
            tracker.record(&[at("/at", Kind::Missing)], &[at("/at", Kind::Value)], 10);
        }
        assert!(!tracker.is_noise(&at("/at", Kind::Missing)));
        for _ in 0..30 {
            tracker.record(&[at("/at", Kind::Value)], &[at("/at", Kind::Value)], 10);
        }
        assert!(tracker.is_noise(&at("/at", Kind::Value)));
    }

    #[test]
    fn places_are_bounded_and_those_that_fell_silent_make_room() {
        let mut tracker = Tracker::default();
        let noisy = at("/a", Kind::Value);
        tracker.record(&[at("/a", Kind::Value), at("/a", Kind::Type)], &[at("/once", Kind::Value)], 2);
        let counted = tracker.places.get(&noisy.place).map(|c| (c.shape.candidate, c.content.candidate));
        assert_eq!(counted, Some((1, 1)), "two kinds, one place");
        for _ in 0..30 {
            tracker.record(&[], &[at("/a", Kind::Value), at("/late", Kind::Value)], 2);
        }
        assert_eq!(tracker.places.len(), 2);
        assert!(tracker.is_noise(&noisy) && !tracker.is_noise(&at("/late", Kind::Value)));
        for _ in 0..AGE {
            tracker.record(&[], &[], 2);
        }
        assert!(tracker.triples < AGE);
        assert!(tracker.places.get(&Place::from("/once".to_owned())).is_none());
    }
}
