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

#[test]
fn headlines() {
    let one = || sample().pairs(Outcome::Match, 999).pairs(Outcome::Diverged, 1);
    for (sample, answer, headline) in [
        (full(), Answer::Differs, "5 places differ in 12.4 % of 1,203 pairs"),
        (one().place("/x", Kind::Value, [1, 0, 0]), Answer::Differs, "1 place differs in 0.1 % of 1,000 pairs"),
        (one(), Answer::Differs, "0.1 % of 1,000 pairs differ"),
        (one().unnamed_place(Tally::Diverged, 1), Answer::Differs, "0.1 % of 1,000 pairs differ"),
        (
            all_match(1203),
            Answer::Same,
            "no difference found in 1,203 pairs (with 95 % confidence, at most 0.3 % differ)",
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
fn notes() {
    let differing = || sample().pairs(Outcome::Match, 900).pairs(Outcome::Diverged, 100).triples(1000);
    let noisy = |sample: Sample| sample.place("/t", Kind::Value, [0, 90, 95]);
    for (sample, note) in [
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
        (
            differing().place("/t", Kind::Value, [100, 0, 100]),
            "Differences were found only where the primary's own version differs from itself (1 place); 100 of the pairs \
             were counted as diverged before that was known.",
        ),
    ] {
        let (_, _, notes) = said(&sample);
        assert!(notes.contains(&note.to_owned()), "{notes:#?}");
    }
    assert_eq!(said(&all_match(1203)).2, [""; 0]);
}

#[test]
fn noise_that_was_known_too_late_is_no_difference() {
    let late = sample().pairs(Outcome::Match, 900).pairs(Outcome::Diverged, 100).triples(1000);
    let late = late.place("/t", Kind::Value, [100, 0, 100]);
    assert_eq!(said(&late).0, Answer::Same);
    assert_eq!(said(&late.unnamed_place(Tally::Diverged, 1)).0, Answer::Differs);
}

#[test]
fn what_is_wrong_with_a_gateway_is_said_first() {
    let accepted = |accepted, rejected| Some(Delivery { accepted, rejected, failed: 0 });
    for (ticks, delivery, code, words) in [
        (&[1000, 900][..], accepted(1, 0), "stopped", "comparison has stopped on 1 of 2 workers"),
        (&[], accepted(1, 0), "stopped", "no worker runs the module"),
        (&[], accepted(0, 1), "module_rejected", "Envoy refused the module"),
        (&[], accepted(0, 0), "module_waiting", "has not got the module yet"),
        (&[], None, "module_missing", "does not have the module"),
        (&[1000, 1000], accepted(1, 0), "no_pairs", "has seen no mirrored request"),
    ] {
        let sample = no_pairs().instance(|instance| {
            instance.ticks = ticks.to_vec();
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
