//! Statistics of one mirror: counters with bounded names, held here and flushed to the host now and then.

pub mod endpoint;
pub mod histogram;
pub mod names;

use crate::config::Mirror;
use crate::divergence::Kind;
use crate::outcome::Outcome;
use crate::place::Place;

/// How a place that differs in one pair is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tally {
    /// Primary and candidate differ, and the noise does not explain it.
    Diverged,
    /// Primary and candidate differ, and the noise explains it.
    Noise,
    /// Primary and secondary differ.
    Secondary,
}

/// What is recorded of one finished pair.
#[derive(Debug)]
pub struct Record<'a> {
    /// What became of it.
    pub outcome: Outcome,
    /// Method and path of the request as they came: `GET`, `/users/7?x=1`.
    pub method: &'a str,
    /// See `method`.
    pub path: &'a str,
    /// Status of primary and candidate, where both answered.
    pub statuses: Option<(u16, u16)>,
    /// Time from request to the response's end, in nanoseconds, of primary and candidate, where both are known.
    pub latencies: Option<(u64, u64)>,
    /// Each differing place once per kind and tally.
    pub places: &'a [(Place, Kind, Tally)],
    /// Whether the secondary's answer was compared too.
    pub secondary: bool,
}

/// The statistics of one mirror in one worker.
#[derive(Debug)]
pub struct Stats {}

impl Stats {
    /// Starts at nothing.
    pub fn new(_mirror: &Mirror) -> Self {
        Self {}
    }

    /// Takes over a changed configuration; counts and known names stay.
    pub fn reconfigure(&mut self, _mirror: &Mirror) {}

    /// Counts one finished pair.
    pub fn record(&mut self, _record: &Record<'_>) {}

    /// Hands over what was counted since the last flush: metric names (without Envoy's `wasmcustom.`) and increments.
    pub fn flush(&mut self, _count: &mut dyn FnMut(&str, u64)) {}
}
