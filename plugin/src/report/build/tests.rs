//! What becomes of counters: sums, noise, order.

use mirror_core::outcome::{Incomplete, Skip};
use mirror_core::stats::histogram::bucket_of;
use mirror_core::stats::names::Text;
use proptest::prelude::*;

use super::*;
use crate::report::model::Place;
use crate::report::samples::{Sample, full};

fn place<'a>(report: &'a Report, name: &str) -> &'a Place {
    report.mirrors[0].places.iter().find(|place| place.place == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn counts_add_up() {
    let mirror = &full().report().mirrors[0];
    assert_eq!(mirror.pairs(), 954 + 149 + 100 + 4 + 10);
    assert_eq!(mirror.compared(), 954 + 149 + 100);
    assert_eq!(mirror.not_compared(), 14);
    assert_eq!(mirror.endpoints.iter().map(|endpoint| endpoint.total()).sum::<u64>(), mirror.pairs());
    assert_eq!(mirror.differing_status(), super::super::math::Share::new(3, 1203));
    let outcomes: Vec<Outcome> = mirror.outcomes.iter().map(|(outcome, _)| *outcome).collect();
    let in_order = [
        Outcome::Match,
        Outcome::Diverged,
        Outcome::Noise,
        Outcome::Incomplete(Incomplete::ShadowSlow),
        Outcome::Skipped(Skip::TooLarge),
    ];
    assert_eq!(outcomes, in_order);
}

#[test]
fn what_matters_comes_first() {
    let report = full().report();
    let places: Vec<_> = report.mirrors[0].places.iter().map(|place| (place.is_noise, place.share().count)).collect();
    let expected = [(false, 120), (false, 29), (false, 7), (false, 3), (false, 1), (true, 1192), (true, 100)];
    assert_eq!(places, expected);
}

#[test]
fn noise_is_what_differs_from_itself_as_often() {
    let sample = |triples, tallies| {
        let sample = Sample::new("a/b").pairs(Outcome::Match, 500).pairs(Outcome::Diverged, 500).triples(triples);
        sample.place("/x", Kind::Value, tallies).report()
    };
    for (triples, tallies, is_noise) in [
        (1000, [500, 0, 0], false),
        (1000, [500, 0, 490], true),
        (1000, [500, 0, 20], false),
        (1000, [0, 500, 500], true),
        // A tenth of the pairs had a secondary: 50 of the 500 are to be compared with its 48.
        (100, [500, 0, 48], true),
        (100, [500, 0, 5], false),
        (0, [500, 0, 0], false),
    ] {
        assert_eq!(place(&sample(triples, tallies), "/x").is_noise, is_noise, "{triples} {tallies:?}");
    }
}

#[test]
fn what_says_something_else_each_time_does_not_explain_what_is_missing() {
    let report = Sample::new("a/b")
        .pairs(Outcome::Diverged, 1000)
        .triples(1000)
        .place("/x", Kind::Value, [300, 0, 300])
        .place("/x", Kind::Missing, [4, 0, 1])
        // Here it comes and goes by itself, which explains that its value differs too.
        .place("/z", Kind::Missing, [8, 0, 4])
        .place("/z", Kind::Added, [4, 0, 8])
        .place("/z", Kind::Value, [2, 0, 1])
        .report();
    let noise = |place: &str, kind: Kind| {
        let places = &report.mirrors[0].places;
        places.iter().find(|found| found.place == place && found.kind == kind).map(|found| found.is_noise)
    };
    assert_eq!((noise("/x", Kind::Value), noise("/x", Kind::Missing)), (Some(true), Some(false)));
    for kind in [Kind::Missing, Kind::Added, Kind::Value] {
        assert_eq!(noise("/z", kind), Some(true), "{kind}");
    }
}

#[test]
fn what_only_the_secondary_showed_is_left_out() {
    let report = Sample::new("a/b").pairs(Outcome::Match, 100).triples(100).place("/x", Kind::Value, [0, 0, 50]);
    assert_eq!(report.report().mirrors[0].places, []);
}

#[test]
fn a_mirror_that_counted_nothing_is_none() {
    let mut snapshot = Snapshot::default();
    snapshot.counters.insert(Metric::Pairs { mirror: Text::new("a/b"), outcome: Outcome::Match }, 0);
    assert_eq!(report(&snapshot, &Examples::default()).mirrors, []);
}

/// What an Envoy has counted whose answers took so long: the primary's and the candidate's, in nanoseconds.
fn envoy(answers: &[(u64, u64)]) -> Snapshot {
    let mut snapshot = Snapshot { instances: vec![Instance::default()], ..Snapshot::default() };
    let mut count = |metric| *snapshot.counters.entry(metric).or_default() += 1;
    for (primary, candidate) in answers {
        let mirror = || Text::new("a/b");
        count(Metric::Pairs { mirror: mirror(), outcome: Outcome::Match });
        for (side, ns) in [(Side::Primary, *primary), (Side::Candidate, *candidate)] {
            count(Metric::Latency { mirror: mirror(), side, bucket: bucket_of(ns) });
        }
    }
    snapshot
}

/// Of all times the one that a share `q` of them did not exceed.
fn exact(mut times: Vec<u64>, q: f64) -> u64 {
    times.sort_unstable();
    let rank = (q * times.len() as f64).ceil().max(1.0) as usize;
    times[rank - 1]
}

proptest! {
    #[test]
    fn quantiles_over_several_envoys_are_those_of_all_their_answers(
        envoys in prop::collection::vec(prop::collection::vec((1_u64..1 << 40, 1_u64..1 << 40), 1..60), 1..5),
        q in prop::sample::select(vec![0.5, 0.9, 0.99]),
    ) {
        let counted = Gathered { envoys: envoys.iter().map(|answers| envoy(answers)).collect(), ..Gathered::default() };
        let report = gathered(&counted, &Examples::default());
        let (primary, candidate) = report.mirrors[0].latency.as_ref().and_then(|latency| latency.quantile(q)).expect("both");
        let (primaries, candidates) = envoys.concat().into_iter().unzip();
        prop_assert_eq!(bucket_of(primary), bucket_of(exact(primaries, q)));
        prop_assert_eq!(bucket_of(candidate), bucket_of(exact(candidates, q)));
    }
}
