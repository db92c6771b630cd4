//! Where the module stands before the router it sends the copies itself: Envoy's mirroring happens behind it. Then a
//! plugin configuration names the mirrors (`roster`), a primary is the client's own stream, which is followed from its
//! request on, and a copy is a call of the module's own (`call`), of which only so many may be under way (`flights`).
//!
//! The order of calls for one primary: [`Observer::on_passing`]; then, under the ticket that it returned, the request's
//! parts and [`Observer::on_request_end`], which says what is to be sent; then [`Observer::on_sent`] or
//! [`Observer::on_unsent`] for each. The primary's answer goes as any other's does, beginning with
//! [`Observer::on_primary_headers`], and so does a copy's, beginning with [`Observer::on_answer`].

mod call;
mod flights;
mod roster;

use std::rc::Rc;

use super::{Facts, Observer, log};
use crate::answer::Overflow;
use crate::config::Target;
use crate::headers::HeaderBlock;
use crate::outcome::{Incomplete, Outcome, Skip};
use crate::pair::{KeyKind, Pair, Role, Room, Side, Ticket, grow, key, number, room};
use crate::selection;
use crate::stats::names::Diagnostic;

pub use call::Call;
pub(crate) use call::Outgoing;
pub(super) use flights::Flights;
pub(super) use roster::Listed;
pub use roster::Roster;

/// Headers by which a client could pass its request off as a copy.
const FORGED: [&str; 4] = [super::mark::MIRROR, super::mark::ROLE, super::mark::PAIR, crate::config::carried::HEADER];

/// The most bytes of a request id that become part of a pair's id, which an example can then show in full.
const MOST_ID: usize = 53;

/// What to do with a client's request.
#[derive(Debug, Default)]
pub struct Passing {
    /// Headers to take away: they belong to copies, and this is none.
    pub remove: Vec<&'static str>,
    /// The handle under which it is followed, where it is to be copied.
    pub ticket: Option<Ticket>,
}

impl Observer {
    /// Reads a plugin configuration. `None` where it names no mirrors. What is of no use in it is logged and counted, and
    /// does not keep the rest from working.
    pub fn on_configuration(&mut self, text: &[u8]) -> Option<Roster> {
        let mut refused = Vec::new();
        let roster = Roster::read(text, &mut refused);
        for listed in roster.iter().flat_map(Roster::all) {
            if self.mirrors.enlist(listed, true, &self.table).is_none() {
                refused.push(super::mirrors::no_place(listed.name()));
            }
        }
        for reason in refused {
            self.diagnostics.add(Diagnostic::ConfigRejected);
            log(&mut self.lines, super::mirrors::printable(&reason));
        }
        roster
    }

    /// A client's request headers came. Times are nanoseconds since the epoch.
    pub fn on_passing(&mut self, now: u64, roster: &Roster, headers: HeaderBlock, facts: &mut dyn Facts) -> Passing {
        self.clock.advance(now);
        let Some(listed) = roster.find(&headers) else { return Passing::default() };
        if listed.is_own_copy(&headers) {
            return Passing::default();
        }
        let remove: Vec<_> = FORGED.into_iter().filter(|name| headers.get(name).is_some()).collect();
        let ticket = if selection::selects(&listed.setting.mirror, &listed.selection, &headers, now) {
            self.follow(listed, headers, &remove, facts)
        } else {
            None
        };
        Passing { remove, ticket }
    }

    /// Opens a pair for a request that is selected, unless it cannot be copied.
    fn follow(
        &mut self,
        listed: &Rc<Listed>,
        headers: HeaderBlock,
        forged: &[&'static str],
        facts: &mut dyn Facts,
    ) -> Option<Ticket> {
        // A redirect, say, goes to nobody: there is nothing to compare with.
        let cluster = facts.cluster()?;
        let mirror = self.mirrors.enlist(listed, false, &self.table)?;
        let setting = &listed.setting;
        let caps = &setting.mirror.caps;
        let length: usize = number(headers.get("content-length")).unwrap_or(0);
        let skip = if cluster == setting.mirror.candidate.cluster.as_bytes() {
            Some(Skip::SameRevision)
        } else if length > caps.body_bytes {
            Some(Skip::TooLarge)
        } else if !self.flights.has_room(mirror, caps, headers.size().saturating_add(length)) {
            Some(Skip::Overload)
        } else {
            None
        };
        if let Some(reason) = skip {
            self.record_skip(mirror, reason, &headers);
            return None;
        }
        self.followed = self.followed.wrapping_add(1);
        let request_id = headers.get_str("x-request-id").unwrap_or_default();
        let request_id = request_id.get(..request_id.floor_char_boundary(MOST_ID)).unwrap_or_default();
        let id = format!("{}-{request_id}", self.followed);
        let key = key(mirror, KeyKind::Pair, id.as_bytes());
        let mut pair = Pair::new(mirror, Rc::clone(setting), key, KeyKind::Pair, self.clock.steady);
        pair.verified = true;
        let is_like = |target: &Target| !setting.mirror.split || target.cluster.as_bytes() == cluster;
        pair.like_secondary = setting.mirror.secondary.as_ref().is_some_and(is_like);
        pair.request = call::marked(&headers, forged, id.as_bytes());
        pair.outgoing = Some(Box::new(Outgoing::new(Rc::clone(listed))));
        pair.is_final = true;
        match self.table.insert(pair) {
            Some((slot, generation)) => Some(Ticket { slot, generation, role: Role::Primary, attempt: 0 }),
            None => {
                self.record_skip(mirror, Skip::Overload, &headers);
                None
            }
        }
    }

    /// Whether the next `len` bytes of the request's body are wanted; ask before fetching them from the host. Where they do
    /// not fit, the request is not copied.
    pub fn wants_request_body(&mut self, ticket: Ticket, len: usize) -> bool {
        let Some(pair) = self.table.of_ticket(ticket) else { return false };
        let cap = pair.setting.mirror.caps.body_bytes;
        let Some(outgoing) = &mut pair.outgoing else { return false };
        let held = outgoing.body.capacity();
        let skip = match room(&outgoing.body, len, 0, cap) {
            Room::There => return true,
            Room::Unwanted => return false,
            Room::TooLarge => Skip::TooLarge,
            Room::Grow { best, .. } => {
                let fits = self.table.fits(ticket.slot, best.saturating_sub(held));
                let outgoing = self.table.of_ticket(ticket).and_then(|pair| pair.outgoing.as_mut());
                if fits && outgoing.is_some_and(|outgoing| grow(&mut outgoing.body, best)) {
                    self.table.account(ticket.slot);
                    return true;
                }
                Skip::Overload
            }
        };
        self.conclude(ticket.slot, Outcome::Skipped(skip));
        false
    }

    /// A part of the request's body.
    pub fn on_request_body(&mut self, ticket: Ticket, bytes: &[u8]) {
        if self.wants_request_body(ticket, bytes.len())
            && let Some(outgoing) = self.table.of_ticket(ticket).and_then(|pair| pair.outgoing.as_mut())
        {
            outgoing.body.extend_from_slice(bytes);
        }
    }

    /// A part of the request's body was wanted but could not be had: without it the request must not be copied.
    pub fn on_request_body_lost(&mut self, ticket: Ticket) {
        if self.table.of_ticket(ticket).is_some_and(|pair| pair.outgoing.is_some()) {
            self.conclude(ticket.slot, Outcome::Skipped(Skip::Overload));
        }
    }

    /// The request is whole. What is to be sent; the time of both answers is measured from here.
    pub fn on_request_end(&mut self, now: u64, ticket: Ticket, trailers: HeaderBlock) -> Vec<Call> {
        let now = self.clock.advance(now);
        let Some(pair) = self.table.of_ticket(ticket) else { return Vec::new() };
        let Some(outgoing) = pair.outgoing.take() else { return Vec::new() };
        let calls = outgoing.calls(pair, ticket, trailers);
        pair.primary.started = now;
        self.table.account(ticket.slot);
        calls
    }

    /// Whether a call may be sent at this moment. One to the candidate that may not is counted as skipped.
    pub fn may_send(&mut self, call: &Call) -> bool {
        let Some(pair) = self.table.of_ticket(call.ticket) else { return false };
        let (mirror, caps) = (pair.mirror, &pair.setting.mirror.caps);
        let has_room = self.flights.has_room(mirror, caps, call.size());
        if !has_room && call.ticket.role == Role::Candidate {
            self.conclude(call.ticket.slot, Outcome::Skipped(Skip::Overload));
        }
        has_room
    }

    /// The host has sent a call; `token` is its name for it, `root` that of the context that will hear of it.
    pub fn on_sent(&mut self, now: u64, call: &Call, token: u32, root: u32) {
        let now = self.clock.advance(now);
        let Some(pair) = self.table.of_ticket(call.ticket) else { return };
        let place = if call.ticket.role == Role::Secondary { &mut pair.secondary } else { &mut pair.candidate };
        *place = Some(Side::new(0, now));
        self.flights.begin(token, call, pair.mirror, now, root);
    }

    /// The host could not send a call: there is no such cluster, or nobody in it.
    pub fn on_unsent(&mut self, call: &Call) {
        if call.ticket.role == Role::Candidate && self.table.of_ticket(call.ticket).is_some() {
            self.conclude(call.ticket.slot, Outcome::Incomplete(Incomplete::ShadowAbsent));
        }
    }

    /// The headers of the primary's answer came. One that Envoy made up itself is none.
    pub fn on_primary_headers(&mut self, ticket: Ticket, headers: HeaderBlock, facts: &mut dyn Facts) {
        if self.table.of_ticket(ticket).is_none() {
            return;
        }
        if facts.is_from_upstream() {
            self.take_headers(ticket, headers, facts);
        } else {
            self.conclude(ticket.slot, Outcome::Incomplete(Incomplete::PrimaryFailed));
        }
    }

    /// A client's stream is gone, whatever came of it.
    pub fn on_primary_gone(&mut self, now: u64, ticket: Ticket, facts: &mut dyn Facts) {
        self.on_gone(now, ticket, facts);
        if self.table.of_ticket(ticket).is_some_and(|pair| pair.outgoing.is_some()) {
            self.conclude(ticket.slot, Outcome::Incomplete(Incomplete::RequestCut));
        }
    }

    /// A call has ended, with these headers if it was answered. Returns the ticket under which the rest of the answer is
    /// to be told, where it matters.
    pub fn on_answer(
        &mut self,
        now: u64,
        token: u32,
        headers: Option<HeaderBlock>,
        facts: &mut dyn Facts,
    ) -> Option<Ticket> {
        let now = self.clock.advance(now);
        let flight = self.flights.end(token)?;
        let ticket = flight.ticket;
        match headers {
            Some(headers) if call::is_answer(&headers) => {
                self.take_headers(ticket, headers, facts);
                return Some(ticket);
            }
            // Envoy answered in the candidate's place. By 504 it says that the time has run out, and nothing else; where gRPC
            // is spoken it says no more than that something failed.
            Some(headers) if flight.is_late(now) || headers.get(":status") == Some(b"504") => {
                self.give_up(now, ticket, Incomplete::ShadowSlow, facts)
            }
            Some(_) => self.end(now, ticket, false, facts),
            None => {
                let is_large = |pair: &mut Pair| pair.primary.answer.overflow == Some(Overflow::Cap);
                if ticket.role == Role::Candidate && self.table.of_ticket(ticket).is_some_and(is_large) {
                    // It took too long, or is more than Envoy keeps.
                    self.conclude(ticket.slot, Outcome::Skipped(Skip::TooLarge));
                }
                let reason = if flight.is_late(now) { Incomplete::ShadowSlow } else { Incomplete::ShadowCut };
                self.give_up(now, ticket, reason, facts);
            }
        }
        None
    }

    /// A copy whose time ran out, or whose answer has a beginning and no end.
    fn give_up(&mut self, now: u64, ticket: Ticket, reason: Incomplete, facts: &mut dyn Facts) {
        let Some(pair) = self.table.of_ticket(ticket) else { return };
        // A stream of events has no end that could come in time, and a call is answered only once it is whole.
        let outcome = if pair.is_streaming() { Outcome::Skipped(Skip::Streaming) } else { Outcome::Incomplete(reason) };
        match ticket.role {
            Role::Candidate => self.conclude(ticket.slot, outcome),
            _ => self.end(now, ticket, false, facts),
        }
    }

    /// How many calls are under way of which the context `root` will hear.
    pub fn calls_of(&self, root: u32) -> usize {
        self.flights.of(root)
    }
}
