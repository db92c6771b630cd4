//! Makes a [`Report`] of a [`Snapshot`]: sorts counters by mirror, decides what is noise, orders what is left.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use mirror_core::divergence::Kind;
use mirror_core::noise::is_noise;
use mirror_core::outcome::Outcome;
use mirror_core::stats::Tally;
use mirror_core::stats::names::{Class, Diagnostic, Metric, Named, Side};

use super::examples::Examples;
use super::model::{CLASSES, Endpoint, Gateway, Latency, Mirror, Missing, Other, Place, Report, Span, Statuses};
use crate::source::{Gathered, Instance, Snapshot};

/// Makes the report of what `snapshot` holds, with `examples` where they fit.
pub fn report(snapshot: &Snapshot, examples: &Examples) -> Report {
    let mut mirrors: BTreeMap<String, Counts> = BTreeMap::new();
    let mut diagnostics: BTreeMap<Diagnostic, u64> = BTreeMap::new();
    for (metric, &n) in &snapshot.counters {
        match (metric.mirror(), metric) {
            (Some(mirror), metric) => mirrors.entry(mirror.as_str().to_owned()).or_default().add(metric, n),
            (None, Metric::Diagnostic { what, mirror: None }) => *diagnostics.entry(*what).or_default() += n,
            _ => {}
        }
    }
    // An Envoy keeps a counter for ever: what counted nothing in the time that is reported on is no mirror.
    let mirrors = mirrors.into_iter().filter(|(_, counts)| !counts.is_empty());
    let clock = snapshot.instances.iter().map(|instance| instance.clock).max();
    Report {
        span: Span { until: clock.filter(|clock| *clock > 0), ..Span::default() },
        missing: Vec::new(),
        gateways: snapshot.instances.iter().map(gateway).collect(),
        mirrors: mirrors.map(|(name, counts)| counts.mirror(name, examples)).collect(),
        diagnostics: diagnostics.into_iter().filter(|(_, n)| *n > 0).collect(),
        narrowed: false,
    }
}

/// Makes the report of what several Envoys have counted, with those that are missing and the time that it covers.
pub fn gathered(gathered: &Gathered, examples: &Examples) -> Report {
    let mut report = report(&gathered.sum(), examples);
    let missing = gathered.missing.iter().cloned();
    report.missing = missing.map(|(name, reason)| Missing { name, reason }).collect();
    report.span = Span {
        since: gathered.since,
        until: gathered.until.or(report.span.until),
        began_anew: gathered.began_anew.clone(),
    };
    report
}

fn gateway(instance: &Instance) -> Gateway {
    Gateway {
        name: instance.name.clone(),
        envoy: instance.envoy.clone(),
        uptime: instance.uptime,
        workers: instance.workers,
        alive: instance.alive(),
        module: instance.module(),
        builds: instance.builds.clone(),
    }
}

/// How often a place differed in one way.
#[derive(Default)]
struct Tallies {
    diverged: u64,
    noise: u64,
    secondary: u64,
}

impl Tallies {
    fn add(&mut self, tally: Tally, n: u64) {
        match tally {
            Tally::Diverged => self.diverged += n,
            Tally::Noise => self.noise += n,
            Tally::Secondary => self.secondary += n,
        }
    }

    /// Pairs in which candidate and primary differ.
    fn candidate(&self) -> u64 {
        self.diverged + self.noise
    }
}

/// The counters of one mirror, by family.
#[derive(Default)]
struct Counts {
    outcomes: BTreeMap<Outcome, u64>,
    endpoints: BTreeMap<String, BTreeMap<Class, u64>>,
    places: BTreeMap<(String, Kind), Tallies>,
    statuses: BTreeMap<(u16, u16), u64>,
    latency: BTreeMap<Side, BTreeMap<u16, u64>>,
    triples: u64,
    other: Other,
    diagnostics: BTreeMap<Diagnostic, u64>,
}

impl Counts {
    fn is_empty(&self) -> bool {
        self.outcomes.is_empty() && self.diagnostics.is_empty()
    }

    fn add(&mut self, metric: &Metric, n: u64) {
        if n == 0 {
            return;
        }
        match metric {
            Metric::Pairs { outcome, .. } => *self.outcomes.entry(*outcome).or_default() += n,
            Metric::Endpoint { endpoint: Named::One(endpoint), class, .. } => {
                *self.endpoints.entry(endpoint.as_str().to_owned()).or_default().entry(*class).or_default() += n;
            }
            Metric::Endpoint { endpoint: Named::Other, .. } => self.other.endpoints += n,
            Metric::Place { place: Named::One(place), kind, tally, .. } => {
                let key = (place.as_str().to_owned(), *kind);
                self.places.entry(key).or_default().add(*tally, n);
            }
            Metric::Place { place: Named::Other, tally: Tally::Diverged, .. } => self.other.places += n,
            Metric::Place { place: Named::Other, .. } => {}
            Metric::Status { statuses: Named::One(statuses), .. } => *self.statuses.entry(*statuses).or_default() += n,
            Metric::Status { statuses: Named::Other, .. } => self.other.statuses += n,
            Metric::Latency { side, bucket, .. } => {
                *self.latency.entry(*side).or_default().entry(*bucket).or_default() += n;
            }
            Metric::Triples { .. } => self.triples += n,
            Metric::Diagnostic { what, .. } => *self.diagnostics.entry(*what).or_default() += n,
            Metric::Alive { .. } | Metric::Build { .. } => {}
        }
    }

    fn mirror(mut self, name: String, examples: &Examples) -> Mirror {
        let latency = self.latency.remove(&Side::Primary).zip(self.latency.remove(&Side::Candidate));
        let mut mirror = Mirror {
            candidate: None,
            outcomes: Outcome::all().filter_map(|outcome| Some((outcome, *self.outcomes.get(&outcome)?))).collect(),
            triples: self.triples,
            places: Vec::new(),
            endpoints: self.endpoints.into_iter().map(|(name, pairs)| endpoint(name, &pairs)).collect(),
            statuses: self
                .statuses
                .into_iter()
                .map(|((primary, candidate), pairs)| Statuses { primary, candidate, pairs })
                .collect(),
            latency: latency.map(|(primary, candidate)| Latency { primary, candidate }),
            other: self.other,
            diagnostics: self.diagnostics.into_iter().collect(),
            name,
        };
        mirror.places = places(&mirror, self.places, examples);
        mirror.endpoints.sort_by(|a, b| {
            let rate = |endpoint: &Endpoint| endpoint.diverged().rate().unwrap_or(0.0);
            rate(b).total_cmp(&rate(a)).then(b.total().cmp(&a.total()))
        });
        mirror.statuses.sort_by_key(|row| (row.primary == row.candidate, Reverse(row.pairs)));
        mirror
    }
}

fn places(mirror: &Mirror, tallies: BTreeMap<(String, Kind), Tallies>, examples: &Examples) -> Vec<Place> {
    let compared = mirror.compared();
    // How a place differs may vary by chance (a field that is sometimes missing), so noise is asked of its kinds together,
    // as the module does: what is missing, added or of another type is explained by its like alone, what says something
    // else by anything.
    let mut of_place: BTreeMap<(&str, bool), (u64, u64)> = BTreeMap::new();
    for ((place, kind), tallies) in &tallies {
        for shape in [true, false] {
            let (candidate, secondary) = of_place.entry((place, shape)).or_default();
            *candidate += if kind.is_of_shape() == shape { tallies.candidate() } else { 0 };
            *secondary += if kind.is_of_shape() || !shape { tallies.secondary } else { 0 };
        }
    }
    let noisy: BTreeSet<(String, bool)> = of_place
        .into_iter()
        .filter(|(_, (candidate, secondary))| {
            // Candidates were compared in all pairs, secondaries in the triples alone.
            let in_triples = u128::from(*candidate) * u128::from(mirror.triples) / u128::from(compared.max(1));
            is_noise(mirror.triples, u64::try_from(in_triples).unwrap_or(u64::MAX), *secondary)
        })
        .map(|((place, shape), _)| (place.to_owned(), shape))
        .collect();
    let mut places: Vec<Place> = tallies
        .into_iter()
        // What only the secondary showed says nothing about the candidate.
        .filter(|(_, tallies)| tallies.candidate() > 0)
        .map(|((place, kind), Tallies { diverged, noise, secondary })| Place {
            is_noise: diverged == 0 || noisy.contains(&(place.clone(), kind.is_of_shape())),
            example: examples.find(&mirror.name, &place, kind).cloned(),
            place,
            kind,
            diverged,
            noise,
            secondary,
            compared,
        })
        .collect();
    places.sort_by_key(|place| (place.is_noise, Reverse(place.share().count)));
    places
}

fn endpoint(name: String, pairs: &BTreeMap<Class, u64>) -> Endpoint {
    Endpoint { name, pairs: CLASSES.map(|class| pairs.get(&class).copied().unwrap_or(0)) }
}

#[cfg(test)]
mod tests;
