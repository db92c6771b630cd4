//! Headers and trailers, by name: what one side lacks, and values that differ.
//!
//! Two blocks with the same names in the same order, as nearly all pairs have, are walked in step without allocating.
//! Only where that fails are both sides gathered by name.

use super::{Plan, Sink, cookies, defaults, shown};
use crate::answer::Answer;
use crate::config::Rules;
use crate::divergence::Kind;
use crate::headers::HeaderBlock;
use crate::place::{Pattern, Place};
use crate::sorted::Sorted;

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

    let [ours, theirs] = [primary, shadow].map(|answer| headers(plan, answer, merged));
    let show = |name: &[u8], value: &[u8]| {
        let redacted = any(&plan.headers.redact, name) || (merged && any(&plan.trailers.redact, name));
        shown::field(name, value, redacted)
    };
    differences([&ours, &theirs], Place::header, &show, sink);
    if is_head && !any(&plan.headers.ignore, CONTENT_LENGTH.as_bytes()) {
        compare_lengths(primary, shadow, sink);
    }
    if !any(&plan.headers.ignore, b"set-cookie") {
        cookies::compare(&plan.cookies, &primary.headers, &shadow.headers, sink);
    }
    let [ours, theirs] = [primary, shadow].map(|answer| trailers(plan, answer, merged));
    let show = |name: &[u8], value: &[u8]| shown::field(name, value, any(&plan.trailers.redact, name));
    differences([&ours, &theirs], Place::trailer, &show, sink);
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
            (Some((name, _)), Some((other, _))) if name == other && !counts(name) => {
                (our, their) = (ours.next(), theirs.next());
            }
            // A field that only one side has at this point.
            (Some((name, _)), _) if !counts(name) => our = ours.next(),
            (_, Some((name, _))) if !counts(name) => their = theirs.next(),
            _ => return false,
        }
    }
}

/// Each name (of headers and trailers in lower case) with all its values as one.
pub(super) type Values = Sorted<Vec<u8>, Vec<u8>>;

/// What counts as a header of `answer`. `merged` adds what its trailers hold; the rules for either hold then.
fn headers(plan: &Plan, answer: &Answer, merged: bool) -> Values {
    let trailers = answer.trailers.iter().filter(|_| merged);
    let counts = |name: &[u8]| {
        let elsewhere = is_pseudo(name) || is_grpc_status(name) || name.eq_ignore_ascii_case(b"set-cookie");
        let ignored = plan.headers.ignores(name) || (merged && plan.trailers.ignores(name));
        !elsewhere && !ignored
    };
    joined(answer.headers.iter().chain(trailers).filter(|(name, _)| counts(name)))
}

/// What counts as a trailer of `answer`. `merged` leaves only the status of a gRPC call.
fn trailers(plan: &Plan, answer: &Answer, merged: bool) -> Values {
    let in_headers = answer.headers.iter().filter(|(name, _)| is_grpc_status(name));
    let in_trailers = answer.trailers.iter().filter(|(name, _)| !merged || is_grpc_status(name));
    joined(in_headers.chain(in_trailers).filter(|(name, _)| !is_pseudo(name) && !plan.trailers.ignores(name)))
}

/// Several values of one name mean the same as one that lists them (RFC 9110, section 5.3).
fn joined<'a>(fields: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Values {
    let mut values = Values::new();
    for (name, value) in fields {
        append(&mut values, name.to_ascii_lowercase(), b", ", value);
    }
    values
}

/// Adds a value to those that `name` has, behind `separator` where there are any.
pub(super) fn append(values: &mut Values, name: Vec<u8>, separator: &[u8], value: &[u8]) {
    match values.get_mut(&name) {
        None => values.insert(name, value.to_vec()),
        Some(known) => {
            known.extend_from_slice(separator);
            known.extend_from_slice(value);
        }
    }
}

/// Adds each name whose values differ. `shown` makes a name's value fit to be shown.
pub(super) fn differences(
    [ours, theirs]: [&Values; 2],
    place: fn(&[u8]) -> Place,
    shown: &dyn Fn(&[u8], &[u8]) -> String,
    sink: &mut Sink,
) {
    for (name, our) in ours.iter() {
        match theirs.get(name) {
            Some(their) if is_same(our, their) => {}
            Some(their) => sink.add(place(name), Kind::Value, Some(shown(name, our)), Some(shown(name, their))),
            None => sink.add(place(name), Kind::Missing, Some(shown(name, our)), None),
        }
    }
    for (name, their) in theirs.iter().filter(|(name, _)| ours.get(*name).is_none()) {
        sink.add(place(name), Kind::Added, None, Some(shown(name, their)));
    }
}

/// Whether two values are equal, but for blanks around commas: on the way some proxies join the lines of one header by
/// `, ` and some by `,`.
fn is_same(ours: &[u8], theirs: &[u8]) -> bool {
    let elements = |value| <[u8]>::split(value, |byte| *byte == b',').map(<[u8]>::trim_ascii);
    ours == theirs || elements(ours).eq(elements(theirs))
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
