//! Headers and trailers, by name: what one side lacks, and values that differ.
//!
//! Two blocks with the same names in the same order, as nearly all pairs have, are walked in step without allocating.
//! Only where that fails are both sides sorted by name and joined.

use super::{Plan, Sink, cookies, defaults, shown};
use crate::answer::Answer;
use crate::config::Rules;
use crate::divergence::Kind;
use crate::headers::HeaderBlock;
use crate::place::{Pattern, Place};

/// The rules that concern headers, or trailers.
#[derive(Debug)]
pub(super) struct NameRules {
    ignore: Vec<String>,
    include: Vec<String>,
    redact: Vec<String>,
}

impl NameRules {
    pub(super) fn headers(rules: &Rules) -> Self {
        Self::new(rules, |pattern| match pattern {
            Pattern::Header(name) => Some(name.clone()),
            _ => None,
        })
    }

    pub(super) fn trailers(rules: &Rules) -> Self {
        Self::new(rules, |pattern| match pattern {
            Pattern::Trailer(name) => Some(name.clone()),
            _ => None,
        })
    }

    fn new(rules: &Rules, name: fn(&Pattern) -> Option<String>) -> Self {
        let names = |patterns: &[Pattern]| patterns.iter().filter_map(name).collect();
        Self { ignore: names(&rules.ignore), include: names(&rules.include), redact: names(&rules.redact) }
    }

    fn ignores(&self, name: &[u8]) -> bool {
        any(&self.ignore, name) || (defaults::ignores(name) && !any(&self.include, name))
    }
}

fn any(patterns: &[String], name: &[u8]) -> bool {
    patterns.iter().any(|pattern| defaults::names(pattern, name))
}

const CONTENT_LENGTH: &str = "content-length";

/// Compares headers, cookies and trailers.
pub(super) fn compare(plan: &Plan, method: &str, primary: &Answer, shadow: &Answer, sink: &mut Sink) {
    let is_head = method == "HEAD";
    if same_in_step(&plan.headers, is_head, &primary.headers, &shadow.headers)
        && same_in_step(&plan.trailers, false, &primary.trailers, &shadow.trailers)
    {
        return;
    }
    // gRPC sends the status of a call without messages in the headers ("trailers-only"), and with it all other
    // trailers. Where only one side does so, its headers are compared with the other's headers and trailers together.
    // The status itself is a trailer wherever it stands.
    let merged = is_trailers_only(primary) != is_trailers_only(shadow);

    let headers_of = |answer| headers(plan, answer, merged);
    differences(&headers_of(primary), &headers_of(shadow), &plan.headers, Place::header, sink);
    if is_head && !any(&plan.headers.ignore, CONTENT_LENGTH.as_bytes()) {
        compare_lengths(primary, shadow, sink);
    }
    if !any(&plan.headers.ignore, b"set-cookie") {
        cookies::compare(&plan.cookies, &primary.headers, &shadow.headers, sink);
    }
    let trailers_of = |answer| trailers(plan, answer, merged);
    differences(&trailers_of(primary), &trailers_of(shadow), &plan.trailers, Place::trailer, sink);
}

/// Whether both blocks hold the same fields in the same order, but for ignored ones. `false` says only that a closer
/// look is needed.
fn same_in_step(rules: &NameRules, is_head: bool, primary: &HeaderBlock, shadow: &HeaderBlock) -> bool {
    let counts = |name: &[u8]| {
        !is_pseudo(name) && (!rules.ignores(name) || (is_head && name.eq_ignore_ascii_case(CONTENT_LENGTH.as_bytes())))
    };
    let (mut ours, mut theirs) = (primary.iter(), shadow.iter());
    let (mut our, mut their) = (ours.next(), theirs.next());
    loop {
        match (our, their) {
            (None, None) => return true,
            (Some(one), Some(other)) if one == other => (our, their) = (ours.next(), theirs.next()),
            (Some((name, _)), _) if !counts(name) => our = ours.next(),
            (_, Some((name, _))) if !counts(name) => their = theirs.next(),
            _ => return false,
        }
    }
}

/// One name in lower case, and its value.
type Field<'a> = (Vec<u8>, &'a [u8]);

/// What counts as a header of `answer`, sorted by name. `merged` adds what its trailers hold.
fn headers<'a>(plan: &Plan, answer: &'a Answer, merged: bool) -> Vec<Field<'a>> {
    let trailers = answer.trailers.iter().filter(|_| merged);
    let counts = |name: &[u8]| {
        let elsewhere = is_pseudo(name) || is_grpc_status(name) || name.eq_ignore_ascii_case(b"set-cookie");
        !elsewhere && !plan.headers.ignores(name)
    };
    sorted(answer.headers.iter().chain(trailers).filter(|(name, _)| counts(name)))
}

/// What counts as a trailer of `answer`, sorted by name. `merged` leaves only the status of a gRPC call.
fn trailers<'a>(plan: &Plan, answer: &'a Answer, merged: bool) -> Vec<Field<'a>> {
    let in_headers = answer.headers.iter().filter(|(name, _)| is_grpc_status(name));
    let in_trailers = answer.trailers.iter().filter(|(name, _)| !merged || is_grpc_status(name));
    sorted(in_headers.chain(in_trailers).filter(|(name, _)| !is_pseudo(name) && !plan.trailers.ignores(name)))
}

/// Fields by name; those of one name stay in order.
fn sorted<'a>(fields: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Vec<Field<'a>> {
    let mut fields: Vec<_> = fields.map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
    fields.sort_by(|(one, _), (other, _)| one.cmp(other));
    fields
}

/// Adds each name whose values differ between two sorted lists.
fn differences(
    primary: &[Field<'_>],
    shadow: &[Field<'_>],
    rules: &NameRules,
    place: fn(&[u8]) -> Place,
    sink: &mut Sink,
) {
    let same_name = |(one, _): &Field<'_>, (other, _): &Field<'_>| one == other;
    let mut ours = primary.chunk_by(same_name).peekable();
    let mut theirs = shadow.chunk_by(same_name).peekable();
    loop {
        let our = ours.peek().and_then(|fields| fields.first());
        let their = theirs.peek().and_then(|fields| fields.first());
        let (name, kind) = match (our, their) {
            (None, None) => return,
            (Some((name, _)), None) => (name, Kind::Missing),
            (None, Some((name, _))) => (name, Kind::Added),
            (Some((one, _)), Some((other, _))) if one < other => (one, Kind::Missing),
            (Some((one, _)), Some((other, _))) if one > other => (other, Kind::Added),
            (Some((name, _)), Some(_)) => (name, Kind::Value),
        };
        let ours = if kind == Kind::Added { None } else { ours.next().map(joined) };
        let theirs = if kind == Kind::Missing { None } else { theirs.next().map(joined) };
        if ours != theirs {
            let redacted = any(&rules.redact, name);
            let show = |value: Option<Vec<u8>>| value.map(|value| shown::field(name, &value, redacted));
            sink.add(place(name), kind, show(ours), show(theirs));
        }
    }
}

/// All values of one name as one: several mean the same as one that lists them (RFC 9110, section 5.3).
fn joined(fields: &[Field<'_>]) -> Vec<u8> {
    let values: Vec<_> = fields.iter().map(|(_, value)| *value).collect();
    values.join(&b", "[..])
}

/// The answer to a HEAD request has no body that could decide, and its `content-length` is what the client asked for.
/// It says nothing where one side leaves it out (it may) or packs the body.
fn compare_lengths(primary: &Answer, shadow: &Answer, sink: &mut Sink) {
    let length = |answer: &Answer| {
        let packed = answer.headers.get("content-encoding").is_some();
        answer.headers.get_str(CONTENT_LENGTH).filter(|_| !packed).map(str::to_owned)
    };
    if let (Some(ours), Some(theirs)) = (length(primary), length(shadow))
        && ours != theirs
    {
        sink.add(Place::header(CONTENT_LENGTH.as_bytes()), Kind::Value, Some(ours), Some(theirs));
    }
}

fn is_pseudo(name: &[u8]) -> bool {
    name.starts_with(b":")
}

/// Whether a field is the status of a gRPC call.
fn is_grpc_status(name: &[u8]) -> bool {
    let known: [&[u8]; 3] = [b"grpc-status", b"grpc-message", b"grpc-status-details-bin"];
    known.iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn is_trailers_only(answer: &Answer) -> bool {
    answer.headers.get("grpc-status").is_some()
}
