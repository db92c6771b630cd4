//! Snapshots made by hand, for the tests of everything that a report is turned into.

use mirror_core::divergence::Kind;
use mirror_core::example::{Line, VERSION};
use mirror_core::outcome::{Incomplete, Outcome, Skip};
use mirror_core::stats::Tally;
use mirror_core::stats::histogram::bucket_of;
use mirror_core::stats::names::{Class, Diagnostic, Metric, Named, Side, Text};

use super::build;
use super::examples::Examples;
use super::model::Report;
use crate::source::{Delivery, Instance, Snapshot};

/// A snapshot being put together, of one mirror.
pub struct Sample {
    mirror: Text,
    snapshot: Snapshot,
    examples: Examples,
}

impl Sample {
    /// One healthy Envoy that has counted nothing of the mirror yet.
    pub fn new(mirror: &str) -> Self {
        let instance = Instance {
            name: "127.0.0.1:15000".to_owned(),
            envoy: "1.40.0".to_owned(),
            workers: 2,
            uptime: 600,
            clock: 1000,
            ticks: [(0, 1000), (1, 999), (2, 1000)].into(),
            builds: vec!["0.1.0".to_owned()],
            delivery: Some(Delivery { accepted: 1, ..Delivery::default() }),
            ..Instance::default()
        };
        let snapshot = Snapshot { instances: vec![instance], ..Snapshot::default() };
        Self { mirror: Text::new(mirror), snapshot, examples: Examples::default() }
    }

    fn count(mut self, metric: impl FnOnce(Text) -> Metric, n: u64) -> Self {
        let metric = metric(self.mirror.clone());
        *self.snapshot.counters.entry(metric).or_default() += n;
        self
    }

    pub fn pairs(self, outcome: Outcome, n: u64) -> Self {
        self.count(|mirror| Metric::Pairs { mirror, outcome }, n)
    }

    pub fn triples(self, n: u64) -> Self {
        self.count(|mirror| Metric::Triples { mirror }, n)
    }

    /// A place with its three tallies: diverged, noise, secondary.
    pub fn place(self, place: &str, kind: Kind, tallies: [u64; 3]) -> Self {
        let all = [Tally::Diverged, Tally::Noise, Tally::Secondary];
        all.into_iter().zip(tallies).filter(|(_, n)| *n > 0).fold(self, |sample, (tally, n)| {
            let place = Named::One(Text::new(place));
            sample.count(|mirror| Metric::Place { mirror, kind, tally, place }, n)
        })
    }

    pub fn unnamed_place(self, tally: Tally, n: u64) -> Self {
        self.count(|mirror| Metric::Place { mirror, kind: Kind::Value, tally, place: Named::Other }, n)
    }

    pub fn endpoint(self, endpoint: &str, class: Class, n: u64) -> Self {
        let endpoint = Named::One(Text::new(endpoint));
        self.count(|mirror| Metric::Endpoint { mirror, class, endpoint }, n)
    }

    pub fn statuses(self, primary: u16, candidate: u16, n: u64) -> Self {
        self.count(|mirror| Metric::Status { mirror, statuses: Named::One((primary, candidate)) }, n)
    }

    /// `n` answers of both sides that took so many microseconds.
    pub fn latency(self, primary_us: u64, candidate_us: u64, n: u64) -> Self {
        let bucket = |us: u64| bucket_of(us * 1000);
        self.count(|mirror| Metric::Latency { mirror, side: Side::Primary, bucket: bucket(primary_us) }, n)
            .count(|mirror| Metric::Latency { mirror, side: Side::Candidate, bucket: bucket(candidate_us) }, n)
    }

    pub fn diagnostic(self, what: Diagnostic, n: u64) -> Self {
        self.count(|mirror| Metric::Diagnostic { what, mirror: Some(mirror) }, n)
    }

    pub fn example(mut self, place: &str, kind: Kind, primary: Option<&str>, candidate: Option<&str>) -> Self {
        self.examples.insert(Line {
            v: VERSION,
            time: "2026-11-30T14:00:00.000Z".to_owned(),
            mirror: self.mirror.as_str().to_owned(),
            pair: "b2c1".to_owned(),
            endpoint: "GET /items".to_owned(),
            place: place.to_owned().into(),
            kind,
            primary: primary.map(str::to_owned),
            candidate: candidate.map(str::to_owned),
            statuses: Some((200, 200)),
            latencies_us: None,
        });
        self
    }

    /// Changes what is known of the Envoy.
    pub fn instance(mut self, change: impl FnOnce(&mut Instance)) -> Self {
        change(&mut self.snapshot.instances[0]);
        self
    }

    pub fn report(&self) -> Report {
        build::report(&self.snapshot, &self.examples)
    }
}

/// All that a report can hold: differences of every kind, noise, pairs that were not compared.
pub fn full() -> Sample {
    Sample::new("default/hello")
        .pairs(Outcome::Match, 954)
        .pairs(Outcome::Diverged, 149)
        .pairs(Outcome::Noise, 100)
        .pairs(Outcome::Incomplete(Incomplete::ShadowSlow), 4)
        .pairs(Outcome::Skipped(Skip::TooLarge), 10)
        .triples(1203)
        .place("/items/*/price", Kind::Value, [120, 0, 0])
        .place("/items/*/currency", Kind::Missing, [29, 0, 0])
        .place("/an/order/with/a/very/long/path/that/needs/room/items/*/delivery/estimate", Kind::Type, [7, 0, 0])
        .place("status", Kind::Value, [3, 0, 0])
        .place("header:x-build", Kind::Added, [1, 0, 0])
        .place("/served_at", Kind::Value, [2, 1190, 1201])
        .place("/水果/名称", Kind::Order, [0, 100, 98])
        .example("/items/*/price", Kind::Value, Some("10"), Some("12"))
        .example("/items/*/currency", Kind::Missing, Some("\"EUR\""), None)
        .example(
            "/an/order/with/a/very/long/path/that/needs/room/items/*/delivery/estimate",
            Kind::Type,
            Some("\"Wednesday the 2nd of December 2026, between 10 and 12 in the morning\""),
            Some("\"Wednesday the 2nd of December 2026, between 14 and 16 in the afternoon\""),
        )
        .example("header:x-build", Kind::Added, None, Some("a\u{1b}[31m\n苹果"))
        .endpoint("GET /items", Class::Match, 854)
        .endpoint("GET /items", Class::Diverged, 149)
        .endpoint("GET /items/{id}", Class::Match, 100)
        .endpoint("GET /items/{id}", Class::Noise, 100)
        .endpoint("GET /items/{id}", Class::Incomplete, 4)
        .endpoint("GET /items/{id}", Class::Skipped, 10)
        .statuses(200, 200, 1200)
        .statuses(200, 503, 3)
        .latency(9_000, 9_500, 1000)
        .latency(20_000, 40_000, 190)
        .latency(50_000, 90_000, 13)
}

/// More places than a table lists, more than the caps let through, and no secondary.
pub fn many_places() -> Sample {
    let sample = Sample::new("shop/orders")
        .pairs(Outcome::Match, 10)
        .pairs(Outcome::Diverged, 990)
        .unnamed_place(Tally::Diverged, 1_234)
        .diagnostic(Diagnostic::ConfigRejected, 1);
    (0..30).fold(sample, |sample, i| sample.place(&format!("/fields/f{i:02}"), Kind::Value, [990 - i, 0, 0]))
}

/// Everything matches.
pub fn all_match(pairs: u64) -> Sample {
    Sample::new("default/hello")
        .pairs(Outcome::Match, pairs)
        .endpoint("GET /", Class::Match, pairs)
        .statuses(200, 200, pairs)
        .latency(1_000, 900, pairs)
}

/// No pair was counted yet.
pub fn no_pairs() -> Sample {
    Sample::new("default/hello")
}

/// One of two workers no longer compares, and the candidate does not answer.
pub fn stopped() -> Sample {
    Sample::new("default/hello")
        .pairs(Outcome::Incomplete(Incomplete::ShadowFailed), 12)
        .pairs(Outcome::Incomplete(Incomplete::ShadowAbsent), 3)
        .endpoint("GET /", Class::Incomplete, 15)
        .instance(|instance| instance.ticks = [(0, 1000), (1, 1000), (2, 900)].into())
}
