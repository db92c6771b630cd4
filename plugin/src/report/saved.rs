//! Reads a report back that was saved with `-o json` or `-o yaml`: the document of `json`, as far as it is not derived from
//! the rest of it. Written again, it is the same document.

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use mirror_core::divergence::Kind;
use mirror_core::outcome;
use mirror_core::stats::names::{Class, Diagnostic, Word};
use serde::{Deserialize, Deserializer, de};
use thiserror::Error;

use super::json::SCHEMA;
use super::model::{self, Report};
use crate::source::Module;

/// Why a text is no saved report.
#[derive(Debug, Error)]
pub enum SavedError {
    /// It is something else, or damaged.
    #[error("this is no report as `kubectl mirror report -o json` saves it: {0}")]
    Document(String),
    /// It is of another version, or of another kind.
    #[error("its schema is {0}, and this version of kubectl-mirror reads {SCHEMA}")]
    Schema(String),
}

/// Reads a report.
///
/// # Errors
/// See [`SavedError`].
pub fn read(text: &str) -> Result<Report, SavedError> {
    let document: serde_json::Value = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| SavedError::Document(error.to_string()))?
    } else {
        serde_saphyr::from_str(text).map_err(|error| SavedError::Document(error.to_string()))?
    };
    match document.get("schema") {
        Some(schema) if schema == SCHEMA => {}
        Some(schema) => return Err(SavedError::Schema(schema.to_string())),
        None => return Err(SavedError::Document("it has no `schema`".to_owned())),
    }
    let document: Document = serde_path_to_error::deserialize(document)
        .map_err(|error| SavedError::Document(format!("{}: {}", error.path(), error.inner())))?;
    Ok(document.into())
}

/// The most that a count may be: what JSON's readers agree on, and far from where sums end.
const MOST: u64 = 1 << 53;

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(try_from = "u64")]
struct Count(u64);

impl TryFrom<u64> for Count {
    type Error = String;

    fn try_from(n: u64) -> Result<Self, String> {
        if n <= MOST { Ok(Self(n)) } else { Err(format!("{n} is more than can have been counted")) }
    }
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    span: Span,
    #[serde(default)]
    missing: Vec<Missing>,
    gateways: Vec<Gateway>,
    mirrors: Vec<Mirror>,
    #[serde(default, deserialize_with = "diagnostics")]
    diagnostics: Vec<(Diagnostic, u64)>,
}

#[derive(Default, Deserialize)]
struct Span {
    #[serde(deserialize_with = "seconds")]
    since: Option<u64>,
    #[serde(deserialize_with = "seconds")]
    until: Option<u64>,
    began_anew: Vec<String>,
}

#[derive(Deserialize)]
struct Missing {
    name: String,
    reason: String,
}

#[derive(Deserialize)]
struct Gateway {
    name: String,
    envoy: String,
    uptime: u64,
    workers: u32,
    alive: u32,
    #[serde(deserialize_with = "module")]
    module: Module,
    builds: Vec<String>,
}

#[derive(Deserialize)]
struct Mirror {
    name: String,
    candidate: Option<String>,
    triples: Count,
    outcomes: Vec<Outcome>,
    places: Vec<Place>,
    endpoints: Vec<Endpoint>,
    statuses: Vec<Statuses>,
    latency: Option<Latency>,
    other: Other,
    #[serde(deserialize_with = "diagnostics")]
    diagnostics: Vec<(Diagnostic, u64)>,
}

#[derive(Deserialize)]
#[serde(try_from = "OutcomeWords")]
struct Outcome(outcome::Outcome, u64);

#[derive(Deserialize)]
struct OutcomeWords {
    outcome: String,
    reason: Option<String>,
    pairs: Count,
}

#[derive(Deserialize)]
struct Place {
    place: String,
    kind: Kind,
    noise: bool,
    pairs: Of,
    tallies: Tallies,
    example: Option<Example>,
}

#[derive(Deserialize)]
struct Of {
    of: Count,
}

#[derive(Deserialize)]
struct Tallies {
    diverged: Count,
    noise: Count,
    secondary: Count,
}

#[derive(Deserialize)]
struct Example {
    primary: Option<String>,
    candidate: Option<String>,
    endpoint: String,
    pair: String,
}

#[derive(Deserialize)]
struct Endpoint {
    endpoint: String,
    r#match: Count,
    diverged: Count,
    noise: Count,
    incomplete: Count,
    skipped: Count,
}

#[derive(Deserialize)]
struct Statuses {
    primary: u16,
    candidate: u16,
    pairs: Count,
}

#[derive(Deserialize)]
struct Latency {
    primary: Quantiles,
    candidate: Quantiles,
}

#[derive(Deserialize)]
struct Quantiles {
    buckets: BTreeMap<u16, Count>,
}

#[derive(Deserialize)]
struct Other {
    places: Count,
    endpoints: Count,
    statuses: Count,
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let time = humantime::parse_rfc3339(&text).map_err(de::Error::custom)?;
    let since = time.duration_since(UNIX_EPOCH).map_err(de::Error::custom)?;
    Ok(Some(since.as_secs()))
}

fn module<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Module, D::Error> {
    let word = String::deserialize(deserializer)?;
    let module = Module::ALL.into_iter().find(|module| module.as_str() == word);
    module.ok_or_else(|| de::Error::custom(format!("`{word}` is no state of a module")))
}

/// Words that a later version may have added are passed over: they are beside the pairs.
fn diagnostics<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(Diagnostic, u64)>, D::Error> {
    let counts = BTreeMap::<String, Count>::deserialize(deserializer)?;
    let mut known: Vec<_> = counts.iter().filter_map(|(word, n)| Some((Diagnostic::from_word(word)?, n.0))).collect();
    known.sort_unstable();
    Ok(known)
}

impl TryFrom<OutcomeWords> for Outcome {
    type Error = String;

    fn try_from(words: OutcomeWords) -> Result<Self, String> {
        let OutcomeWords { outcome, reason, pairs } = words;
        let known = outcome::Outcome::from_words(&outcome, reason.as_deref());
        let known = known.ok_or_else(|| format!("`{outcome}` with reason {reason:?} is no outcome"))?;
        Ok(Self(known, pairs.0))
    }
}

impl From<Document> for Report {
    fn from(document: Document) -> Self {
        let Document { span, missing, gateways, mirrors, diagnostics } = document;
        Self {
            span: model::Span { since: span.since, until: span.until, began_anew: span.began_anew },
            missing: missing.into_iter().map(|Missing { name, reason }| model::Missing { name, reason }).collect(),
            gateways: gateways.into_iter().map(Into::into).collect(),
            mirrors: mirrors.into_iter().map(Into::into).collect(),
            diagnostics,
            narrowed: false,
        }
    }
}

impl From<Gateway> for model::Gateway {
    fn from(gateway: Gateway) -> Self {
        let Gateway { name, envoy, uptime, workers, alive, module, builds } = gateway;
        Self { name, envoy, uptime, workers, alive, module, builds }
    }
}

impl From<Mirror> for model::Mirror {
    fn from(mirror: Mirror) -> Self {
        let statuses =
            |row: Statuses| model::Statuses { primary: row.primary, candidate: row.candidate, pairs: row.pairs.0 };
        Self {
            name: mirror.name,
            candidate: mirror.candidate,
            outcomes: mirror.outcomes.into_iter().map(|Outcome(outcome, pairs)| (outcome, pairs)).collect(),
            triples: mirror.triples.0,
            places: mirror.places.into_iter().map(Into::into).collect(),
            endpoints: mirror.endpoints.into_iter().map(Into::into).collect(),
            statuses: mirror.statuses.into_iter().map(statuses).collect(),
            latency: mirror.latency.map(|Latency { primary, candidate }| model::Latency {
                primary: primary.buckets.into_iter().map(|(bucket, n)| (bucket, n.0)).collect(),
                candidate: candidate.buckets.into_iter().map(|(bucket, n)| (bucket, n.0)).collect(),
            }),
            other: model::Other {
                places: mirror.other.places.0,
                endpoints: mirror.other.endpoints.0,
                statuses: mirror.other.statuses.0,
            },
            diagnostics: mirror.diagnostics,
        }
    }
}

impl From<Place> for model::Place {
    fn from(place: Place) -> Self {
        Self {
            place: place.place,
            kind: place.kind,
            diverged: place.tallies.diverged.0,
            noise: place.tallies.noise.0,
            secondary: place.tallies.secondary.0,
            is_noise: place.noise,
            compared: place.pairs.of.0,
            example: place.example.map(|Example { primary, candidate, endpoint, pair }| model::Example {
                primary,
                candidate,
                endpoint,
                pair,
            }),
        }
    }
}

impl From<Endpoint> for model::Endpoint {
    fn from(endpoint: Endpoint) -> Self {
        let pairs = model::CLASSES.map(|class| match class {
            Class::Match => endpoint.r#match.0,
            Class::Diverged => endpoint.diverged.0,
            Class::Noise => endpoint.noise.0,
            Class::Incomplete => endpoint.incomplete.0,
            Class::Skipped => endpoint.skipped.0,
        });
        Self { name: endpoint.endpoint, pairs }
    }
}

#[cfg(test)]
mod tests;
