//! Reads the expressions of `--fail-on`. Mistakes are refused with their position and what would be right.

use std::fmt;
use std::str::FromStr;

use mirror_core::stats::names::Class;

use super::{Comparison, Condition, Conditions, Limit, Slowness, Subject, Test};

/// What can be tested, for those who asked for something else.
const KNOWN: &str = "known are pairs, diverged, noise, incomplete, skipped, status, place:PLACE, \
    endpoint:METHOD PATH, p50, p90, p99 and stopped; for example diverged>0.1%, place:/items/*/price>0 or p99>+20%";

/// Why an expression was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Where in the argument, counted in characters from 1.
    pub column: usize,
    /// What was found and what would be right.
    pub reason: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at character {}: {}", self.column, self.reason)
    }
}

impl std::error::Error for ParseError {}

impl FromStr for Conditions {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut reader = Reader { text, at: 0 };
        let mut conditions = vec![reader.condition()?];
        while reader.eat(",") {
            conditions.push(reader.condition()?);
        }
        Ok(Self(conditions))
    }
}

struct Reader<'a> {
    text: &'a str,
    /// How many bytes were read.
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn eat(&mut self, word: &str) -> bool {
        let eats = self.rest().starts_with(word);
        if eats {
            self.at += word.len();
        }
        eats
    }

    /// Reads up to the first of `ends`, or all that is left, without the spaces around it.
    fn until(&mut self, ends: &[char]) -> Spanned<'a> {
        let rest = self.rest();
        let read = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let start = self.at + (read.len() - read.trim_start().len());
        self.at += read.len();
        Spanned { text: read.trim(), whole: self.text, start }
    }

    fn condition(&mut self) -> Result<Condition, ParseError> {
        let before = self.at;
        let test = self.test()?;
        Ok(Condition { text: self.text[before..self.at].trim().to_owned(), test })
    }

    fn test(&mut self) -> Result<Test, ParseError> {
        // Places and paths may hold commas, so what a comma ends is told by what comes first.
        let named = ["place:", "endpoint:"].iter().any(|prefix| self.rest().trim_start().starts_with(prefix));
        let subject = self.until(if named { &['<', '>'] } else { &['<', '>', '=', ','] });
        if subject.text == "stopped" {
            return match self.rest().chars().next() {
                None | Some(',') => Ok(Test::Stopped),
                Some(_) => Err(subject.refuse("`stopped` holds or does not; it is compared with nothing")),
            };
        }
        let known = Known::read(subject)?;
        let comparison = self.comparison(subject)?;
        let limit = self.until(&[',']);
        match known {
            Known::Share(subject) => Ok(Test::Share(subject, comparison, share_limit(limit)?)),
            Known::Latency(quantile) => Ok(Test::Latency(quantile, comparison, slowness(limit)?)),
        }
    }

    fn comparison(&mut self, subject: Spanned<'_>) -> Result<Comparison, ParseError> {
        let all =
            [(">=", Comparison::AtLeast), ("<=", Comparison::AtMost), (">", Comparison::More), ("<", Comparison::Less)];
        let end = Spanned { text: "", whole: self.text, start: self.at };
        all.into_iter().find(|(sign, _)| self.eat(sign)).map(|(_, comparison)| comparison).ok_or_else(|| {
            end.refuse(format!("expected >, >=, < or <= after `{}`, for example {}>1%", subject.text, subject.text))
        })
    }
}

/// A part of the argument.
#[derive(Clone, Copy)]
struct Spanned<'a> {
    text: &'a str,
    whole: &'a str,
    start: usize,
}

impl Spanned<'_> {
    fn refuse(self, reason: impl Into<String>) -> ParseError {
        ParseError { column: self.whole[..self.start].chars().count() + 1, reason: reason.into() }
    }
}

enum Known {
    Share(Subject),
    /// A quantile, 0 to 1.
    Latency(f64),
}

impl Known {
    fn read(subject: Spanned<'_>) -> Result<Self, ParseError> {
        if let Some(pattern) = subject.text.strip_prefix("place:") {
            let pattern = pattern.parse().map_err(|error| subject.refuse(format!("{error}")))?;
            return Ok(Self::Share(Subject::Place(pattern)));
        }
        if let Some(endpoint) = subject.text.strip_prefix("endpoint:") {
            if !endpoint.contains(' ') {
                return Err(subject.refuse("an endpoint is a method and a path, for example endpoint:GET /hello>1%"));
            }
            return Ok(Self::Share(Subject::Endpoint(endpoint.to_owned())));
        }
        Ok(match subject.text {
            "pairs" => Self::Share(Subject::Pairs),
            "diverged" => Self::Share(Subject::Class(Class::Diverged)),
            "noise" => Self::Share(Subject::Class(Class::Noise)),
            "incomplete" => Self::Share(Subject::Class(Class::Incomplete)),
            "skipped" => Self::Share(Subject::Class(Class::Skipped)),
            "status" => Self::Share(Subject::Status),
            "p50" => Self::Latency(0.5),
            "p90" => Self::Latency(0.9),
            "p99" => Self::Latency(0.99),
            "" => return Err(subject.refuse(format!("expected what to test; {KNOWN}"))),
            unknown => return Err(subject.refuse(format!("`{unknown}` is nothing that can be tested; {KNOWN}"))),
        })
    }
}

fn share_limit(limit: Spanned<'_>) -> Result<Limit, ParseError> {
    if let Some(number) = limit.text.strip_suffix('%') {
        let percent = number_of(limit, number, "a share in percent, for example 0.1%")?;
        if percent > 100.0 {
            return Err(limit.refuse(format!("{percent} % is more than all pairs")));
        }
        return Ok(Limit::Rate(percent / 100.0));
    }
    limit.text.parse().map(Limit::Number).map_err(|_| {
        limit.refuse(format!("`{}` is neither a whole number of pairs nor a share in percent such as 0.1%", limit.text))
    })
}

fn slowness(limit: Spanned<'_>) -> Result<Slowness, ParseError> {
    const EXAMPLES: &str =
        "expected how much slower than the primary, +20% or +50ms, or a time such as 200ms (us, ms, s)";
    let (amount, is_more) = match limit.text.strip_prefix('+') {
        Some(amount) => (amount, true),
        None => (limit.text, false),
    };
    if let Some(number) = amount.strip_suffix('%') {
        if !is_more {
            return Err(limit.refuse(format!("`{}` lacks its sign; {EXAMPLES}", limit.text)));
        }
        return Ok(Slowness::MoreByRate(number_of(limit, number, EXAMPLES)? / 100.0));
    }
    let units = [("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let Some((number, unit)) = units.iter().find_map(|(name, unit)| Some((amount.strip_suffix(name)?, unit))) else {
        return Err(limit.refuse(format!("`{}` is no latency; {EXAMPLES}", limit.text)));
    };
    let ns = number_of(limit, number, EXAMPLES)? * unit;
    Ok(if is_more { Slowness::MoreBy(ns) } else { Slowness::Absolute(ns) })
}

/// A decimal number that is not negative. Rust's own reader would take `inf`, `nan` and `1e9` too.
fn number_of(limit: Spanned<'_>, number: &str, expected: &str) -> Result<f64, ParseError> {
    let number = number.trim();
    let is_plain =
        number.starts_with(|c: char| c.is_ascii_digit()) && number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    match number.parse::<f64>() {
        Ok(value) if is_plain => Ok(value),
        _ => Err(limit.refuse(format!("`{}` is not what belongs here; {expected}", limit.text))),
    }
}
