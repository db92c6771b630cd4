//! What people get to see, as snapshots.

use mirror_core::divergence::Kind;
use mirror_core::outcome::Outcome;

use super::*;
use crate::report::model::Missing;
use crate::report::samples::{Sample, all_match, full, many_places, no_pairs, stopped};

fn shown(sample: &Sample, columns: usize) -> String {
    let text = render(&sample.report(), Look { width: columns, colour: false, wide: false });
    for line in text.lines() {
        assert!(width(line) <= columns, "{} columns: {line}", width(line));
        assert_eq!(line.trim_end(), line);
    }
    text
}

#[test]
fn all_that_there_can_be() {
    insta::assert_snapshot!("full_80", shown(&full(), 80));
    insta::assert_snapshot!("full_160", shown(&full(), 160));
}

#[test]
fn several_mirrors_are_summed_up_before_they_are_shown_one_by_one() {
    let mut report = stopped().report();
    report.mirrors.extend(many_places().pairs(Outcome::Match, 1_000_000).report().mirrors);
    report.mirrors[0].candidate = Some("hello-v2".to_owned());
    report.mirrors[1].places.truncate(3);
    let text = render(&report, Look { width: 80, colour: false, wide: false });
    insta::assert_snapshot!("two_mirrors_80", text);
}

#[test]
fn more_places_than_are_listed() {
    insta::assert_snapshot!("many_places_80", shown(&many_places(), 80));
}

#[test]
fn all_match_and_there_are_enough() {
    insta::assert_snapshot!("all_match_80", shown(&all_match(1203), 80));
}

#[test]
fn too_few_to_say() {
    insta::assert_snapshot!("too_few_80", shown(&all_match(12), 80));
}

#[test]
fn no_pairs_yet() {
    insta::assert_snapshot!("no_pairs_80", shown(&no_pairs(), 80));
}

#[test]
fn the_comparison_has_stopped() {
    insta::assert_snapshot!("stopped_80", shown(&stopped(), 80));
}

#[test]
fn what_comes_and_goes_with_the_status_is_folded() {
    let sample = || {
        let sample = Sample::new("a/b").pairs(Outcome::Match, 90).pairs(Outcome::Diverged, 10);
        let sample = sample.place("status", Kind::Value, [10, 0, 0]).place("/price", Kind::Value, [3, 0, 0]);
        sample.place("/id", Kind::Missing, [10, 0, 0]).place("/error", Kind::Added, [10, 0, 0])
    };
    insta::assert_snapshot!("with_status_80", shown(&sample(), 80));
    let wide = render(&sample().report(), Look { width: 80, colour: false, wide: true });
    assert!(["/id ", "/error "].iter().all(|place| wide.lines().any(|line| line.starts_with(place))), "{wide}");
}

#[test]
fn wide_tables_show_all() {
    let look = Look { width: 80, colour: false, wide: true };
    insta::assert_snapshot!("full_wide", render(&full().report(), look));
    let many = render(&many_places().report(), look);
    assert!(many.contains("/fields/f29") && !many.contains('…'), "{many}");
}

#[test]
fn what_is_missing_and_since_when_is_said() {
    let mut report = all_match(1203).report();
    report.span.since = Some(1_796_047_652);
    report.span.until = Some(1_796_051_252);
    report.span.began_anew = vec!["gw-0".to_owned()];
    report.missing = vec![Missing { name: "gw-1".to_owned(), reason: "no answer within 10s".to_owned() }];
    insta::assert_snapshot!("partial_80", render(&report, Look { width: 80, colour: false, wide: false }));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for sample in [full(), many_places(), all_match(12), no_pairs(), stopped()] {
        for columns in 72..=130 {
            shown(&sample, columns);
        }
    }
}

#[test]
fn colours_change_nothing_but_colours() {
    for sample in [full(), many_places(), all_match(1203), stopped()] {
        let painted = render(&sample.report(), Look { width: 80, colour: true, wide: false });
        let mut plain = painted.clone();
        for code in ["1", "2", "22", "31", "32", "33", "39"] {
            plain = plain.replace(&format!("\u{1b}[{code}m"), "");
        }
        assert!(painted.len() > plain.len());
        assert_eq!(plain, shown(&sample, 80));
    }
}
