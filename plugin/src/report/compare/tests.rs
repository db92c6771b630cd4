//! What counts as a change, and what may be chance.

use mirror_core::outcome::Skip;

use super::*;
use crate::report::samples::{Sample, full};
use crate::report::table::Look;

fn rate(before: (u64, u64), now: (u64, u64)) -> Rate {
    Rate { before: Share::new(before.0, before.1), now: Share::new(now.0, now.1) }
}

#[test]
fn a_rate_has_changed_where_it_is_beyond_chance() {
    for (before, now, trend) in [
        ((0, 1000), (100, 1000), Trend::Worse),
        ((100, 1000), (0, 1000), Trend::Better),
        ((0, 1000), (1, 1000), Trend::Unclear),
        ((0, 1000), (8, 1000), Trend::Worse),
        ((10, 100), (14, 100), Trend::Unclear),
        ((1000, 10_000), (1400, 10_000), Trend::Worse),
        ((100, 1000), (1000, 10_000), Trend::Unclear),
        ((5, 5), (0, 0), Trend::Unclear),
        ((0, 0), (0, 0), Trend::Unclear),
    ] {
        assert_eq!(rate(before, now).trend(), trend, "{before:?} {now:?}");
    }
}

#[test]
fn differences_have_newcombes_interval() {
    // 56 of 70 against 48 of 80: an example of Newcombe's own (1998, table II).
    let (low, high) = rate((48, 80), (56, 70)).difference().expect("not of nothing");
    assert!((low - 0.0524).abs() < 1e-4 && (high - 0.3339).abs() < 1e-4, "{low} {high}");
}

fn before() -> Sample {
    Sample::new("a/b")
        .pairs(Outcome::Match, 700)
        .pairs(Outcome::Diverged, 300)
        .place("/gone", Kind::Value, [200, 0, 0])
        .place("/stays", Kind::Value, [100, 0, 0])
        .place("/rare", Kind::Value, [1, 0, 0])
        .statuses(200, 500, 50)
        .statuses(200, 200, 950)
        .latency(10_000, 11_000, 1000)
}

fn now() -> Sample {
    Sample::new("a/b")
        .pairs(Outcome::Match, 800)
        .pairs(Outcome::Diverged, 200)
        .pairs(Outcome::Skipped(Skip::TooLarge), 100)
        .place("/new", Kind::Missing, [90, 0, 0])
        .place("/stays", Kind::Value, [110, 0, 0])
        .statuses(200, 200, 1000)
        .latency(20_000, 40_000, 1000)
}

#[test]
fn what_is_worse_stands_before_what_is_better_and_before_what_may_be_chance() {
    let comparison = compare(&before().report(), &now().report());
    let [change] = comparison.mirrors.as_slice() else { panic!("one mirror: {comparison:?}") };
    let place = |name: &str, kind| Subject::Place(name.to_owned(), kind);
    let rates: Vec<_> = change.rates.iter().map(|(subject, rate)| (subject.clone(), rate.trend())).collect();
    let expected = [
        (place("/new", Kind::Missing), Trend::Worse),
        (Subject::Outcome(Outcome::Skipped(Skip::TooLarge)), Trend::Worse),
        (place("/gone", Kind::Value), Trend::Better),
        (Subject::Status(200, 500), Trend::Better),
        (place("/rare", Kind::Value), Trend::Unclear),
        (place("/stays", Kind::Value), Trend::Unclear),
    ];
    assert_eq!(rates, expected);
    assert_eq!(change.diverged.trend(), Trend::Better);
    // Twice as slow both, but the candidate twice as slow as the primary, which it was not.
    assert_eq!(change.latency.iter().map(|row| row.trend).collect::<Vec<_>>(), [Trend::Worse; 3]);
}

#[test]
fn the_same_report_has_not_changed() {
    let comparison = compare(&full().report(), &full().report());
    let [change] = comparison.mirrors.as_slice() else { panic!("one mirror: {comparison:?}") };
    let trends = change.rates.iter().map(|(_, rate)| rate.trend()).chain(change.latency.iter().map(|row| row.trend));
    assert!(trends.chain([change.diverged.trend()]).all(|trend| trend == Trend::Unclear), "{change:?}");
}

#[test]
fn mirrors_of_one_report_alone_are_named() {
    let comparison = compare(&full().report(), &now().report());
    let names = (&comparison.only_before[..], &comparison.only_now[..]);
    assert_eq!(names, (&["default/hello".to_owned()][..], &["a/b".to_owned()][..]));
    assert_eq!(comparison.mirrors, []);
}

#[test]
fn comparisons_are_written_like_this() {
    let comparison = compare(&before().report(), &now().report());
    let look = |wide| Look { width: 80, colour: false, wide };
    insta::assert_snapshot!("table_80", table::render(&comparison, look(false)));
    insta::assert_snapshot!("wide", table::render(&comparison, look(true)));
    insta::assert_snapshot!("markdown", markdown::render(&comparison));
    insta::assert_snapshot!("json", json::render(&comparison));
    let alone = table::render(&compare(&full().report(), &now().report()), look(false));
    assert_eq!(alone, "a/b was not in the earlier report.\ndefault/hello is not in this report.\n");
}
