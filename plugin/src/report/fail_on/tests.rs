//! Conditions: what is read, what is refused, and what holds for reports made by hand.

use super::*;
use crate::report::samples::{Sample, all_match, full, no_pairs, stopped};

/// What the conditions in `text` find, without the words that all findings begin with.
fn found(text: &str, report: &Report) -> Vec<String> {
    let conditions: Conditions = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    let findings = conditions.0.iter().flat_map(|condition| condition.check(report));
    findings.map(|finding| finding.to_string().replace("--fail-on ", "")).collect()
}

#[test]
fn conditions_hold_as_the_numbers_say() {
    let report = full().report();
    for (text, holds) in [
        ("diverged>0.1%", Some("diverged>0.1%: holds, 12.4 % (149 of 1,203 pairs)")),
        ("diverged>12.4%", None),
        ("diverged>149", None),
        ("diverged>=149", Some("diverged>=149: holds, 149 of 1,203 pairs")),
        ("diverged<=149", Some("diverged<=149: holds, 149 of 1,203 pairs")),
        ("diverged<149", None),
        (" diverged > 1 % ", Some("diverged > 1 %: holds, 12.4 % (149 of 1,203 pairs)")),
        ("noise>=8.3%", Some("noise>=8.3%: holds, 8.3 % (100 of 1,203 pairs)")),
        ("incomplete>0.3%", Some("incomplete>0.3%: holds, 0.3 % (4 of 1,217 pairs)")),
        ("incomplete>1%", None),
        ("skipped>9", Some("skipped>9: holds, 10 of 1,217 pairs")),
        ("status>0", Some("status>0: holds, 3 of 1,203 pairs")),
        ("status>3", None),
        ("pairs<1203", None),
        ("pairs<1204", Some("pairs<1204: holds, 1,203 of 1,217 pairs")),
        ("pairs<99%", Some("pairs<99%: holds, 98.8 % (1,203 of 1,217 pairs)")),
        ("place:/items/*/price>0", Some("place:/items/*/price>0: holds, /items/*/price value: 120 of 1,203 pairs")),
        ("place:/items/*/*>2%", Some("place:/items/*/*>2%: holds, /items/*/price value: 10.0 % (120 of 1,203 pairs)")),
        ("place:/items/*/*>10%", None),
        ("place:header:x-*>0", Some("place:header:x-*>0: holds, header:x-build added: 1 of 1,203 pairs")),
        ("place:/nowhere>0", None),
        ("place:/nowhere<1", Some("place:/nowhere<1: holds, 0 of 1,203 pairs")),
        // A place that differs by itself is not counted.
        ("place:/served_at>0", None),
        ("endpoint:GET /items>14%", Some("endpoint:GET /items>14%: holds, 14.9 % (149 of 1,003 pairs)")),
        ("endpoint:GET /items/{id}>0", None),
        (
            "endpoint:GET /nope>0",
            Some(
                "endpoint:GET /nope>0: not tested, no endpoint `GET /nope` was seen, but `GET /items`, `GET /items/{id}`",
            ),
        ),
        ("p50>+20%", None),
        ("p90>+20%", Some("p90>+20%: holds, 41.0 ms against the primary's 20.5 ms (+100 %)")),
        ("p99>+38ms", Some("p99>+38ms: holds, 86.4 ms against the primary's 47.1 ms (+83 %)")),
        ("p99>+40ms", None),
        ("p99>80ms", Some("p99>80ms: holds, 86.4 ms against the primary's 47.1 ms (+83 %)")),
        ("p99>0.1s", None),
        ("stopped", None),
    ] {
        assert_eq!(found(text, &report), Vec::from_iter(holds), "{text}");
    }
}

#[test]
fn several_conditions_may_stand_in_one_argument() {
    let report = full().report();
    let both = found("place:/a,b>0,diverged>1,skipped>9,stopped", &report);
    assert_eq!(both, ["diverged>1: holds, 149 of 1,203 pairs", "skipped>9: holds, 10 of 1,217 pairs"]);
}

#[test]
fn stopped_holds_where_a_worker_does_not_compare() {
    let report = stopped().report();
    assert_eq!(found("stopped", &report), ["stopped: holds, not every worker compares on 127.0.0.1:15000"]);
    assert_eq!(found("diverged>0%", &report), [""; 0], "a share of nothing");
    assert_eq!(found("p99>+1%", &report), ["p99>+1%: not tested, no latencies were recorded"]);
}

#[test]
fn no_mirror_at_all_is_too_few_pairs() {
    assert_eq!(found("pairs<1", &no_pairs().report()), ["pairs<1: holds, 0 of 0 pairs"]);
}

#[test]
fn of_several_mirrors_the_one_is_named_for_which_it_holds() {
    let mut report = full().report();
    report.mirrors.extend(Sample::new("other/mirror").report().mirrors);
    report.mirrors.extend(all_match(5).report().mirrors.into_iter().map(|m| Mirror { name: "a/b".into(), ..m }));
    assert_eq!(found("pairs<10", &report), ["pairs<10: holds for a/b, 5 of 5 pairs"]);
}

#[test]
fn mistakes_are_refused_with_their_position() {
    for (text, column, said) in [
        ("", 1, "expected what to test; known are pairs"),
        ("diverge>1%", 1, "`diverge` is nothing that can be tested; known are pairs"),
        ("diverged", 9, "expected >, >=, < or <="),
        ("diverged=1", 9, "expected >, >=, < or <="),
        ("diverged>", 10, "`` is neither a whole number"),
        ("diverged>x", 10, "`x` is neither a whole number"),
        ("diverged>0.5", 10, "nor a share in percent"),
        ("diverged>-1", 10, "`-1` is neither"),
        ("diverged>-1%", 10, "`-1%` is not what belongs here"),
        ("diverged>inf%", 10, "`inf%` is not what belongs here"),
        ("diverged>101%", 10, "more than all pairs"),
        ("noise>1%,foo>1", 10, "`foo` is nothing"),
        ("noise>1%,", 10, "expected what to test"),
        ("ä>1", 1, "`ä` is nothing"),
        ("skipped>1,ä>1", 11, "`ä` is nothing"),
        ("place:items>0", 1, "names no place"),
        ("place:/a~3>0", 1, "must be followed"),
        ("endpoint:/hello>1%", 1, "a method and a path"),
        ("p99>20%", 5, "lacks its sign"),
        ("p99>+20", 5, "is no latency"),
        ("p99>+e1ms", 5, "is not what belongs here"),
        ("p98>+20%", 1, "`p98` is nothing"),
        ("stopped>1", 1, "compared with nothing"),
    ] {
        let error = text.parse::<Conditions>().expect_err(text);
        assert_eq!(error.column, column, "{text}: {error}");
        assert!(error.reason.contains(said), "{text}: {error}");
    }
}
