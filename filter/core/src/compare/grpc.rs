//! gRPC bodies: messages, each behind one byte of flags and four of length, compared by their bytes. Packed messages are
//! unpacked first, so that a message matches however its sender packed it.

use std::borrow::Cow;

use super::encoding::{self, Limits};
use super::{Sink, shown, text};
use crate::answer::Answer;
use crate::divergence::Kind;
use crate::outcome::Skip;
use crate::place::Place;

/// The flag of a message that is packed as `grpc-encoding` says.
const PACKED: u8 = 1;

/// Compares the messages of two bodies. `ours` and `theirs` are the bodies without content encodings.
///
/// # Errors
/// Why messages could not be unpacked.
pub(super) fn compare(
    (primary, ours): (&Answer, &[u8]),
    (shadow, theirs): (&Answer, &[u8]),
    limits: Limits,
    redacted: bool,
    sink: &mut Sink,
) -> Result<(), Skip> {
    if !(is_framed(ours) && is_framed(theirs)) {
        text::compare_bytes(ours, theirs, redacted, sink);
        return Ok(());
    }
    let mut ours = Messages::new(primary, ours, limits);
    let mut theirs = Messages::new(shadow, theirs, limits);
    let mut number = 0_usize;
    loop {
        number = number.saturating_add(1);
        let (our, their) = (ours.next()?, theirs.next()?);
        let (kind, at) = match (&our, &their) {
            (None, None) => return Ok(()),
            (Some(_), None) => (Kind::Missing, 0),
            (None, Some(_)) => (Kind::Added, 0),
            (Some(one), Some(other)) => match text::first_difference(one, other) {
                None => continue,
                Some(at) => (Kind::Value, at),
            },
        };
        let show = |message: Option<Cow<'_, [u8]>>| {
            let message = message?;
            let hex = text::hex(&message, at);
            Some(if redacted { shown::body(&[], true) } else { format!("message {number}, offset {at}: {hex}") })
        };
        sink.add(Place::body(), kind, show(our), show(their));
        if kind != Kind::Value {
            return Ok(());
        }
    }
}

/// Whether `body` is nothing but whole messages.
fn is_framed(mut body: &[u8]) -> bool {
    while !body.is_empty() {
        match split(body) {
            Some((_, _, rest)) => body = rest,
            None => return false,
        }
    }
    true
}

/// The flags and the bytes of the first message, and what follows it.
fn split(body: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[flags, a, b, c, d], rest) = body.split_first_chunk()?;
    let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).ok()?;
    let (message, rest) = rest.split_at_checked(length)?;
    Some((flags, message, rest))
}

/// The unpacked messages of a body.
struct Messages<'a> {
    rest: &'a [u8],
    encoding: &'a str,
    limits: Limits,
}

impl<'a> Messages<'a> {
    fn new(answer: &'a Answer, rest: &'a [u8], limits: Limits) -> Self {
        Self { rest, encoding: answer.headers.get_str("grpc-encoding").unwrap_or("identity"), limits }
    }

    fn next(&mut self) -> Result<Option<Cow<'a, [u8]>>, Skip> {
        let Some((flags, message, rest)) = split(self.rest) else { return Ok(None) };
        self.rest = rest;
        if flags & PACKED == 0 {
            return Ok(Some(Cow::Borrowed(message)));
        }
        let unpacked = encoding::decode([self.encoding], message, self.limits)?;
        self.limits.bytes = self.limits.bytes.saturating_sub(unpacked.len());
        Ok(Some(unpacked))
    }
}
