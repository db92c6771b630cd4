//! The table of open pairs: a slab with generations, so that a stale ticket finds nothing, and an index by key. It
//! accounts for every byte that a pair holds and refuses what does not fit.
//!
//! Beside the pairs it holds a slot and an index entry for each of the pairs that were ever open at once, well below
//! 1 MiB at [`MOST_PAIRS`].

use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher;
use std::rc::Rc;

use foldhash::SharedSeed;
use foldhash::quality::SeedableRandomState;

use super::recent::Recent;
use super::{Budget, KeyKind, Pair, Room, Side, Ticket, Usage};
use crate::answer::Overflow;
use crate::config::Caps;

/// The most pairs that a worker holds, over all mirrors.
pub(crate) const MOST_PAIRS: usize = 16_384;
/// The most bytes that a worker's pairs hold, over all mirrors.
pub(crate) const MOST_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    pair: Option<Box<Pair>>,
}

/// All open pairs of one worker.
pub(crate) struct Table {
    slots: Vec<Slot>,
    free: Vec<usize>,
    index: HashMap<Rc<[u8]>, usize, SeedableRandomState>,
    budget: Budget,
    recent: Recent,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("slots", &self.slots).field("budget", &self.budget).finish_non_exhaustive()
    }
}

impl Table {
    /// `seed` keeps clients, who may choose their request ids, from choosing ids that collide.
    pub(crate) fn new(seed: u64) -> Self {
        // The hasher wants its shared part to live for ever. It is 48 bytes, and a worker has one table.
        let shared = Box::leak(Box::new(SharedSeed::from_u64(seed)));
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            index: HashMap::with_hasher(SeedableRandomState::with_seed(seed.rotate_left(32), shared)),
            budget: Budget::new(Usage::new(MOST_PAIRS, MOST_BYTES)),
            recent: Recent::new(),
        }
    }

    /// The slot of the pair that is open under `key`.
    pub(crate) fn find(&self, key: &[u8]) -> Option<usize> {
        self.index.get(key).copied()
    }

    /// Opens a pair; its key must not be open. Returns the first primary's slot and generation, or `None` where it does
    /// not fit.
    pub(crate) fn insert(&mut self, mut pair: Pair) -> Option<(usize, u32)> {
        pair.accounted = pair.size();
        if !self.has_room(&pair, 1, pair.accounted) {
            return None;
        }
        let at = self.free.pop().unwrap_or(self.slots.len());
        if at == self.slots.len() {
            self.slots.push(Slot::default());
        }
        let slot = self.slots.get_mut(at)?;
        slot.generation = slot.generation.wrapping_add(1);
        self.budget.add(pair.mirror, Usage::new(1, pair.accounted));
        self.index.insert(Rc::clone(&pair.key), at);
        slot.pair = Some(Box::new(pair));
        Some((at, slot.generation))
    }

    pub(crate) fn get(&self, slot: usize) -> Option<&Pair> {
        self.slots.get(slot)?.pair.as_deref()
    }

    /// The pair in `slot`. Whoever changes what it holds calls [`Table::account`] afterwards.
    pub(crate) fn get_mut(&mut self, slot: usize) -> Option<&mut Pair> {
        self.slots.get_mut(slot)?.pair.as_deref_mut()
    }

    /// The generation of `slot`, for tickets.
    pub(crate) fn generation(&self, slot: usize) -> u32 {
        self.slots.get(slot).map_or(0, |slot| slot.generation)
    }

    /// The pair of a ticket, unless it is gone. A try that was replaced still finds its pair.
    pub(crate) fn of_ticket(&mut self, ticket: Ticket) -> Option<&mut Pair> {
        let slot = self.slots.get_mut(ticket.slot)?;
        if slot.generation == ticket.generation { slot.pair.as_deref_mut() } else { None }
    }

    /// How many slots there are, open or not.
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Takes a pair out. Tickets to it are stale from now on.
    pub(crate) fn remove(&mut self, at: usize) -> Option<Box<Pair>> {
        let slot = self.slots.get_mut(at)?;
        let pair = slot.pair.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(at);
        self.index.remove(&pair.key);
        self.remember(pair.identity);
        self.budget.take(pair.mirror, Usage::new(1, pair.accounted));
        Some(pair)
    }

    /// A hash of what tells a request from all others, or `None` where nothing does: a request id alone may be used
    /// twice. The hash is over the keys of both kinds, so that a selector that begins to count anew does no harm.
    pub(crate) fn identity(&self, keys: &[(KeyKind, Rc<[u8]>)]) -> Option<u64> {
        let unique = keys.iter().any(|(kind, _)| *kind == KeyKind::Pair);
        unique.then(|| self.index.hasher().hash_one(keys))
    }

    /// Remembers that a request had its outcome.
    pub(crate) fn remember(&mut self, identity: Option<u64>) {
        if let Some(hash) = identity {
            self.recent.insert(hash);
        }
    }

    /// Whether a request had its outcome a short while ago.
    pub(crate) fn had_outcome(&self, identity: Option<u64>) -> bool {
        identity.is_some_and(|hash| self.recent.contains(hash))
    }

    /// Whether the pair in `slot` may hold `bytes` more.
    pub(crate) fn fits(&self, slot: usize, bytes: usize) -> bool {
        self.get(slot).is_some_and(|pair| self.has_room(pair, 0, bytes))
    }

    fn has_room(&self, pair: &Pair, pairs: usize, bytes: usize) -> bool {
        let caps = &pair.setting.mirror.caps;
        self.budget.has_room(pair.mirror, Usage::new(pairs, bytes), Usage::new(caps.pairs, caps.pair_bytes))
    }

    /// Whether a mirror with these caps may open one more pair, for a request with headers of `request` bytes.
    pub(crate) fn takes_one_more(&self, mirror: usize, caps: &Caps, request: usize) -> bool {
        let bytes = std::mem::size_of::<Pair>().saturating_add(request);
        self.budget.has_room(mirror, Usage::new(1, bytes), Usage::new(caps.pairs, caps.pair_bytes))
    }

    /// Brings the accounts up to what the pair in `slot` holds now.
    pub(crate) fn account(&mut self, slot: usize) {
        let Some(pair) = self.slots.get_mut(slot).and_then(|slot| slot.pair.as_deref_mut()) else { return };
        let (before, now) = (pair.accounted, pair.size());
        pair.accounted = now;
        self.budget.take(pair.mirror, Usage::new(0, before));
        self.budget.add(pair.mirror, Usage::new(0, now));
    }

    /// What one mirror's pairs use.
    pub(crate) fn usage(&self, mirror: usize) -> Usage {
        self.budget.of(mirror)
    }

    /// What all pairs use.
    #[cfg(test)]
    pub(crate) fn total(&self) -> Usage {
        self.budget.total()
    }

    /// What all pairs use, measured anew and not from the accounts.
    #[cfg(test)]
    pub(crate) fn measured(&self) -> Usage {
        let open = self.slots.iter().filter_map(|slot| slot.pair.as_deref());
        let (count, bytes) = open.fold((0, 0), |(count, bytes), pair| (count + 1, bytes + pair.size()));
        assert_eq!(count, self.index.len());
        Usage::new(count, bytes)
    }

    /// Makes room for `len` more bytes of a ticket's body. False where they are not wanted; where they do not fit, what
    /// was kept of the body is dropped.
    pub(crate) fn make_room(&mut self, ticket: Ticket, len: usize) -> bool {
        let Some(pair) = self.of_ticket(ticket) else { return false };
        let cap = pair.setting.mirror.caps.body_bytes;
        let Some(side) = pair.side_mut(ticket.role, ticket.attempt) else { return false };
        let held = side.answer.body.capacity();
        let overflow = match side.room(len, cap) {
            Room::There => return true,
            Room::Unwanted => return false,
            Room::TooLarge => Overflow::Cap,
            Room::Grow { least, best } => {
                let fitting = [best, least].into_iter().find(|size| self.fits(ticket.slot, size.saturating_sub(held)));
                if let Some(size) = fitting
                    && self.side_mut(ticket).is_some_and(|side| side.grow(size))
                {
                    self.account(ticket.slot);
                    return true;
                }
                Overflow::Budget
            }
        };
        self.drop_body(ticket, overflow);
        false
    }

    /// Drops what was kept of a body; nothing more of it is kept either.
    pub(crate) fn drop_body(&mut self, ticket: Ticket, why: Overflow) {
        if let Some(side) = self.side_mut(ticket) {
            side.overflow(why);
            self.account(ticket.slot);
        }
    }

    /// The side of a ticket, unless it is stale.
    pub(crate) fn side_mut(&mut self, ticket: Ticket) -> Option<&mut Side> {
        self.of_ticket(ticket)?.side_mut(ticket.role, ticket.attempt)
    }
}
