//! Where a comparison puts what it finds: each place and kind once, a bounded number of them.

use crate::divergence::{Divergence, Kind};
use crate::place::Place;

/// Collects the divergences of one comparison.
#[derive(Debug, Default)]
pub struct Sink {
    found: Vec<Divergence>,
    /// Of those that came through [`Sink::add_once`].
    fingerprints: Vec<u64>,
    dropped: usize,
}

/// A point to which a [`Sink`] can be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    found: usize,
    fingerprints: usize,
    dropped: usize,
}

impl Sink {
    /// The most divergences that one comparison keeps.
    pub const MOST: usize = 64;

    /// Adds a divergence. Where this place differs in this kind already, the first one stays.
    pub fn add(&mut self, place: Place, kind: Kind, primary: Option<String>, shadow: Option<String>) {
        if self.found.iter().any(|known| known.kind == kind && known.place == place) {
            return;
        }
        if self.found.len() < Self::MOST {
            self.found.push(Divergence { place, kind, primary, shadow });
        } else {
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    /// Adds what `make` gives, as [`Sink::add`] does, unless that was done before with the same fingerprint of place and
    /// kind. So a place that differs a thousand times is written out once.
    pub fn add_once(&mut self, fingerprint: u64, make: impl FnOnce() -> Divergence) {
        if self.fingerprints.contains(&fingerprint) {
            return;
        }
        if self.found.len() < Self::MOST {
            self.fingerprints.push(fingerprint);
            let made = make();
            self.add(made.place, made.kind, made.primary, made.shadow);
        } else {
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    /// Remembers this point.
    pub fn mark(&self) -> Mark {
        Mark { found: self.found.len(), fingerprints: self.fingerprints.len(), dropped: self.dropped }
    }

    /// Forgets all that was added since `mark`.
    pub fn rewind(&mut self, mark: Mark) {
        self.found.truncate(mark.found);
        self.fingerprints.truncate(mark.fingerprints);
        self.dropped = mark.dropped;
    }

    /// Whether nothing was added since `mark` (repetitions of older places do not count).
    pub fn is_unchanged_since(&self, mark: Mark) -> bool {
        self.mark() == mark
    }

    /// What was found, and how many more there were.
    pub fn into_parts(self) -> (Vec<Divergence>, usize) {
        (self.found, self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divergence(place: &str) -> Divergence {
        Divergence { place: Place::from(place.to_owned()), kind: Kind::Value, primary: None, shadow: None }
    }

    #[test]
    fn a_place_and_kind_is_kept_once() {
        let mut sink = Sink::default();
        for kind in [Kind::Value, Kind::Type, Kind::Value] {
            sink.add(Place::body(), kind, None, None);
        }
        sink.add_once(1, || divergence("/a"));
        sink.add_once(1, || panic!("made twice"));
        sink.add_once(2, || divergence("body"));
        assert_eq!(sink.into_parts().0.len(), 3);
    }

    #[test]
    fn what_is_too_much_is_counted() {
        let mut sink = Sink::default();
        for number in 0..Sink::MOST as u64 + 2 {
            sink.add_once(number, || divergence(&format!("/{number}")));
        }
        sink.add(Place::body(), Kind::Value, None, None);
        let (found, dropped) = sink.into_parts();
        assert_eq!((found.len(), dropped), (Sink::MOST, 3));
    }

    #[test]
    fn what_was_taken_back_can_be_added_again() {
        let mut sink = Sink::default();
        sink.add_once(1, || divergence("/a"));
        let mark = sink.mark();
        sink.add_once(2, || divergence("/b"));
        assert!(!sink.is_unchanged_since(mark));
        sink.rewind(mark);
        assert!(sink.is_unchanged_since(mark));
        sink.add_once(2, || divergence("/c"));
        let places: Vec<String> = sink.into_parts().0.iter().map(|found| found.place.to_string()).collect();
        assert_eq!(places, ["/a", "/c"]);
    }
}
