//! The copies that are under way, and how many there may be.

use super::Call;
use crate::config::Caps;
use crate::pair::{Budget, Ticket, Usage};
use crate::sorted::Sorted;

/// The most copies under way in one worker, over all mirrors, and their bytes.
const MOST: Usage = Usage::new(4096, 64 * 1024 * 1024);

/// How long after its time a copy is forgotten whose end the host never told, in nanoseconds.
const GRACE: u64 = 60_000_000_000;

/// How much earlier than by our clock a copy's time may run out: Envoy's timers count from when a round of events began, in
/// nanoseconds.
const ROUND: u64 = 50_000_000;

/// A copy under way.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) ticket: Ticket,
    mirror: usize,
    bytes: usize,
    root: u32,
    /// When its time is over.
    until: u64,
}

impl Flight {
    /// Whether its time is over.
    pub(super) const fn is_late(&self, now: u64) -> bool {
        now.saturating_add(ROUND) >= self.until
    }
}

/// All copies under way.
#[derive(Debug)]
pub(crate) struct Flights {
    open: Sorted<u32, Flight>,
    budget: Budget,
}

impl Flights {
    pub(crate) const fn new() -> Self {
        Self { open: Sorted::new(), budget: Budget::new(MOST) }
    }

    /// Whether a mirror with these caps may send one more copy, of so many bytes.
    pub(super) fn has_room(&self, mirror: usize, caps: &Caps, bytes: usize) -> bool {
        self.budget.has_room(mirror, Usage::new(1, bytes), Usage::new(caps.copies, caps.copy_bytes))
    }

    pub(super) fn begin(&mut self, token: u32, call: &Call, mirror: usize, now: u64, root: u32) {
        let bytes = call.size();
        let until = now.saturating_add(call.timeout_ms.saturating_mul(1_000_000));
        self.budget.add(mirror, Usage::new(1, bytes));
        self.open.insert(token, Flight { ticket: call.ticket, mirror, bytes, root, until });
    }

    /// A copy has ended. What was known of it, if it was under way.
    pub(super) fn end(&mut self, token: u32) -> Option<Flight> {
        let flight = self.open.remove(&token)?;
        self.budget.take(flight.mirror, Usage::new(1, flight.bytes));
        Some(flight)
    }

    /// Forgets those whose end the host will not tell any more.
    pub(crate) fn forget(&mut self, now: u64) {
        let budget = &mut self.budget;
        self.open.retain(|flight| {
            let is_open = now < flight.until.saturating_add(GRACE);
            if !is_open {
                budget.take(flight.mirror, Usage::new(1, flight.bytes));
            }
            is_open
        });
    }

    /// What all use.
    #[cfg(test)]
    pub(crate) const fn total(&self) -> Usage {
        self.budget.total()
    }

    /// What all use, measured anew and not from the accounts.
    #[cfg(test)]
    pub(crate) fn measured(&self) -> Usage {
        Usage::new(self.open.len(), self.open.values().map(|flight| flight.bytes).sum())
    }

    /// How many there are of which the context `root` will hear.
    pub(super) fn of(&self, root: u32) -> usize {
        self.open.values().filter(|flight| flight.root == root).count()
    }
}
