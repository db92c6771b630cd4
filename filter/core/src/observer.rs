//! What the module does with the streams that Envoy shows it: tells primaries from shadows, pairs them, compares the
//! pair when it is whole, and counts what came of it. The host's part is behind two small traits, so that the whole
//! runs natively in tests.

use crate::headers::HeaderBlock;

/// What only the host knows of a stream. Each question costs a host call, so the observer asks only when it must.
pub trait Facts {
    /// Whether the stream belongs to a downstream connection: true for primaries, false for shadows. A client cannot
    /// influence it.
    fn has_connection(&mut self) -> bool;

    /// The mirror's JSON from the metadata of the route that the stream took; `None` where the route carries none (and
    /// for every shadow). A client cannot influence it.
    fn mirror_config(&mut self) -> Option<Vec<u8>>;

    /// The cluster that this stream goes to.
    fn cluster(&mut self) -> Option<Vec<u8>>;
}

/// Where the observer's results go.
pub trait Output {
    /// Adds `n` to the counter `name`.
    fn count(&mut self, name: &str, n: u64);

    /// Writes one line to the log, at a level that gateways print.
    fn log(&mut self, line: &str);
}

/// The handle of an observed stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {}

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

/// All mirrors of one worker.
#[derive(Debug)]
pub struct Observer {}

impl Observer {
    /// `seed` makes hashing unpredictable to clients.
    pub fn new(_seed: u64) -> Self {
        Self {}
    }

    /// A stream's request headers are about to go upstream. Times are nanoseconds since the epoch.
    pub fn on_request(&mut self, _now: u64, _headers: HeaderBlock, _facts: &mut dyn Facts) -> Admission {
        Admission::Ignore
    }

    /// Response headers came.
    pub fn on_response_headers(&mut self, _ticket: Ticket, _headers: HeaderBlock, _facts: &mut dyn Facts) {}

    /// Whether the next `len` bytes of the response's body are wanted; ask before fetching them from the host.
    pub fn wants_body(&mut self, _ticket: Ticket, _len: usize) -> bool {
        false
    }

    /// A part of the response's body.
    pub fn on_body(&mut self, _ticket: Ticket, _bytes: &[u8]) {}

    /// Response trailers came.
    pub fn on_trailers(&mut self, _ticket: Ticket, _trailers: HeaderBlock) {}

    /// The response is whole.
    pub fn on_complete(&mut self, _now: u64, _ticket: Ticket, _facts: &mut dyn Facts) {}

    /// The stream is gone. After [`Observer::on_complete`] this changes nothing; before it, the response was cut.
    pub fn on_gone(&mut self, _now: u64, _ticket: Ticket, _facts: &mut dyn Facts) {}

    /// Time passed: ends what has run out of time.
    pub fn on_tick(&mut self, _now: u64) {}

    /// Hands over counts and log lines.
    pub fn flush(&mut self, _now: u64, _output: &mut dyn Output) {}
}
