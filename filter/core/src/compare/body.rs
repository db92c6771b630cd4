//! Bodies: whether there is one, what it decodes to, and which comparison it gets.

use std::borrow::Cow;

use super::json::NotCompared;
use super::media::{self, Media};
use super::{Plan, Sink, encoding, grpc, json, shown, text};
use crate::answer::{Answer, Overflow};
use crate::divergence::Kind;
use crate::outcome::Skip;
use crate::place::Place;

/// Compares the bodies; says why where they were not compared.
pub(super) fn compare(plan: &Plan, method: &str, primary: &Answer, shadow: &Answer, sink: &mut Sink) -> Option<Skip> {
    if plan.body_ignored || method == "HEAD" {
        return None;
    }
    let sides = [primary, shadow];
    if sides.iter().any(|side| may_have_body(side.status) && media::is_event_stream(&side.headers)) {
        return Some(Skip::Streaming);
    }
    match (primary.overflow, shadow.overflow) {
        (None, None) => {}
        (Some(Overflow::Budget), _) | (_, Some(Overflow::Budget)) => return Some(Skip::Overload),
        _ => return Some(Skip::TooLarge),
    }
    if same_on_the_wire(primary, shadow) {
        return None;
    }
    let decoded = decode(plan, primary).and_then(|ours| Ok((ours, decode(plan, shadow)?)));
    match decoded {
        Ok((ours, theirs)) => compare_decoded(plan, (primary, &ours), (shadow, &theirs), sink).err(),
        Err(skip) => Some(skip),
    }
}

/// Whether an answer to anything but HEAD may have a body (RFC 9110, section 6.4.1).
fn may_have_body(status: u16) -> bool {
    !matches!(status, 100..=199 | 204 | 304)
}

/// What an answer carries; an intermediary may have left something in one that can have no body.
fn body(answer: &Answer) -> &[u8] {
    if may_have_body(answer.status) { &answer.body } else { &[] }
}

/// Equal bytes in an equal encoding mean the same, whatever they mean.
fn same_on_the_wire(primary: &Answer, shadow: &Answer) -> bool {
    let encodings = |answer| encoding::of(answer);
    body(primary) == body(shadow) && (body(primary).is_empty() || encodings(primary).eq(encodings(shadow)))
}

fn decode<'a>(plan: &Plan, answer: &'a Answer) -> Result<Cow<'a, [u8]>, Skip> {
    match body(answer) {
        // Nothing is nothing in any encoding, though no encoder makes it.
        [] => Ok(Cow::Borrowed(&[])),
        body => encoding::decode(encoding::of(answer), body, plan.limits),
    }
}

/// Compares two decoded bodies, of which each stands beside its answer.
fn compare_decoded(
    plan: &Plan,
    (primary, ours): (&Answer, &[u8]),
    (shadow, theirs): (&Answer, &[u8]),
    sink: &mut Sink,
) -> Result<(), Skip> {
    if ours == theirs {
        return Ok(());
    }
    let show = |bytes: &[u8]| Some(shown::body(bytes, plan.body_redacted));
    match (ours.is_empty(), theirs.is_empty()) {
        (false, true) => sink.add(Place::body(), Kind::Missing, show(ours), None),
        (true, false) => sink.add(Place::body(), Kind::Added, None, show(theirs)),
        _ => return compare_full(plan, (primary, ours), (shadow, theirs), sink),
    }
    Ok(())
}

/// Compares two bodies that both hold something.
fn compare_full(
    plan: &Plan,
    (primary, ours): (&Answer, &[u8]),
    (shadow, theirs): (&Answer, &[u8]),
    sink: &mut Sink,
) -> Result<(), Skip> {
    let media = [media::of(&primary.headers, ours), media::of(&shadow.headers, theirs)];
    if media == [Media::Grpc; 2] {
        return grpc::compare((primary, ours), (shadow, theirs), plan.limits, plan.body_redacted, sink);
    }
    let as_json = if media == [Media::JsonLines; 2] {
        json::compare(&array_of_lines(ours), &array_of_lines(theirs), &plan.body, sink)
    } else if media.contains(&Media::Json) {
        json::compare(ours, theirs, &plan.body, sink)
    } else {
        Err(NotCompared::NotJson { primary: true, shadow: true })
    };
    match as_json {
        Ok(()) => {}
        Err(NotCompared::TooDeep) => return Err(Skip::TooDeep),
        Err(NotCompared::TooComplex) => return Err(Skip::TooComplex),
        Err(NotCompared::NotJson { primary: true, shadow: true }) => {
            let is_text = |media| matches!(media, Media::Json | Media::JsonLines | Media::Text);
            let compare = if media.into_iter().all(is_text) { text::compare_lines } else { text::compare_bytes };
            compare(ours, theirs, plan.body_redacted, sink);
        }
        Err(NotCompared::NotJson { .. }) => {
            let show = |bytes: &[u8]| Some(shown::body(bytes, plan.body_redacted));
            sink.add(Place::body(), Kind::Type, show(ours), show(theirs));
        }
    }
    Ok(())
}

/// JSON documents on lines as one array of them, so that rules and places name them like any array's elements:
/// `/*/price`.
fn array_of_lines(text: &[u8]) -> Vec<u8> {
    let mut array = Vec::with_capacity(text.len().saturating_add(2));
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    for (i, line) in lines.enumerate() {
        array.push(if i == 0 { b'[' } else { b',' });
        array.extend_from_slice(line);
    }
    if array.is_empty() {
        array.push(b'[');
    }
    array.push(b']');
    array
}
