//! The report for programs: one document, as JSON or YAML. Numbers are raw (rates from 0 to 1, times in nanoseconds, counts whole),
//! words are those of the metrics, the order is stable. The fields of a published schema stay; new ones may come. `saved`
//! reads it back.
//!
//! `kubectl-mirror.report/v1`:
//!
//! | field | is |
//! |---|---|
//! | `schema` | `kubectl-mirror.report/v1` |
//! | `span` | the time that the counts cover: `since` (RFC 3339; null for all since each gateway's module started), `until`, `began_anew[]` (gateways that started to count anew within it) |
//! | `missing[]` | gateways whose counts are not in it: `name`, `reason`; empty where the report is whole |
//! | `gateways[]` | the Envoys: `name`, `envoy` (version), `uptime` (seconds), `workers`, `alive` (how many of them compare), `module` (`running`, `stopped`, `rejected`, `unfetched`, `waiting`, `missing`), `builds` (versions of the module) |
//! | `warnings[]` | `code`, `about` (a gateway or mirror), `text` |
//! | `mirrors[]` | as follows, by name |
//! | `.name`, `.candidate` | `<namespace>/<route>`; what is under test, or null where it is not known |
//! | `.verdict` | `answer` (`differs`, `same`, `too_few`, `nothing_compared`), `headline`, `notes[]` |
//! | `.pairs`, `.compared`, `.triples` | all pairs; those that were compared; those compared with a secondary too |
//! | `.diverged` | a share of the compared pairs, without those that turned out to differ by noise alone |
//! | `.outcomes[]` | `outcome`, `reason` (or null), `pairs`; they add up to `.pairs` |
//! | `.places[]` | `place`, `kind`, `noise` (whether it differs by itself), `with_status` (whether it comes and goes in no more pairs than the status differs in, and so probably in the same), `pairs` (a share of the compared pairs), `tallies` (`diverged`, `noise`, `secondary`), `example` (`primary`, `candidate`, `endpoint`, `pair` (its id); or null) |
//! | `.endpoints[]` | `endpoint`, `pairs`, and of these `match`, `diverged`, `noise`, `incomplete`, `skipped` |
//! | `.statuses[]` | `primary`, `candidate`, `pairs` |
//! | `.latency` | `primary` and `candidate`, each `p50`, `p90`, `p99` in nanoseconds and `buckets` (how many answers by number of the bucket: 0 is faster than 50 µs, each next one ends an eighth of an octave later); or null |
//! | `.other` | counts of what had no room for a name: `places`, `endpoints`, `statuses` |
//! | `.diagnostics` | counts of what happened outside of pairs, by word |
//! | `diagnostics` | the same, of what belongs to no mirror |
//!
//! A share is `count`, `of`, and `rate` and `interval` (two rates, 95 %), which are null where `of` is 0.

use std::collections::BTreeMap;

use mirror_core::stats::names::{Class, Diagnostic, Word};
use serde::Serialize;

use super::math;
use super::model::{self, Report};
use super::text::timestamp;
use super::verdict::{verdict, warnings};

/// The schema's name and version.
pub const SCHEMA: &str = "kubectl-mirror.report/v1";

/// Writes a report as JSON, indented, with a newline at its end.
pub fn render(report: &Report) -> String {
    // These types hold nothing that JSON cannot say: no maps with other keys than strings, no failing Serialize.
    let mut text = serde_json::to_string_pretty(&document(report)).unwrap_or_default();
    text.push('\n');
    text
}

/// Writes the same as YAML.
pub fn render_yaml(report: &Report) -> String {
    serde_saphyr::to_string(&document(report)).unwrap_or_default()
}

fn document(report: &Report) -> Document<'_> {
    Document {
        schema: SCHEMA,
        span: Span::from(&report.span),
        missing: report
            .missing
            .iter()
            .map(|missing| Missing { name: &missing.name, reason: &missing.reason })
            .collect(),
        gateways: report.gateways.iter().map(Gateway::from).collect(),
        warnings: warnings(report)
            .into_iter()
            .map(|warning| Warning { code: warning.code, about: warning.about, text: warning.text })
            .collect(),
        mirrors: report.mirrors.iter().map(Mirror::from).collect(),
        diagnostics: diagnostics(&report.diagnostics),
    }
}

fn diagnostics(counts: &[(Diagnostic, u64)]) -> BTreeMap<&'static str, u64> {
    counts.iter().map(|(what, n)| (what.word(), *n)).collect()
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    span: Span<'a>,
    missing: Vec<Missing<'a>>,
    gateways: Vec<Gateway<'a>>,
    warnings: Vec<Warning>,
    mirrors: Vec<Mirror<'a>>,
    diagnostics: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct Span<'a> {
    since: Option<String>,
    until: Option<String>,
    began_anew: &'a [String],
}

#[derive(Serialize)]
struct Missing<'a> {
    name: &'a str,
    reason: &'a str,
}

#[derive(Serialize)]
struct Gateway<'a> {
    name: &'a str,
    envoy: &'a str,
    uptime: u64,
    workers: u32,
    alive: u32,
    module: &'static str,
    builds: &'a [String],
}

#[derive(Serialize)]
struct Warning {
    code: &'static str,
    about: String,
    text: String,
}

#[derive(Serialize)]
struct Mirror<'a> {
    name: &'a str,
    candidate: Option<&'a str>,
    verdict: Verdict,
    pairs: u64,
    compared: u64,
    triples: u64,
    diverged: Share,
    outcomes: Vec<Outcome>,
    places: Vec<Place<'a>>,
    endpoints: Vec<Endpoint<'a>>,
    statuses: Vec<Statuses>,
    latency: Option<Latency<'a>>,
    other: Other,
    diagnostics: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct Verdict {
    answer: &'static str,
    headline: String,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Share {
    count: u64,
    of: u64,
    rate: Option<f64>,
    interval: Option<(f64, f64)>,
}

#[derive(Serialize)]
struct Outcome {
    outcome: &'static str,
    reason: Option<&'static str>,
    pairs: u64,
}

#[derive(Serialize)]
struct Place<'a> {
    place: &'a str,
    kind: &'static str,
    noise: bool,
    with_status: bool,
    pairs: Share,
    tallies: Tallies,
    example: Option<Example<'a>>,
}

#[derive(Serialize)]
struct Tallies {
    diverged: u64,
    noise: u64,
    secondary: u64,
}

#[derive(Serialize)]
struct Example<'a> {
    primary: Option<&'a str>,
    candidate: Option<&'a str>,
    endpoint: &'a str,
    pair: &'a str,
}

#[derive(Serialize)]
struct Endpoint<'a> {
    endpoint: &'a str,
    pairs: u64,
    r#match: u64,
    diverged: u64,
    noise: u64,
    incomplete: u64,
    skipped: u64,
}

#[derive(Serialize)]
struct Statuses {
    primary: u16,
    candidate: u16,
    pairs: u64,
}

#[derive(Serialize)]
struct Latency<'a> {
    primary: Quantiles<'a>,
    candidate: Quantiles<'a>,
}

#[derive(Serialize)]
struct Quantiles<'a> {
    p50: u64,
    p90: u64,
    p99: u64,
    buckets: &'a BTreeMap<u16, u64>,
}

#[derive(Serialize)]
struct Other {
    places: u64,
    endpoints: u64,
    statuses: u64,
}

impl<'a> From<&'a model::Span> for Span<'a> {
    fn from(span: &'a model::Span) -> Self {
        Self { since: span.since.map(timestamp), until: span.until.map(timestamp), began_anew: &span.began_anew }
    }
}

impl<'a> From<&'a model::Gateway> for Gateway<'a> {
    fn from(gateway: &'a model::Gateway) -> Self {
        let model::Gateway { name, envoy, uptime, workers, alive, module, builds } = gateway;
        let module = module.as_str();
        Self { name, envoy, uptime: *uptime, workers: *workers, alive: *alive, module, builds }
    }
}

impl<'a> From<&'a model::Mirror> for Mirror<'a> {
    fn from(mirror: &'a model::Mirror) -> Self {
        let said = verdict(mirror);
        let with_it = mirror.with_status();
        let with_status = |place: &model::Place| with_it.iter().any(|with_it| std::ptr::eq(*with_it, place));
        let outcome = |&(outcome, pairs): &(mirror_core::outcome::Outcome, u64)| Outcome {
            outcome: outcome.class(),
            reason: outcome.reason(),
            pairs,
        };
        let statuses =
            |row: &model::Statuses| Statuses { primary: row.primary, candidate: row.candidate, pairs: row.pairs };
        Self {
            name: &mirror.name,
            candidate: mirror.candidate.as_deref(),
            verdict: Verdict { answer: said.answer.as_str(), headline: said.headline, notes: said.notes },
            pairs: mirror.pairs(),
            compared: mirror.compared(),
            triples: mirror.triples,
            diverged: mirror.diverged().into(),
            outcomes: mirror.outcomes.iter().map(outcome).collect(),
            places: mirror.places.iter().map(|place| Place::new(place, with_status(place))).collect(),
            endpoints: mirror.endpoints.iter().map(Endpoint::from).collect(),
            statuses: mirror.statuses.iter().map(statuses).collect(),
            latency: mirror.latency.as_ref().and_then(latency),
            other: Other {
                places: mirror.other.places,
                endpoints: mirror.other.endpoints,
                statuses: mirror.other.statuses,
            },
            diagnostics: diagnostics(&mirror.diagnostics),
        }
    }
}

impl From<math::Share> for Share {
    fn from(share: math::Share) -> Self {
        Self { count: share.count, of: share.of, rate: share.rate(), interval: share.interval() }
    }
}

impl<'a> Place<'a> {
    fn new(place: &'a model::Place, with_status: bool) -> Self {
        let example = place.example.as_ref().map(|example| Example {
            primary: example.primary.as_deref(),
            candidate: example.candidate.as_deref(),
            endpoint: &example.endpoint,
            pair: &example.pair,
        });
        Self {
            place: &place.place,
            kind: place.kind.as_str(),
            noise: place.is_noise,
            with_status,
            pairs: place.share().into(),
            tallies: Tallies { diverged: place.diverged, noise: place.noise, secondary: place.secondary },
            example,
        }
    }
}

impl<'a> From<&'a model::Endpoint> for Endpoint<'a> {
    fn from(endpoint: &'a model::Endpoint) -> Self {
        Self {
            endpoint: &endpoint.name,
            pairs: endpoint.total(),
            r#match: endpoint.class(Class::Match),
            diverged: endpoint.class(Class::Diverged),
            noise: endpoint.class(Class::Noise),
            incomplete: endpoint.class(Class::Incomplete),
            skipped: endpoint.class(Class::Skipped),
        }
    }
}

fn latency(latency: &model::Latency) -> Option<Latency<'_>> {
    let (p50, p90, p99) = (latency.quantile(0.5)?, latency.quantile(0.9)?, latency.quantile(0.99)?);
    Some(Latency {
        primary: Quantiles { p50: p50.0, p90: p90.0, p99: p99.0, buckets: &latency.primary },
        candidate: Quantiles { p50: p50.1, p90: p90.1, p99: p99.1, buckets: &latency.candidate },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::report::samples::{full, no_pairs, stopped};

    #[test]
    fn documents_are_written_like_this() {
        insta::assert_snapshot!("full", render(&full().report()));
        insta::assert_snapshot!("stopped", render(&stopped().report()));
        insta::assert_snapshot!("no_pairs", render(&no_pairs().report()));
    }

    #[test]
    fn yaml_says_the_same() {
        for report in [full().report(), stopped().report(), no_pairs().report()] {
            // JSON is YAML too, and one reader for both reads numbers alike.
            let [json, yaml] = [render(&report), render_yaml(&report)]
                .map(|text| serde_saphyr::from_str::<Value>(&text).expect("a document"));
            assert_eq!(yaml, json);
        }
    }

    #[test]
    fn outcomes_and_endpoints_add_up_to_the_pairs() {
        let document: Value = serde_json::from_str(&render(&full().report())).expect("JSON");
        let mirror = &document["mirrors"][0];
        for field in ["outcomes", "endpoints"] {
            let rows = mirror[field].as_array().expect(field);
            let sum: u64 = rows.iter().filter_map(|row| row["pairs"].as_u64()).sum();
            assert_eq!(Some(sum), mirror["pairs"].as_u64(), "{field}");
        }
    }
}
