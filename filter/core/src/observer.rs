//! What the module does with the streams that Envoy shows it: tells primaries from shadows, pairs them, compares the
//! pair when it is whole, and counts what came of it. The host's part is behind two small traits, so that the whole
//! runs natively in tests.
//!
//! Two ways lead in. Behind the router (`admission`) Envoy makes the copies, and the observer sees their streams; before it
//! (`sending`) the observer has the copies sent. What follows is the same for both.
//!
//! `mark` reads what a request carries, `mirrors` keeps the configurations, `admission` decides what a stream is,
//! `answers` records what streams by, `conclude` decides when a pair is over and what became of it.

mod admission;
mod answers;
mod conclude;
mod mark;
mod mirrors;
mod sending;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use crate::answer::Overflow;
use crate::headers::HeaderBlock;
use crate::pair::Table;
pub use crate::pair::Ticket;
use crate::stats::names::{Diagnostic, Metric};
pub(crate) use sending::Outgoing;
pub use sending::{Call, Passing, Roster};

use mirrors::Mirrors;
use sending::Flights;

/// What only the host knows of a stream. Each question costs a host call, so the observer asks only when it must.
pub trait Facts {
    /// Whether the stream belongs to a downstream connection: true for primaries, false for shadows. A client cannot
    /// influence it.
    fn has_connection(&mut self) -> bool;

    /// The mirror's JSON from the metadata of the route that the stream took; `None` where the route carries none (and
    /// for every shadow). A client cannot influence it.
    fn mirror_config(&mut self) -> Option<Vec<u8>>;

    /// The name of the route that the stream took; `None` for every shadow. A client cannot influence it.
    fn route_name(&mut self) -> Option<Vec<u8>>;

    /// What Istio says that it made the stream's route from, see [`crate::config::carried::vouches`]; `None` for every
    /// shadow. A client cannot influence it.
    fn route_origin(&mut self) -> Option<Vec<u8>>;

    /// The cluster that this stream goes to.
    fn cluster(&mut self) -> Option<Vec<u8>>;

    /// Whether the response at hand is a server's, and none that Envoy made itself.
    fn is_from_upstream(&mut self) -> bool;
}

/// Where the observer's results go.
pub trait Output {
    /// Adds `n` to the counter `name`.
    fn count(&mut self, name: &str, n: u64);

    /// Writes one line to the log, at a level that gateways print.
    fn log(&mut self, line: &str);
}

/// What to do with a stream.
#[derive(Debug)]
pub enum Admission {
    /// It is no business of ours.
    Ignore,
    /// Report its response under this ticket.
    Observe {
        /// The handle.
        ticket: Ticket,
        /// Request headers to set before it goes upstream; only ever on a shadow.
        set_headers: Vec<(&'static str, String)>,
    },
}

/// The most lines that wait for the next flush; more are dropped.
const MOST_LINES: usize = 64;

/// What happened beside the pairs: marked streams that made none. Each should be rare; many of them point at a fault in
/// Envoy's configuration, or at a client that writes marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    /// Primaries with a mirror's mark on a route that does not carry the mirror.
    pub stray: u64,
    /// Copies whose primary was not seen, or opened no pair. (Copies of a primary with the selector's key that was skipped
    /// or has had its outcome are not among them.) And copies without a tag to a cluster that is none of the mirror's.
    pub orphan: u64,
    /// Primaries whose route carries a configuration that was refused, or that found all places for mirrors taken; and
    /// what was refused of a plugin configuration.
    pub config_rejected: u64,
    /// Examples that their rate held back.
    pub examples_dropped: u64,
}

impl Diagnostics {
    /// Counts one more.
    fn add(&mut self, what: Diagnostic) {
        let count = match what {
            Diagnostic::Stray => &mut self.stray,
            Diagnostic::Orphan => &mut self.orphan,
            Diagnostic::ConfigRejected => &mut self.config_rejected,
            Diagnostic::ExamplesDropped => &mut self.examples_dropped,
        };
        *count = count.saturating_add(1);
    }

    /// Hands the counts over.
    fn flush(&mut self, output: &mut dyn Output) {
        let Self { stray, orphan, config_rejected, examples_dropped } = std::mem::take(self);
        for (what, n) in [
            (Diagnostic::Stray, stray),
            (Diagnostic::Orphan, orphan),
            (Diagnostic::ConfigRejected, config_rejected),
            (Diagnostic::ExamplesDropped, examples_dropped),
        ] {
            if n > 0 {
                output.count(&Metric::Diagnostic { what, mirror: None }.encode(), n);
            }
        }
    }
}

/// Time that never runs backwards, whatever the host's clock does.
#[derive(Debug, Default)]
struct Clock {
    /// What the host said last, in nanoseconds since the epoch.
    wall: u64,
    /// The sum of all steps forward.
    steady: u64,
}

impl Clock {
    fn advance(&mut self, wall: u64) -> u64 {
        self.steady = self.steady.saturating_add(wall.saturating_sub(self.wall));
        self.wall = wall;
        self.steady
    }
}

/// All mirrors of one worker.
///
/// The order of calls for one stream: [`Observer::on_request`]; then, under the ticket it returned,
/// [`Observer::on_response_headers`], the body's parts, trailers, [`Observer::on_complete`] and [`Observer::on_gone`],
/// any of which may be missing. Calls under a stale ticket change nothing. [`Observer::on_tick`] should be called about
/// once a second: it concludes the pairs that wait for something that does not come.
#[derive(Debug)]
pub struct Observer {
    clock: Clock,
    mirrors: Mirrors,
    table: Table,
    flights: Flights,
    /// How many requests were followed from their beginning; the next one's number.
    followed: u32,
    diagnostics: Diagnostics,
    lines: VecDeque<String>,
}

impl Observer {
    /// `seed` makes hashing unpredictable to clients.
    pub fn new(seed: u64) -> Self {
        Self {
            clock: Clock::default(),
            mirrors: Mirrors::default(),
            table: Table::new(seed),
            flights: Flights::new(),
            // Not where another worker is likely to be, so that people can tell the pairs of both apart.
            followed: seed as u32,
            diagnostics: Diagnostics::default(),
            lines: VecDeque::new(),
        }
    }

    /// A stream's request headers are about to go upstream. Times are nanoseconds since the epoch.
    pub fn on_request(&mut self, now: u64, headers: HeaderBlock, facts: &mut dyn Facts) -> Admission {
        self.clock.advance(now);
        self.admit(headers, facts)
    }

    /// Response headers came.
    pub fn on_response_headers(&mut self, ticket: Ticket, headers: HeaderBlock, facts: &mut dyn Facts) {
        self.take_headers(ticket, headers, facts);
    }

    /// Whether the next `len` bytes of the response's body are wanted; ask before fetching them from the host. Makes room
    /// for them; where they do not fit, what was kept of the body is dropped and nothing more of it is wanted.
    pub fn wants_body(&mut self, ticket: Ticket, len: usize) -> bool {
        self.table.make_room(ticket, len)
    }

    /// A part of the response's body.
    pub fn on_body(&mut self, ticket: Ticket, bytes: &[u8]) {
        if self.table.make_room(ticket, bytes.len())
            && let Some(side) = self.table.side_mut(ticket)
        {
            side.answer.body.extend_from_slice(bytes);
        }
    }

    /// A part of the response's body was wanted but could not be had. The body is given up: without that part it would
    /// differ where the answers do not.
    pub fn on_body_lost(&mut self, ticket: Ticket) {
        self.table.drop_body(ticket, Overflow::Budget);
    }

    /// Response trailers came.
    pub fn on_trailers(&mut self, ticket: Ticket, trailers: HeaderBlock) {
        self.take_trailers(ticket, trailers);
    }

    /// The response is whole.
    pub fn on_complete(&mut self, now: u64, ticket: Ticket, facts: &mut dyn Facts) {
        let now = self.clock.advance(now);
        self.end(now, ticket, true, facts);
    }

    /// The stream is gone. After [`Observer::on_complete`] this changes nothing; before it, the response was cut.
    pub fn on_gone(&mut self, now: u64, ticket: Ticket, facts: &mut dyn Facts) {
        let now = self.clock.advance(now);
        self.end(now, ticket, false, facts);
    }

    /// Time passed: ends what has run out of time.
    pub fn on_tick(&mut self, now: u64) {
        let now = self.clock.advance(now);
        for slot in 0..self.table.slots() {
            self.tick(slot, now);
        }
        self.flights.forget(now);
    }

    /// Hands over counts and log lines.
    pub fn flush(&mut self, _now: u64, output: &mut dyn Output) {
        self.mirrors.flush(&mut |name, n| output.count(name, n));
        let dropped = self.mirrors.examples_dropped();
        self.diagnostics.examples_dropped = self.diagnostics.examples_dropped.saturating_add(dropped);
        self.diagnostics.flush(output);
        for line in self.lines.drain(..) {
            output.log(&line);
        }
    }
}

/// Queues a line for the next flush; a full queue drops it.
fn log(lines: &mut VecDeque<String>, line: String) {
    if lines.len() < MOST_LINES {
        lines.push_back(line);
    }
}
