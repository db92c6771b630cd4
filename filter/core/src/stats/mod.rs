//! Statistics of one mirror: counters with bounded names, held here and flushed to the host now and then.

pub mod endpoint;
pub mod histogram;
pub mod names;
mod registry;

use crate::config::{EndpointTemplate, Mirror};
use crate::divergence::Kind;
use crate::outcome::Outcome;
use crate::place::Place;
use names::{Class, Metric, Side, Text};
use registry::Family;

/// How a place that differs in one pair is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tally {
    /// Primary and candidate differ, and the noise does not explain it.
    Diverged,
    /// Primary and candidate differ, and the noise explains it.
    Noise,
    /// Primary and secondary differ.
    Secondary,
}

/// What is recorded of one finished pair.
#[derive(Debug)]
pub struct Record<'a> {
    /// What became of it.
    pub outcome: Outcome,
    /// Method and path of the request as they came: `GET`, `/users/7?x=1`.
    pub method: &'a str,
    /// See `method`.
    pub path: &'a str,
    /// Status of primary and candidate, where both answered.
    pub statuses: Option<(u16, u16)>,
    /// Time from request to the response's end, in nanoseconds, of primary and candidate, where both are known.
    pub latencies: Option<(u64, u64)>,
    /// Each differing place once per kind and tally.
    pub places: &'a [(Place, Kind, Tally)],
    /// Whether the secondary's answer was compared too.
    pub secondary: bool,
}

/// The statistics of one mirror in one worker.
#[derive(Debug)]
pub struct Stats {
    mirror: Text,
    settings: Settings,
    outcomes: Family<Outcome, ()>,
    endpoints: Family<String, Class>,
    places: Family<String, (Kind, Tally)>,
    statuses: Family<(u16, u16), ()>,
    latencies: Family<(Side, u16), ()>,
    triples: Family<(), ()>,
    /// The endpoint at hand; kept so that its memory is.
    endpoint: String,
}

/// What the configuration says about counting.
#[derive(Debug)]
struct Settings {
    templates: Vec<EndpointTemplate>,
    endpoints: usize,
    places: usize,
    statuses: usize,
}

impl Settings {
    fn new(mirror: &Mirror) -> Self {
        let caps = &mirror.caps;
        Self {
            templates: mirror.rules.endpoints.clone(),
            endpoints: caps.endpoints,
            places: caps.places,
            statuses: caps.statuses,
        }
    }
}

/// For families whose keys are few by nature.
const NO_CAP: usize = usize::MAX;

impl Stats {
    /// Starts at nothing.
    pub fn new(mirror: &Mirror) -> Self {
        Self {
            mirror: Text::new(&mirror.name),
            settings: Settings::new(mirror),
            outcomes: Family::new(),
            endpoints: Family::new(),
            places: Family::new(),
            statuses: Family::new(),
            latencies: Family::new(),
            triples: Family::new(),
            endpoint: String::new(),
        }
    }

    /// Takes over a changed configuration of the same mirror; counts and known names stay.
    pub fn reconfigure(&mut self, mirror: &Mirror) {
        self.settings = Settings::new(mirror);
    }

    /// Counts one finished pair.
    pub fn record(&mut self, record: &Record<'_>) {
        let mirror = || self.mirror.clone();
        let settings = &self.settings;

        let outcome = record.outcome;
        self.outcomes.count(&outcome, (), NO_CAP, |_| Metric::Pairs { mirror: mirror(), outcome });

        endpoint::fold(record.method, record.path, &settings.templates, &mut self.endpoint);
        let class = Class::of(outcome);
        self.endpoints.count(self.endpoint.as_str(), class, settings.endpoints, |endpoint| Metric::Endpoint {
            mirror: mirror(),
            class,
            endpoint: endpoint.map(Text::new),
        });

        for (place, kind, tally) in record.places {
            let (kind, tally) = (*kind, *tally);
            // Bounded here, since a body's keys may be of any length and known places are kept.
            let place = names::bounded(place.as_str());
            self.places.count(place.as_ref(), (kind, tally), settings.places, |place| Metric::Place {
                mirror: mirror(),
                kind,
                tally,
                place: place.map(Text::new),
            });
        }

        if let Some(statuses) = record.statuses {
            self.statuses.count(&statuses, (), settings.statuses, |statuses| Metric::Status {
                mirror: mirror(),
                statuses: statuses.map(|statuses| *statuses),
            });
        }

        if let Some((primary, candidate)) = record.latencies {
            for (side, ns) in [(Side::Primary, primary), (Side::Candidate, candidate)] {
                let bucket = histogram::bucket_of(ns);
                self.latencies.count(&(side, bucket), (), NO_CAP, |_| Metric::Latency {
                    mirror: mirror(),
                    side,
                    bucket,
                });
            }
        }

        if record.secondary {
            self.triples.count(&(), (), NO_CAP, |_| Metric::Triples { mirror: mirror() });
        }
    }

    /// Hands over what was counted since the last flush: metric names (without Envoy's `wasmcustom.`) and increments.
    pub fn flush(&mut self, count: &mut dyn FnMut(&str, u64)) {
        self.outcomes.flush(count);
        self.endpoints.flush(count);
        self.places.flush(count);
        self.statuses.flush(count);
        self.latencies.flush(count);
        self.triples.flush(count);
    }
}

#[cfg(test)]
mod tests;
