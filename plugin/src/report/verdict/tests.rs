//! What is said of reports made by hand.

use mirror_core::divergence::Kind;
use mirror_core::outcome::Skip;
use mirror_core::stats::Tally;

use super::*;
use crate::report::samples::{Sample, all_match, full, many_places, no_pairs, stopped};
use crate::source::Delivery;

fn said(sample: &Sample) -> (Answer, String, Vec<String>) {
    let Verdict { answer, headline, notes } = verdict(&sample.report().mirrors[0]);
    (answer, headline, notes)
}

fn sample() -> Sample {
    Sample::new("a/b")
}

const LATE_100: &str =
    "100 pairs were counted as diverged before it was known that what differs there differs by itself.";

#[test]
fn headlines() {
    let one = || sample().pairs(Outcome::Match, 999).pairs(Outcome::Diverged, 1);
    for (sample, answer, headline) in [
        (
            full(),
            Answer::Differs,
            "3 fields, 1 header and the status differ in 12.4 % of 1,203 pairs; noise explains 2 more fields",
        ),
        (one().place("body", Kind::Type, [1, 0, 0]), Answer::Differs, "the body differs in 0.10 % of 1,000 pairs"),
        (
            one().place("cookie:a", Kind::Value, [1, 0, 0]).place("cookie:a", Kind::Added, [1, 0, 0]),
            Answer::Differs,
            "1 cookie differs in 0.10 % of 1,000 pairs",
        ),
        (one().place("/x", Kind::Value, [1, 0, 0]), Answer::Differs, "1 field differs in 0.10 % of 1,000 pairs"),
        (one(), Answer::Differs, "0.10 % of 1,000 pairs differ"),
        (one().unnamed_place(Tally::Diverged, 1), Answer::Differs, "0.10 % of 1,000 pairs differ"),
        (
            all_match(1203),
            Answer::Same,
            "no difference found in 1,203 pairs (with 95 % confidence, at most 0.32 % differ)",
        ),
        (all_match(73), Answer::Same, "no difference found in 73 pairs (with 95 % confidence, at most 5.0 % differ)"),
        (all_match(72), Answer::TooFew, "not enough pairs to say (72): none differs so far"),
        (stopped(), Answer::Nothing, "none of 15 pairs could be compared"),
        (sample().pairs(Outcome::Skipped(Skip::TooLarge), 1), Answer::Nothing, "the only pair could not be compared"),
        (sample().diagnostic(Diagnostic::ConfigRejected, 1), Answer::Nothing, "no pairs yet"),
    ] {
        let (said_answer, said_headline, _) = said(&sample);
        assert_eq!((said_answer, said_headline.as_str()), (answer, headline));
    }
}

#[test]
fn endpoints_of_which_too_little_is_known_are_named() {
    let sample = || all_match(900).pairs(Outcome::Diverged, 9).place("/x", Kind::Value, [9, 0, 0]);
    let seen = |sample: Sample, endpoint: &str, class, n| sample.endpoint(endpoint, class, n);
    let one = seen(seen(sample(), "GET /a", Class::Match, 72), "GET /many", Class::Match, 73);
    let differs = seen(one.pairs(Outcome::Match, 0), "GET /differs", Class::Diverged, 9);
    assert!(said(&differs).1.ends_with(" pairs; not enough pairs on GET /a to say"), "{}", said(&differs).1);
    let two = seen(differs, "GET /b", Class::Incomplete, 100);
    assert!(said(&two).1.ends_with("; not enough pairs on GET /b and GET /a to say"), "{}", said(&two).1);
    let three = seen(two, "GET /c", Class::Match, 1);
    assert!(said(&three).1.ends_with("; not enough pairs on 3 endpoints to say"), "{}", said(&three).1);
    let same = seen(all_match(1203), "GET /a", Class::Match, 3);
    assert!(said(&same).1.ends_with(" differ); not enough pairs on GET /a to say"), "{}", said(&same).1);
}

/// A candidate that fails in 12 pairs, with a field that is missing of itself.
fn failing() -> Sample {
    sample()
        .pairs(Outcome::Match, 950)
        .pairs(Outcome::Diverged, 50)
        .place("status", Kind::Value, [12, 0, 0])
        .place("/id", Kind::Missing, [12, 0, 0])
        .place("/name", Kind::Missing, [7, 0, 0])
        .place("/error", Kind::Added, [12, 0, 0])
        .place("/price", Kind::Value, [5, 0, 0])
        .place("/stock", Kind::Missing, [13, 0, 0])
        .place("header:etag", Kind::Missing, [12, 0, 0])
}

#[test]
fn what_comes_and_goes_with_the_status_is_told_apart() {
    let (_, headline, notes) = said(&failing());
    assert_eq!(headline, "2 fields, 1 header and the status differ in 5.0 % of 1,000 pairs");
    let note = "Where the status differs, so probably does the rest of the body: /error, /id, /name come and go in no more \
                pairs than that.";
    assert!(notes.contains(&note.to_owned()), "{notes:#?}");
    let many = (0..6).fold(failing(), |sample, i| sample.place(&format!("/more{i}"), Kind::Type, [1, 0, 0]));
    assert!(said(&many).2[1].contains(": /error, /id, /more0, /more1, /more2 and 4 more come"), "{:#?}", said(&many).2);
    // One alone may as well stand for itself, and without a status there is nothing to go with.
    let one = sample().pairs(Outcome::Diverged, 100).place("status", Kind::Value, [12, 0, 0]);
    let one = one.place("/id", Kind::Missing, [12, 0, 0]);
    assert_eq!(said(&one).1, "1 field and the status differ in 24.0 % of 100 pairs");
    let none = sample().pairs(Outcome::Diverged, 100).place("/a", Kind::Missing, [2, 0, 0]);
    let none = none.place("/b", Kind::Missing, [2, 0, 0]);
    assert_eq!(said(&none).1, "2 fields differ in 4.0 % of 100 pairs");
}

#[test]
fn notes() {
    let differing = || sample().pairs(Outcome::Match, 900).pairs(Outcome::Diverged, 100).triples(1000);
    let noisy = |sample: Sample| sample.place("/t", Kind::Value, [0, 90, 95]);
    for (sample, note) in [
        (
            many_places(),
            "No secondary was compared, so places that differ by themselves (time stamps, ids) are counted too.",
        ),
        (full(), "With 95 % confidence, 10.6–14.4 % of all pairs differ."),
        (full(), "100 more pairs differ only where the primary's own version differs from itself (2 places)."),
        (full(), "Not compared: 14 of 1,217 pairs (1.2 %): 10 too large, 4 shadow slow."),
        (
            many_places(),
            "Beyond the caps of the mirror, so not listed one by one: 1,234 differences at further places.",
        ),
        (noisy(differing().place("/x", Kind::Value, [100, 0, 0])), "1 place differs by itself and is not counted."),
        (
            noisy(sample().pairs(Outcome::Noise, 1).pairs(Outcome::Match, 99).triples(100)),
            "1 more pair differs only where the primary's own version differs from itself (1 place).",
        ),
        (differing().place("/t", Kind::Value, [100, 0, 100]), LATE_100),
    ] {
        let (_, _, notes) = said(&sample);
        assert!(notes.contains(&note.to_owned()), "{notes:#?}");
    }
    assert_eq!(said(&all_match(1203)).2, [""; 0]);
}

#[test]
fn noise_that_was_known_too_late_is_no_difference() {
    let late = || {
        let sample = sample().pairs(Outcome::Match, 900).pairs(Outcome::Diverged, 100).triples(1000);
        sample.place("/t", Kind::Value, [100, 0, 100])
    };
    assert_eq!(said(&late()).0, Answer::Same);
    assert_eq!(said(&late()).2, ["1 place differs by itself and is not counted.", LATE_100]);
    // A pair that diverges does so at some place: here at most one, or two.
    let one = said(&late().unnamed_place(Tally::Diverged, 1));
    assert_eq!((one.0, one.1.as_str()), (Answer::Differs, "0.10 % of 1,000 pairs differ; noise explains 1 more field"));
    let two = said(&late().place("/x", Kind::Value, [2, 0, 0]));
    assert_eq!(
        (two.0, two.1.as_str()),
        (Answer::Differs, "1 field differs in 0.20 % of 1,000 pairs; noise explains 1 more field")
    );
}

#[test]
fn what_is_wrong_with_a_gateway_is_said_first() {
    let accepted = |accepted, rejected| Some(Delivery { accepted, rejected, failed: 0 });
    for (ticks, delivery, code, words) in [
        (&[1000, 1000, 900][..], accepted(1, 0), "stopped", "comparison has stopped on 1 of 2 workers"),
        (&[], accepted(1, 0), "stopped", "no worker runs the module"),
        (&[], accepted(0, 1), "module_rejected", "Envoy refused the module"),
        (&[], accepted(0, 0), "module_waiting", "has not got the module yet"),
        (&[], None, "module_missing", "does not have the module"),
        (&[1000, 1000, 1000], accepted(1, 0), "no_pairs", "has seen no mirrored request"),
    ] {
        let sample = no_pairs().instance(|instance| {
            instance.ticks = (0..).zip(ticks.iter().copied()).collect();
            instance.delivery = delivery;
        });
        let all = warnings(&sample.report());
        assert_eq!(all.len(), 1, "{all:?}");
        assert_eq!((all[0].code, all[0].about.as_str()), (code, "127.0.0.1:15000"));
        assert!(all[0].text.contains(words), "{}", all[0].text);
    }
    assert_eq!(warnings(&full().report()), []);
}

#[test]
fn every_reason_not_to_compare_is_explained() {
    for outcome in Outcome::all().filter(|outcome| outcome.reason().is_some()) {
        let report = sample().pairs(Outcome::Match, 95).pairs(outcome, 5).report();
        let [warning] = warnings(&report).try_into().expect("one warning");
        assert_eq!(warning.code, "not_compared");
        let because = warning.text.strip_prefix("5.0 % of the pairs were not compared, mostly because ");
        assert!(because.is_some_and(|text| text.len() > 10 && text.ends_with(['.', '?'])), "{}", warning.text);
        let few = sample().pairs(Outcome::Match, 96).pairs(outcome, 4).report();
        assert_eq!(warnings(&few), []);
    }
}
