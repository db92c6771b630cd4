//! One pair: the primary's request and what became of it and of its copies so far.

use std::mem::size_of;
use std::rc::Rc;

use super::{Role, Setting, Side};
use crate::headers::HeaderBlock;
use crate::observer::Outgoing;

/// By what a primary and its copies are found to belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum KeyKind {
    /// The selector's `x-mirror-pair`: unique for each downstream request, so that a second primary is a retry.
    Pair,
    /// `x-request-id`, which a client may choose and use twice.
    RequestId,
}

/// The key of a pair in the table: the mirror, the kind and the id.
pub(crate) fn key(mirror: usize, kind: KeyKind, id: &[u8]) -> Rc<[u8]> {
    // Envoy may note the reason for tracing in this digit of a UUID, on one stream and not yet on the other.
    const TRACE_DIGIT: usize = 14;
    const UUID: usize = 36;
    let mut key = Vec::with_capacity(id.len().saturating_add(size_of::<usize>()).saturating_add(1));
    key.extend_from_slice(&mirror.to_le_bytes());
    key.push(match kind {
        KeyKind::Pair => b'p',
        KeyKind::RequestId => b'r',
    });
    let start = key.len();
    key.extend_from_slice(id);
    if kind == KeyKind::RequestId
        && id.len() == UUID
        && let Some(digit) = key.get_mut(start.saturating_add(TRACE_DIGIT))
    {
        *digit = b'_';
    }
    key.into()
}

/// A primary and its copies.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) key: Rc<[u8]>,
    pub(crate) kind: KeyKind,
    /// What [`super::Table::identity`] says of the request.
    pub(crate) identity: Option<u64>,
    /// The mirror's place among the observer's mirrors.
    pub(crate) mirror: usize,
    /// The configuration that the pair began with.
    pub(crate) setting: Rc<Setting>,
    /// The primary's request headers.
    pub(crate) request: HeaderBlock,
    /// When the first try was sent.
    pub(crate) started: u64,
    /// Whether Envoy's configuration vouches for the primary; until then a client may have written its mark.
    pub(crate) verified: bool,
    /// Whether the primary was sent to the candidate's own version. Only with Envoy's sampling, where it is counted when
    /// a copy shows that the request was sampled.
    pub(crate) same_revision: bool,
    /// Whether the primary was sent to the secondary's version. If not (a split between old versions), the two differ by
    /// more than by chance, and the secondary's answer says nothing.
    pub(crate) like_secondary: bool,
    /// Where the module sends the copies: what is to be copied, until the request is whole.
    pub(crate) outgoing: Option<Box<Outgoing>>,
    /// Whether the primary's answer is the client's, so that no further try is to come.
    pub(crate) is_final: bool,
    /// The number of the latest try.
    pub(crate) attempts: u32,
    pub(crate) primary: Side,
    pub(crate) candidate: Option<Side>,
    pub(crate) secondary: Option<Side>,
    /// Set once several live requests turned out to share the key, so that nothing can be told of any of them: the tries
    /// that are still going.
    pub(crate) poison: Option<Vec<u32>>,
    /// Bytes that the table has accounted to this pair.
    pub(super) accounted: usize,
}

impl Pair {
    pub(crate) fn new(mirror: usize, setting: Rc<Setting>, key: Rc<[u8]>, kind: KeyKind, started: u64) -> Self {
        Self {
            key,
            kind,
            identity: None,
            mirror,
            setting,
            request: HeaderBlock::default(),
            started,
            verified: false,
            same_revision: false,
            like_secondary: true,
            outgoing: None,
            is_final: false,
            attempts: 0,
            primary: Side::new(0, started),
            candidate: None,
            secondary: None,
            poison: None,
            accounted: 0,
        }
    }

    /// Bytes held, for budgets.
    pub(super) fn size(&self) -> usize {
        let copies = [&self.candidate, &self.secondary];
        let copies = copies.into_iter().flatten().map(|side| side.answer.size());
        let live = self.poison.as_ref().map_or(0, |live| live.capacity().saturating_mul(size_of::<u32>()));
        copies
            .fold(size_of::<Self>(), usize::saturating_add)
            .saturating_add(self.primary.answer.size())
            .saturating_add(self.request.size())
            .saturating_add(self.key.len())
            .saturating_add(self.outgoing.as_ref().map_or(0, |outgoing| outgoing.size()))
            .saturating_add(live)
    }

    /// The side that holds `role`, unless that try was replaced by a later one or the pair is poisoned.
    pub(crate) fn side_mut(&mut self, role: Role, attempt: u32) -> Option<&mut Side> {
        if self.poison.is_some() {
            return None;
        }
        match role {
            Role::Primary => Some(&mut self.primary),
            Role::Candidate => self.candidate.as_mut(),
            Role::Secondary => self.secondary.as_mut(),
        }
        .filter(|side| side.attempt == attempt)
    }

    /// Whether any copy has joined.
    pub(crate) fn has_copies(&self) -> bool {
        self.candidate.is_some() || self.secondary.is_some()
    }

    /// Whether primary or candidate answers with a stream of events.
    pub(crate) fn is_streaming(&self) -> bool {
        self.primary.streaming || self.candidate.as_ref().is_some_and(|side| side.streaming)
    }

    pub(crate) fn method(&self) -> &str {
        self.request.get_str(":method").unwrap_or_default()
    }

    pub(crate) fn path(&self) -> &str {
        self.request.get_str(":path").unwrap_or_default()
    }

    /// The id that tells people which request this was; its copies carry it as `x-mirror-pair`.
    pub(crate) fn id(&self) -> &str {
        let header = match self.kind {
            KeyKind::Pair => "x-mirror-pair",
            KeyKind::RequestId => "x-request-id",
        };
        self.request.get_str(header).unwrap_or_default()
    }

    /// A further try of the primary takes the place of the earlier one. Its number is returned.
    pub(crate) fn retry(&mut self) -> u32 {
        self.attempts = self.attempts.wrapping_add(1);
        self.primary = Side::new(self.attempts, self.started);
        self.attempts
    }

    /// Gives the pair up: all that is kept is which primaries are still going.
    pub(crate) fn poison(&mut self) {
        let primary = std::mem::take(&mut self.primary);
        self.poison = Some(if primary.has_ended() { Vec::new() } else { vec![primary.attempt] });
        self.candidate = None;
        self.secondary = None;
        self.request = HeaderBlock::default();
    }

    /// One more primary shares the poisoned pair. Its number; `None` where `most` are going already.
    pub(crate) fn share(&mut self, most: usize) -> Option<u32> {
        let sharing = self.poison.as_mut().filter(|sharing| sharing.len() < most)?;
        self.attempts = self.attempts.wrapping_add(1);
        sharing.push(self.attempts);
        Some(self.attempts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digit_that_envoy_may_change_is_no_part_of_the_key() {
        let id = b"0e2d5b0c-1d3a-4f1e-9a65-0123456789ab";
        let traced = b"0e2d5b0c-1d3a-9f1e-9a65-0123456789ab";
        let other = b"0e2d5b0c-1d3a-4f1e-9a65-0123456789ac";
        assert_eq!(key(1, KeyKind::RequestId, id), key(1, KeyKind::RequestId, traced));
        assert_ne!(key(1, KeyKind::RequestId, id), key(1, KeyKind::RequestId, other));
        assert_ne!(key(1, KeyKind::RequestId, id), key(2, KeyKind::RequestId, id), "another mirror");
        assert_ne!(key(1, KeyKind::RequestId, id), key(1, KeyKind::Pair, id), "another kind");
        assert_ne!(key(1, KeyKind::Pair, id), key(1, KeyKind::Pair, traced), "the selector's key is taken as it is");
        let own = (b"clients-own-id-1", b"clients-own-id-2");
        assert_ne!(key(1, KeyKind::RequestId, own.0), key(1, KeyKind::RequestId, own.1));
        assert_ne!(key(1, KeyKind::RequestId, b"0123456789abcdX"), key(1, KeyKind::RequestId, b"0123456789abcdY"));
    }
}
