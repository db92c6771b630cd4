//! Records the answers as they stream by.

use super::{Facts, Observer};
use crate::config::Sampling;
use crate::headers::HeaderBlock;
use crate::outcome::{Outcome, Skip};
use crate::pair::{Role, Ticket};
use crate::stats::names::Diagnostic;

impl Observer {
    pub(super) fn take_headers(&mut self, ticket: Ticket, headers: HeaderBlock, facts: &mut dyn Facts) {
        if !self.still_counts(ticket, facts) || !self.fits(ticket, &headers) {
            return;
        }
        let Some(pair) = self.table.of_ticket(ticket) else { return };
        let head = pair.method() == "HEAD";
        let Some(side) = pair.side_mut(ticket.role, ticket.attempt) else { return };
        side.take_headers(headers, head);
        let streaming = pair.is_streaming();
        self.table.account(ticket.slot);
        if streaming {
            self.settle(ticket.slot, self.clock.steady, false);
        }
    }

    pub(super) fn take_trailers(&mut self, ticket: Ticket, trailers: HeaderBlock) {
        if !self.fits(ticket, &trailers) {
            return;
        }
        if let Some(side) = self.table.side_mut(ticket)
            && !side.has_ended()
        {
            side.answer.trailers = trailers;
            self.table.account(ticket.slot);
        }
    }

    /// A stream ended; `whole` tells that its response is complete.
    pub(super) fn end(&mut self, now: u64, ticket: Ticket, whole: bool, facts: &mut dyn Facts) {
        if !self.still_counts(ticket, facts) {
            return;
        }
        let Some(pair) = self.table.of_ticket(ticket) else { return };
        if ticket.role == Role::Primary
            && let Some(sharing) = &mut pair.poison
        {
            sharing.retain(|attempt| *attempt != ticket.attempt);
            self.forget_if_unshared(ticket.slot);
            return;
        }
        if pair.side_mut(ticket.role, ticket.attempt).is_some_and(|side| side.finish(now, whole)) {
            self.settle(ticket.slot, now, false);
        }
    }

    /// Forgets a poisoned pair once none of its primaries is going.
    pub(super) fn forget_if_unshared(&mut self, slot: usize) {
        if self.table.get(slot).is_some_and(|pair| pair.poison.as_ref().is_some_and(Vec::is_empty)) {
            self.table.remove(slot);
        }
    }

    /// Whether a ticket's pair still counts when one of its streams answers or ends. A copy's primary came before it, so
    /// a primary that has none by now was not sampled (where Envoy draws the sample), or carries a mark that a client may
    /// have written (else): in both cases the pair is forgotten.
    fn still_counts(&mut self, ticket: Ticket, facts: &mut dyn Facts) -> bool {
        let Some(pair) = self.table.of_ticket(ticket) else { return false };
        if ticket.role != Role::Primary || pair.poison.is_some() || pair.has_copies() {
            return true;
        }
        if pair.setting.mirror.sampling == Sampling::Envoy {
            self.table.remove(ticket.slot);
            return false;
        }
        if !pair.verified {
            let mirror = pair.mirror;
            if !self.mirrors.vouched(mirror, facts) {
                self.forget_stray(ticket.slot);
                return false;
            }
            if let Some(pair) = self.table.of_ticket(ticket) {
                pair.verified = true;
            }
        }
        true
    }

    /// Forgets a pair whose mark a client must have written.
    pub(super) fn forget_stray(&mut self, slot: usize) {
        self.table.remove(slot);
        self.diagnostics.add(Diagnostic::Stray);
    }

    /// Whether headers or trailers fit into the budget. Where they do not, the pair is given up: without them there is
    /// nothing to compare.
    fn fits(&mut self, ticket: Ticket, block: &HeaderBlock) -> bool {
        if self.table.side_mut(ticket).is_none() {
            return false;
        }
        let fits = self.table.fits(ticket.slot, block.size());
        if !fits {
            self.conclude(ticket.slot, Outcome::Skipped(Skip::Overload));
        }
        fits
    }
}
