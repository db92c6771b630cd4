//! Pairs: a primary's answer and its copies' answers, held while they stream by, in a table that is bounded in entries
//! and in bytes.

mod body;
mod budget;
mod entry;
mod recent;
mod side;
mod table;

use crate::compare::Plan;
use crate::config::Mirror;

pub(crate) use body::{Room, grow, room};
pub(crate) use budget::{Budget, Usage};
pub(crate) use entry::{KeyKind, Pair, key};
pub(crate) use side::{Phase, Side, copy_role, copy_word, number};
#[cfg(test)]
pub(crate) use table::MOST_BYTES;
pub(crate) use table::Table;

/// A mirror's configuration made ready. A pair keeps the one that it began with.
#[derive(Debug)]
pub(crate) struct Setting {
    /// As configured.
    pub(crate) mirror: Mirror,
    /// How to compare.
    pub(crate) plan: Plan,
}

impl Setting {
    pub(crate) fn new(mirror: Mirror) -> Self {
        let plan = Plan::new(&mirror);
        Self { mirror, plan }
    }
}

/// What a stream is to its pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Primary,
    Candidate,
    Secondary,
}

/// The handle of an observed stream. One whose pair is gone, or whose try was replaced by a later one, is stale; using
/// it changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub(crate) slot: usize,
    pub(crate) generation: u32,
    pub(crate) role: Role,
    pub(crate) attempt: u32,
}

impl Ticket {
    /// A ticket that is stale from the beginning.
    pub(crate) const fn stale(role: Role) -> Self {
        Self { slot: usize::MAX, generation: 0, role, attempt: 0 }
    }
}
