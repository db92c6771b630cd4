//! The comparison of two answers: status, headers, trailers and body, by the rules of a mirror.
//!
//! | file | what it compares |
//! |---|---|
//! | `fields` | headers and trailers by name, with `defaults` for what is ignored unless asked for |
//! | `cookies` | `set-cookie` by cookie and attribute |
//! | `body` | bodies: decodes them (`encoding`), tells what they are (`media`) and hands them to one of the next |
//! | `json`, `text`, `grpc` | bodies of one kind |
//!
//! `shown` decides what of a value may be shown. Equal answers are found equal without allocating; only what differs
//! costs more.

mod body;
mod cookies;
mod defaults;
mod encoding;
mod fields;
mod grpc;
pub mod json;
mod media;
mod shown;
mod sink;
mod text;

use crate::answer::Answer;
use crate::config::Mirror;
use crate::divergence::{Divergence, Kind};
use crate::outcome::Skip;
use crate::place::{Pattern, Place};

pub use defaults::{Group, IGNORED_BY_DEFAULT};
pub use sink::Sink;

/// A mirror's rules and caps, made ready for comparing. Built once per configuration.
#[derive(Debug)]
pub struct Plan {
    /// The rules for JSON bodies.
    pub body: json::BodyRules,
    status_ignored: bool,
    body_ignored: bool,
    /// A rule redacts something inside bodies: what is not read as JSON then shows nothing at all.
    body_redacted: bool,
    headers: fields::NameRules,
    trailers: fields::NameRules,
    cookies: cookies::CookieRules,
    limits: encoding::Limits,
}

impl Plan {
    /// Makes a mirror's rules ready.
    pub fn new(mirror: &Mirror) -> Self {
        let rules = &mirror.rules;
        let whole_body = |pattern: &Pattern| matches!(pattern, Pattern::Body(segments) if segments.is_empty());
        Self {
            body: json::BodyRules::new(rules),
            status_ignored: rules.ignore.contains(&Pattern::Status),
            body_ignored: rules.ignore.iter().any(whole_body),
            body_redacted: rules.redact.iter().any(|pattern| matches!(pattern, Pattern::Body(_))),
            headers: fields::NameRules::headers(rules),
            trailers: fields::NameRules::trailers(rules),
            cookies: cookies::CookieRules::new(rules),
            limits: encoding::Limits { bytes: mirror.caps.decoded_bytes, ratio: mirror.caps.decoded_ratio },
        }
    }
}

/// What a comparison found.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Each place and kind once, at most [`Sink::MOST`] of them.
    pub divergences: Vec<Divergence>,
    /// How many more there were.
    pub dropped: usize,
    /// Why a part (always the body) was not compared.
    pub skipped: Option<Skip>,
}

/// Compares a shadow's answer with the primary's. `method` is the request's.
pub fn compare(plan: &Plan, method: &str, primary: &Answer, shadow: &Answer) -> Comparison {
    let mut sink = Sink::default();
    if primary.status != shadow.status && !plan.status_ignored {
        let [ours, theirs] = [primary.status, shadow.status].map(|status| Some(status.to_string()));
        sink.add(Place::status(), Kind::Value, ours, theirs);
    }
    fields::compare(plan, method, primary, shadow, &mut sink);
    let skipped = body::compare(plan, method, primary, shadow, &mut sink);
    let (divergences, dropped) = sink.into_parts();
    Comparison { divergences, dropped, skipped }
}
