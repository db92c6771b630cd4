//! One side's answer as it was seen streaming by.

use crate::headers::HeaderBlock;

/// A response: what came of it, up to the cap on bodies.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The status code; 0 before the headers came.
    pub status: u16,
    /// The headers, pseudo-headers included.
    pub headers: HeaderBlock,
    /// The body as it went over the wire, encodings and all, up to the cap.
    pub body: Vec<u8>,
    /// The body did not fit: the pair's cap or the table's budget was reached. `body` is empty then.
    pub overflow: Option<Overflow>,
    /// The trailers; empty where there are none.
    pub trailers: HeaderBlock,
}

/// Why a body was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// It is larger than the mirror's `body_bytes`.
    Cap,
    /// The table had no bytes left.
    Budget,
}

impl Answer {
    /// Bytes held, for budgets.
    pub fn size(&self) -> usize {
        self.headers.size().saturating_add(self.body.capacity()).saturating_add(self.trailers.size())
    }
}
