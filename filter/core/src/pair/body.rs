//! Room for a body: how much memory the next bytes need, within the cap.

use super::{Phase, Side};
use crate::answer::Overflow;

/// What it takes to keep the next bytes of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Nothing: there is room.
    There,
    /// The body has to grow to hold at least `least` bytes; `best` saves growing again soon.
    Grow {
        /// Bytes that suffice for now.
        least: usize,
        /// Bytes that are better.
        best: usize,
    },
    /// It is larger than the cap.
    TooLarge,
    /// The body is not kept.
    Unwanted,
}

impl Side {
    /// What it takes to keep `more` bytes in addition, in a body of at most `cap`.
    pub(crate) fn room(&self, more: usize, cap: usize) -> Room {
        if self.phase != Phase::Answering || !self.keeps_body || self.answer.overflow.is_some() {
            return Room::Unwanted;
        }
        room(&self.answer.body, more, self.expected, cap)
    }

    /// Makes the body's memory `capacity` bytes. False where there is none to be had.
    pub(crate) fn grow(&mut self, capacity: usize) -> bool {
        grow(&mut self.answer.body, capacity)
    }

    /// Drops what was kept of the body.
    pub(crate) fn overflow(&mut self, why: Overflow) {
        self.answer.overflow = Some(why);
        self.answer.body = Vec::new();
    }
}

/// What it takes to keep `more` bytes in addition in a body of at most `cap`, of which `expected` were announced (0: none).
pub(crate) fn room(body: &Vec<u8>, more: usize, expected: usize, cap: usize) -> Room {
    let least = body.len().saturating_add(more);
    if least > cap || expected > cap {
        return Room::TooLarge;
    }
    if least <= body.capacity() {
        return Room::There;
    }
    let best = expected.max(body.capacity().saturating_mul(2)).min(cap).max(least);
    Room::Grow { least, best }
}

/// Makes a body's memory `capacity` bytes. False where there is none to be had.
pub(crate) fn grow(body: &mut Vec<u8>, capacity: usize) -> bool {
    body.try_reserve_exact(capacity.saturating_sub(body.len())).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::HeaderBlock;

    #[test]
    fn a_body_takes_what_it_announced_and_no_more_than_its_cap() {
        let side = |announced: &str| {
            let mut side = Side::new(0, 0);
            let headers = HeaderBlock::from_pairs(&[(":status", "200"), ("content-length", announced)]);
            side.take_headers(headers, false);
            side
        };
        assert_eq!(side("").room(10, 100), Room::Grow { least: 10, best: 10 });
        assert_eq!(side("40").room(10, 100), Room::Grow { least: 10, best: 40 });
        assert_eq!(side("5").room(10, 100), Room::Grow { least: 10, best: 10 }, "a server that lies");
        assert_eq!(side("101").room(10, 100), Room::TooLarge);
        assert_eq!(side("").room(101, 100), Room::TooLarge);
        assert_eq!(side("").room(usize::MAX, 100), Room::TooLarge);

        let mut grown = side("");
        assert!(grown.grow(60));
        grown.answer.body.extend([0; 60]);
        assert_eq!(grown.room(1, 100), Room::Grow { least: 61, best: 100 }, "doubled, up to the cap");
        assert_eq!(grown.room(0, 100), Room::There);
        grown.overflow(Overflow::Cap);
        assert_eq!((grown.answer.body.capacity(), grown.room(1, 100)), (0, Room::Unwanted));
    }
}
