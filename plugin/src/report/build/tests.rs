//! What becomes of counters: sums, noise, order.

use mirror_core::outcome::{Incomplete, Skip};
use mirror_core::stats::names::Text;

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
