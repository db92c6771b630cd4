//! Examples of divergences: one JSON line each, redacted, few a minute.

use crate::divergence::Divergence;
use crate::headers::HeaderBlock;

/// One divergence, with what is needed to look into it.
#[derive(Debug)]
pub struct Example<'a> {
    /// The mirror's name.
    pub mirror: &'a str,
    /// The pair's id.
    pub pair: &'a str,
    /// Method and path of the request as they came.
    pub method: &'a str,
    /// See `method`.
    pub path: &'a str,
    /// Status of primary and candidate.
    pub statuses: Option<(u16, u16)>,
    /// Latency of primary and candidate, in nanoseconds.
    pub latencies_ns: Option<(u64, u64)>,
    /// What differs.
    pub divergence: &'a Divergence,
    /// The primary's request headers.
    pub request: &'a HeaderBlock,
}

/// Writes examples, few a minute.
#[derive(Debug)]
pub struct Writer {
    per_minute: u32,
}

impl Writer {
    /// At most `per_minute` examples a minute.
    pub fn new(per_minute: u32) -> Self {
        Self { per_minute }
    }

    /// The example's line, unless there were too many.
    pub fn write(&mut self, now_ns: u64, example: &Example<'_>) -> Option<String> {
        (self.per_minute > 0).then(|| format!("{now_ns} {} {}", example.mirror, example.divergence.place))
    }
}
