//! What a mirror's metrics say, decoded by the names' own code.

use std::collections::BTreeMap;

use mirror_core::divergence::Kind;
use mirror_core::stats::Tally;
use mirror_core::stats::names::{Class, Diagnostic, Metric, Named};

/// Counts by what they count. What was never counted is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pairs by outcome, for example `match` or `skipped (too_large)`.
    pub outcomes: BTreeMap<String, u64>,
    /// Pairs by endpoint and class; `None` is the rest.
    pub endpoints: BTreeMap<(Option<String>, Class), u64>,
    /// Pairs by what differed; `None` is the rest.
    pub places: BTreeMap<(Option<String>, Kind, Tally), u64>,
    /// Pairs by status codes; `None` is the rest.
    pub statuses: BTreeMap<Option<(u16, u16)>, u64>,
    /// Pairs whose secondary was compared.
    pub triples: u64,
    /// Answers by side, whatever time they took.
    pub latencies: BTreeMap<String, u64>,
    /// Events outside of pairs.
    pub diagnostics: BTreeMap<Diagnostic, u64>,
    /// How many workers' modules ever gave a sign of life.
    pub alive: usize,
}

impl Counts {
    /// Reads Envoy's stats, as its admin interface names them, of all mirrors together.
    pub fn of(stats: &BTreeMap<String, u64>) -> Self {
        Self::of_some(stats, |_| true)
    }

    /// The same of the mirror `name` alone.
    pub fn of_mirror(stats: &BTreeMap<String, u64>, name: &str) -> Self {
        Self::of_some(stats, |metric| metric.mirror().is_some_and(|text| text.as_str() == name))
    }

    fn of_some(stats: &BTreeMap<String, u64>, wanted: impl Fn(&Metric) -> bool) -> Self {
        let mut counts = Self::default();
        for (name, n) in stats {
            if let Some(metric) = Metric::decode(name)
                && *n > 0
                && wanted(&metric)
            {
                counts.add(metric, *n);
            }
        }
        counts
    }

    fn add(&mut self, metric: Metric, n: u64) {
        match metric {
            Metric::Pairs { outcome, .. } => *self.outcomes.entry(outcome.to_string()).or_default() += n,
            Metric::Endpoint { class, endpoint, .. } => {
                *self.endpoints.entry((one(endpoint).map(|text| text.as_str().to_owned()), class)).or_default() += n;
            }
            Metric::Place { kind, tally, place, .. } => {
                *self.places.entry((one(place).map(|text| text.as_str().to_owned()), kind, tally)).or_default() += n;
            }
            Metric::Status { statuses, .. } => *self.statuses.entry(one(statuses)).or_default() += n,
            Metric::Latency { side, .. } => *self.latencies.entry(format!("{side:?}")).or_default() += n,
            Metric::Triples { .. } => self.triples += n,
            Metric::Diagnostic { what, .. } => *self.diagnostics.entry(what).or_default() += n,
            Metric::Alive { .. } => self.alive += 1,
            Metric::Build { .. } => {}
        }
    }

    /// All pairs.
    pub fn pairs(&self) -> u64 {
        self.outcomes.values().sum()
    }

    /// Asserts that the outcomes are these and no others.
    ///
    /// # Panics
    /// When they are not.
    pub fn assert_outcomes(&self, expected: &[(&str, u64)]) {
        let expected: BTreeMap<_, _> = expected.iter().map(|(outcome, n)| ((*outcome).to_owned(), *n)).collect();
        assert_eq!(self.outcomes, expected, "{self:#?}");
    }

    /// The places that really differed: `PLACE KIND` and in how many pairs.
    pub fn diverged(&self) -> BTreeMap<String, u64> {
        self.places_of(Tally::Diverged)
    }

    /// The places of one tally: `PLACE KIND` and in how many pairs.
    pub fn places_of(&self, tally: Tally) -> BTreeMap<String, u64> {
        let of_tally = self.places.iter().filter(|((_, _, counted_as), _)| *counted_as == tally);
        of_tally
            .map(|((place, kind, _), n)| (format!("{} {kind}", place.as_deref().unwrap_or("(others)")), *n))
            .collect()
    }
}

fn one<T>(named: Named<T>) -> Option<T> {
    match named {
        Named::One(value) => Some(value),
        Named::Other => None,
    }
}
