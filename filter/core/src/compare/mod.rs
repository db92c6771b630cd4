//! The comparison of two answers: status, headers, trailers and body, by the rules of a mirror.

pub mod json;
mod sink;

use crate::answer::Answer;
use crate::config::Mirror;
use crate::divergence::Divergence;
use crate::outcome::Skip;

pub use sink::Sink;

/// A mirror's rules and caps, made ready for comparing. Built once per configuration.
#[derive(Debug)]
pub struct Plan {
    /// The rules for JSON bodies.
    pub body: json::BodyRules,
}

impl Plan {
    /// Makes a mirror's rules ready.
    pub fn new(mirror: &Mirror) -> Self {
        Self { body: json::BodyRules::new(&mirror.rules) }
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
pub fn compare(_plan: &Plan, _method: &str, primary: &Answer, shadow: &Answer) -> Comparison {
    use crate::divergence::Kind;
    use crate::place::Place;

    let mut sink = Sink::default();
    let text = |value: &[u8]| Some(String::from_utf8_lossy(value).into_owned());
    if primary.status != shadow.status {
        sink.add(Place::status(), Kind::Value, Some(primary.status.to_string()), Some(shadow.status.to_string()));
    }
    for (name, value) in primary.headers.iter().filter(|(name, _)| !name.starts_with(b":")) {
        match std::str::from_utf8(name).ok().and_then(|name| shadow.headers.get(name)) {
            None => sink.add(Place::header(name), Kind::Missing, text(value), None),
            Some(other) if other != value => sink.add(Place::header(name), Kind::Value, text(value), text(other)),
            Some(_) => {}
        }
    }
    let skipped = match primary.overflow.or(shadow.overflow) {
        None => None,
        Some(crate::answer::Overflow::Cap) => Some(Skip::TooLarge),
        Some(crate::answer::Overflow::Budget) => Some(Skip::Overload),
    };
    if skipped.is_none() && primary.body != shadow.body {
        sink.add(Place::body(), Kind::Value, text(&primary.body), text(&shadow.body));
    }
    let (divergences, dropped) = sink.into_parts();
    Comparison { divergences, dropped, skipped }
}
