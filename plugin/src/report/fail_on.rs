//! `--fail-on`: conditions on a report, under which the program ends with status 1.
//!
//! | expression | holds where |
//! |---|---|
//! | `diverged>0.1%`, `diverged>=3` | so many of the compared pairs diverge, as a share or as a number |
//! | `noise>10%` | so many of the compared pairs differ by noise alone |
//! | `incomplete>1%`, `skipped>5%` | so many of all pairs are incomplete, or skipped |
//! | `status>0` | so many pairs have different status codes, out of those of which both sides answered |
//! | `pairs<1000` | so many pairs were compared |
//! | `place:/items/*/price>0` | so many of the compared pairs differ at a place that the pattern names |
//! | `endpoint:GET /hello>1%` | so many of the endpoint's compared pairs diverge |
//! | `p99>+20%`, `p99>+50ms`, `p99>200ms` | the candidate is so much slower than the primary, or so slow; `p50`, `p90`, `p99` |
//! | `stopped` | some worker does not compare |
//!
//! The comparisons are `>`, `>=`, `<` and `<=`. Several expressions are separated by commas. A share of nothing holds
//! never. Of several mirrors any one suffices.

mod parse;

use std::fmt;

use mirror_core::place::{Pattern, Segment, name_matches};
use mirror_core::stats::names::Class;

pub use parse::ParseError;

use super::math::Share;
use super::model::{Mirror, Report};
use super::text::{change, duration, percent, plural, thousands};

/// One condition, with the text that it was read from.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    test: Test,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Conditions from one argument, separated by commas.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions(pub Vec<Condition>);

#[derive(Clone, Debug, PartialEq)]
enum Test {
    /// A number of pairs, or their share.
    Share(Subject, Comparison, Limit),
    /// A quantile (0 to 1) of the candidate's latency.
    Latency(f64, Comparison, Slowness),
    /// Some worker does not compare.
    Stopped,
}

/// Which pairs.
#[derive(Clone, Debug, PartialEq)]
enum Subject {
    Pairs,
    Class(Class),
    Status,
    Place(Pattern),
    Endpoint(String),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparison {
    More,
    AtLeast,
    Less,
    AtMost,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    /// A number of pairs.
    Number(u64),
    /// A rate, 0 to 1.
    Rate(f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Slowness {
    /// Longer than the primary by this share of its time.
    MoreByRate(f64),
    /// Longer than the primary by so many nanoseconds.
    MoreBy(f64),
    /// So many nanoseconds.
    Absolute(f64),
}

/// What came of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It holds; the text says where and by which numbers.
    Holds(String),
    /// It could not be tested, and the text says why: a gate that can never close should not look shut.
    Untested(String),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Holds(text) | Self::Untested(text)) = self;
        f.write_str(text)
    }
}

impl Condition {
    /// Tests the condition on every mirror of a report. Nothing is returned for those where it does not hold.
    pub fn check(&self, report: &Report) -> Vec<Finding> {
        if self.test == Test::Stopped {
            let stopped: Vec<&str> = report
                .gateways
                .iter()
                .filter(|gateway| gateway.module != crate::source::Module::Running)
                .map(|gateway| gateway.name.as_str())
                .collect();
            let text =
                || format!("--fail-on {}: holds, not every worker compares on {}", self.text, stopped.join(", "));
            return if stopped.is_empty() { Vec::new() } else { vec![Finding::Holds(text())] };
        }
        // No mirror counted anything: that is no pairs, and not nothing to test.
        let none = [Mirror::default()];
        let mirrors = if report.mirrors.is_empty() { &none } else { report.mirrors.as_slice() };
        let findings = mirrors.iter().filter_map(|mirror| {
            let of = if mirrors.len() > 1 { format!(" for {}", mirror.name) } else { String::new() };
            Some(match self.test_on(mirror)? {
                Finding::Holds(why) => Finding::Holds(format!("--fail-on {}: holds{of}, {why}", self.text)),
                Finding::Untested(why) => Finding::Untested(format!("--fail-on {}: not tested{of}, {why}", self.text)),
            })
        });
        findings.collect()
    }

    fn test_on(&self, mirror: &Mirror) -> Option<Finding> {
        match &self.test {
            Test::Stopped => None,
            Test::Share(subject, comparison, limit) => subject.test(mirror, *comparison, *limit),
            Test::Latency(quantile, comparison, slowness) => {
                let Some((primary, candidate)) =
                    mirror.latency.as_ref().and_then(|latency| latency.quantile(*quantile))
                else {
                    return Some(Finding::Untested("no latencies were recorded".to_owned()));
                };
                let (primary, candidate) = (primary as f64, candidate as f64);
                let (value, limit) = match slowness {
                    Slowness::MoreByRate(rate) => (candidate - primary, primary * rate),
                    Slowness::MoreBy(ns) => (candidate - primary, *ns),
                    Slowness::Absolute(ns) => (candidate, *ns),
                };
                let by = change(primary, candidate).unwrap_or_default();
                comparison.holds(value, limit).then(|| {
                    Finding::Holds(format!(
                        "{} against the primary's {} ({by})",
                        duration(candidate),
                        duration(primary)
                    ))
                })
            }
        }
    }
}

impl Subject {
    fn test(&self, mirror: &Mirror, comparison: Comparison, limit: Limit) -> Option<Finding> {
        let share = match self {
            Self::Pairs => Share::new(mirror.compared(), mirror.pairs()),
            Self::Class(class @ (Class::Incomplete | Class::Skipped)) => {
                Share::new(mirror.class(*class), mirror.pairs())
            }
            Self::Class(Class::Diverged) => mirror.diverged(),
            Self::Class(class) => Share::new(mirror.class(*class), mirror.compared()),
            Self::Status => mirror.differing_status(),
            Self::Place(pattern) => return test_places(pattern, mirror, comparison, limit),
            Self::Endpoint(name) => match mirror.endpoints.iter().find(|endpoint| endpoint.name == *name) {
                Some(endpoint) => endpoint.diverged(),
                None => return Some(Finding::Untested(no_endpoint(name, mirror))),
            },
        };
        comparison.holds_for(share, limit).then(|| Finding::Holds(shown(share, limit)))
    }
}

/// Holds where the pairs of one matching place suffice: pairs may differ at several, so they cannot be added up.
fn test_places(pattern: &Pattern, mirror: &Mirror, comparison: Comparison, limit: Limit) -> Option<Finding> {
    let mut matching = mirror.differing().filter(|place| matches(pattern, &place.place)).peekable();
    if matching.peek().is_none() {
        let share = Share::new(0, mirror.compared());
        return comparison.holds_for(share, limit).then(|| Finding::Holds(shown(share, limit)));
    }
    let place = matching.find(|place| comparison.holds_for(place.share(), limit))?;
    Some(Finding::Holds(format!("{} {}: {}", place.place, place.kind, shown(place.share(), limit))))
}

fn shown(share: Share, limit: Limit) -> String {
    match (limit, share.rate()) {
        (Limit::Rate(_), Some(rate)) => {
            format!("{} ({} of {})", percent(rate), thousands(share.count), plural(share.of, "pair"))
        }
        _ => format!("{} of {}", thousands(share.count), plural(share.of, "pair")),
    }
}

fn no_endpoint(name: &str, mirror: &Mirror) -> String {
    let seen: Vec<String> = mirror.endpoints.iter().take(5).map(|endpoint| format!("`{}`", endpoint.name)).collect();
    if seen.is_empty() {
        return format!("no endpoint `{name}` was seen");
    }
    let more = if mirror.endpoints.len() > seen.len() { ", …" } else { "" };
    format!("no endpoint `{name}` was seen, but {}{more}", seen.join(", "))
}

/// Whether a pattern names a place, whose array indices are shown as `*`.
fn matches(pattern: &Pattern, place: &str) -> bool {
    let named = |prefix: &str, name: &str| place.strip_prefix(prefix).is_some_and(|place| name_matches(name, place));
    match pattern {
        Pattern::Status => place == "status",
        Pattern::Header(name) => named("header:", name),
        Pattern::Trailer(name) => named("trailer:", name),
        Pattern::Cookie(name) => named("cookie:", name),
        Pattern::Body(segments) if segments.is_empty() => place == "body",
        Pattern::Body(segments) => match place.parse() {
            Ok(Pattern::Body(at)) => {
                segments.len() == at.len()
                    && segments.iter().zip(&at).all(|(want, at)| *want == Segment::Any || want == at)
            }
            _ => false,
        },
    }
}

impl Comparison {
    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::More => value > limit,
            Self::AtLeast => value >= limit,
            Self::Less => value < limit,
            Self::AtMost => value <= limit,
        }
    }

    fn holds_for(self, share: Share, limit: Limit) -> bool {
        match limit {
            Limit::Number(limit) => self.holds(share.count as f64, limit as f64),
            Limit::Rate(limit) => share.rate().is_some_and(|rate| self.holds(rate, limit)),
        }
    }
}

#[cfg(test)]
mod tests;
