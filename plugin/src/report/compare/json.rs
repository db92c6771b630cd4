//! A comparison for programs: one document, as JSON or YAML. The fields of a published schema stay; new ones may come.
//!
//! `kubectl-mirror.comparison/v1`:
//!
//! | field | is |
//! |---|---|
//! | `schema` | `kubectl-mirror.comparison/v1` |
//! | `only_now[]`, `only_before[]` | mirrors of one report alone |
//! | `mirrors[]` | those of both: |
//! | `.name` | `<namespace>/<route>` |
//! | `.diverged` | the diverged pairs: a rate |
//! | `.rates[]` | a rate, and what it is of: `of` (`place`, `status`, `outcome` or `endpoint`), `what`, `how` |
//! | `.latency[]` | `quantile`, `before` and `now` (each `primary` and `candidate`, in nanoseconds), `trend` of the candidate's against the primary's |
//!
//! A rate is `before` and `now` (each `count`, `of`, and `rate`, which is null where `of` is 0), `difference` (where that of the true
//! rates lies with 95 % confidence; or null) and `trend`: `worse`, `better`, or `unclear` where it may be chance.

use serde::Serialize;

use super::{Change, Comparison, Rate, Slowness, Subject};
use crate::report::math;

/// The schema's name and version.
pub const SCHEMA: &str = "kubectl-mirror.comparison/v1";

/// Writes a comparison as JSON, indented, with a newline at its end.
pub fn render(comparison: &Comparison) -> String {
    // These types hold nothing that JSON cannot say.
    let mut text = serde_json::to_string_pretty(&Document::from(comparison)).unwrap_or_default();
    text.push('\n');
    text
}

/// Writes the same as YAML.
pub fn render_yaml(comparison: &Comparison) -> String {
    serde_saphyr::to_string(&Document::from(comparison)).unwrap_or_default()
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    only_now: &'a [String],
    only_before: &'a [String],
    mirrors: Vec<Mirror<'a>>,
}

#[derive(Serialize)]
struct Mirror<'a> {
    name: &'a str,
    diverged: Numbers,
    rates: Vec<Named>,
    latency: Vec<Quantile>,
}

#[derive(Serialize)]
struct Named {
    of: &'static str,
    what: String,
    how: String,
    #[serde(flatten)]
    numbers: Numbers,
}

#[derive(Serialize)]
struct Numbers {
    before: Share,
    now: Share,
    difference: Option<(f64, f64)>,
    trend: &'static str,
}

#[derive(Serialize)]
struct Share {
    count: u64,
    of: u64,
    rate: Option<f64>,
}

#[derive(Serialize)]
struct Quantile {
    quantile: f64,
    before: Sides,
    now: Sides,
    trend: &'static str,
}

#[derive(Serialize)]
struct Sides {
    primary: u64,
    candidate: u64,
}

impl<'a> From<&'a Comparison> for Document<'a> {
    fn from(comparison: &'a Comparison) -> Self {
        let Comparison { mirrors, only_now, only_before } = comparison;
        Self { schema: SCHEMA, only_now, only_before, mirrors: mirrors.iter().map(Mirror::from).collect() }
    }
}

impl<'a> From<&'a Change> for Mirror<'a> {
    fn from(change: &'a Change) -> Self {
        Self {
            name: &change.name,
            diverged: change.diverged.into(),
            rates: change.rates.iter().map(|(subject, rate)| named(subject, *rate)).collect(),
            latency: change.latency.iter().map(Quantile::from).collect(),
        }
    }
}

fn named(subject: &Subject, rate: Rate) -> Named {
    let (of, what, how) = match subject {
        Subject::Place(place, kind) => ("place", place.clone(), kind.to_string()),
        Subject::Status(primary, candidate) => ("status", primary.to_string(), candidate.to_string()),
        Subject::Outcome(outcome) => {
            ("outcome", outcome.class().to_owned(), outcome.reason().unwrap_or_default().to_owned())
        }
        Subject::Endpoint(endpoint) => ("endpoint", endpoint.clone(), "diverged".to_owned()),
    };
    Named { of, what, how, numbers: rate.into() }
}

impl From<Rate> for Numbers {
    fn from(rate: Rate) -> Self {
        Self {
            before: rate.before.into(),
            now: rate.now.into(),
            difference: rate.difference(),
            trend: rate.trend().as_str(),
        }
    }
}

impl From<math::Share> for Share {
    fn from(share: math::Share) -> Self {
        Self { count: share.count, of: share.of, rate: share.rate() }
    }
}

impl From<&Slowness> for Quantile {
    fn from(row: &Slowness) -> Self {
        let sides = |(primary, candidate)| Sides { primary, candidate };
        Self { quantile: row.q, before: sides(row.before), now: sides(row.now), trend: row.trend.as_str() }
    }
}
