//! What is taken for noise, what is not, and that the rules are read and do what they say.

use mirror_core::answer::Answer;
use mirror_core::compare::{self, compare};
use mirror_core::config::{Mirror, Rules, Target, VERSION, safe_methods};
use mirror_core::headers::HeaderBlock;
use proptest::prelude::*;

use super::super::testing::line;
use super::*;
use crate::rules;

/// Examples of one place; when they were found is 17:42:10 on 2026-11-30, 1796060530 as a Unix time.
fn lines(place: &str, values: &[(&str, &str)]) -> Vec<Line> {
    values.iter().map(|(primary, candidate)| line(place, primary, candidate)).collect()
}

fn read(suggestions: &Suggestions) -> Rules {
    let text = yaml::render(suggestions);
    rules::parse("suggested.yaml", &text).unwrap_or_else(|mistake| panic!("{mistake}\n{text}"))
}

/// The rule for `place`: what it says, and how sure it is.
fn rule(place: &str, values: &[(&str, &str)]) -> Option<(Rule, Confidence)> {
    let suggestions = suggest(&lines(place, values));
    read(&suggestions);
    let found = suggestions.rules.first();
    assert_eq!(found.is_some(), suggestions.left.is_empty(), "{suggestions:?}");
    found.map(|found| (found.rule, found.confidence))
}

const MEDIUM: Confidence = Confidence::Medium;

#[test]
fn noise_gets_a_rule() {
    for (values, expected) in [
        // Times, as strings and as numbers.
        (&[("\"2026-11-30T17:42:10Z\"", "\"2026-11-30T17:42:11Z\""); 3][..], (Rule::Ignore, MEDIUM)),
        (
            &[("\"2026-11-30T18:42:10.123+01:00\"", "\"2026-11-30T18:42:11.5+01:00\""); 5],
            (Rule::Ignore, Confidence::High),
        ),
        (&[("\"2026-11-30 17:42:10.123456\"", "\"2026-11-30 17:42:10.123457\""); 3], (Rule::Ignore, MEDIUM)),
        (&[("1796060530", "1796060531"); 3], (Rule::Ignore, MEDIUM)),
        (&[("1796060530.25", "1796060530.5"); 3], (Rule::Ignore, MEDIUM)),
        (&[("\"1796060530123\"", "\"1796060530124\""); 3], (Rule::Ignore, MEDIUM)),
        (&[("1796060530123456", "1796060530123457"); 3], (Rule::Ignore, MEDIUM)),
        // Ids.
        (
            &[
                ("\"0c5985f7-22a1-4d3b-b8fa-ac08b1f559f3\"", "\"3d4ee4d0-3c96-4cce-8f1d-6c0b5ca8e1ea\""),
                ("\"6ef30393-a6f4-4376-84cb-e37f9bdf910c\"", "\"fec69748-a955-4c46-9db7-e1311665b4e8\""),
                ("\"84979c3d-2da7-4cca-a7db-c467ff3465cb\"", "\"f610c7a7-02d9-49a0-9f01-deeb72730104\""),
            ],
            (Rule::Ignore, MEDIUM),
        ),
        (
            &[
                ("\"c598537e22a14d3bb8faac08b1f559f3\"", "\"3d4ee4d03c964ccebf1d6c0b5ca8e1ea\""),
                ("\"6ef30393a6f4437684cbe37f9bdf910c\"", "\"fec69748a9554c46bdb7e1311665b4e8\""),
                ("\"84979c3d2da74ccaa7dbc467ff3465cb\"", "\"f610c7a702d949a09f01deeb72730104\""),
            ],
            (Rule::Ignore, MEDIUM),
        ),
        (
            &[
                ("\"01KBC3Z5H7Q2W8E4R6T9Y1V3XA\"", "\"01KBC3Z5HAB7CD9EF0GH2JK4MN\""),
                ("\"01KBC3Z6P1Z3X5C7V9B2N4M6KQ\"", "\"01KBC3Z6RT8Y1H3J5K7M9N2P4S\""),
                ("\"01KBC3Z7S4D6F8G1H3J5K7M9NW\"", "\"01KBC3Z7XQ9W2E4R6T8Y1V3B5C\""),
            ],
            (Rule::Ignore, MEDIUM),
        ),
        // Rounding.
        (&[("0.30000000000000004", "0.3"); 3], (Rule::Tolerance(Bound::Relative(1e-9)), MEDIUM)),
        (
            &[("19.989", "19.99"), ("7.1249", "7.12"), ("3.5051", "3.5")],
            (Rule::Tolerance(Bound::Absolute(0.01)), MEDIUM),
        ),
    ] {
        assert_eq!(rule("/x", values), Some(expected), "{values:?}");
    }
}

#[test]
fn what_may_be_real_gets_none() {
    for (place, values) in [
        // Too few.
        ("/x", &[("1796060530", "1796060531"); 2][..]),
        // Real values.
        ("/price", &[("19.99", "20"), ("32.49", "32"), ("44.99", "45"), ("57.49", "57")]),
        ("/price", &[("19.99", "20"), ("44.99", "45"), ("69.99", "70")]),
        ("/price", &[("19.99", "19.98"); 3]),
        ("/price", &[("19.991", "19.99"), ("19.999", "20.01"), ("1.001", "1.00")]),
        ("/count", &[("10", "11"); 5]),
        ("/count", &[("0", "0.001"); 5]),
        ("/name", &[("\"lamp\"", "\"lamps\""); 5]),
        ("/flag", &[("true", "false"); 5]),
        // Times that are not now: the day of a birth, an hour of another zone.
        ("/born", &[("\"1999-11-30T17:42:10Z\"", "\"1999-11-30T17:42:11Z\""); 5]),
        ("/at", &[("\"2026-11-30T17:42:10Z\"", "\"2026-11-30T18:42:10Z\""); 5]),
        ("/at", &[("1796060530", "1796060530000"); 5]),
        ("/day", &[("\"2026-11-30\"", "\"2026-12-01\""); 5]),
        // Ids that name something, and names that look like ids.
        (
            "/owner",
            &[
                ("\"0c5985f7-22a1-4d3b-b8fa-ac08b1f559f3\"", "\"3d4ee4d0-3c96-4cce-8f1d-6c0b5ca8e1ea\""),
                ("\"6ef30393-a6f4-4376-84cb-e37f9bdf910c\"", "\"3d4ee4d0-3c96-4cce-8f1d-6c0b5ca8e1ea\""),
                ("\"84979c3d-2da7-4cca-a7db-c467ff3465cb\"", "\"fec69748-a955-4c46-9db7-e1311665b4e8\""),
            ],
        ),
        ("/image", &[("\"registry/shop:1.2.3-rc1\"", "\"registry/shop:1.2.3-rc2\""); 3]),
        (
            "/build",
            &[
                ("\"shop-service-build-101\"", "\"shop-service-build-102\""),
                ("\"shop-service-build-201\"", "\"shop-service-build-202\""),
                ("\"shop-service-build-301\"", "\"shop-service-build-302\""),
            ],
        ),
        ("/x", &[("\"[redacted]\"", "\"[redacted]\""); 5]),
        ("/x", &[("\"aaa…", "\"aab…"); 5]),
        ("header:x-secret", &[("[redacted]", "[redacted]"); 5]),
        ("status", &[("200", "500"); 5]),
        ("body", &[("1796060530", "1796060531"); 5]),
        ("/very-long-name…", &[("1796060530", "1796060531"); 5]),
    ] {
        assert_eq!(rule(place, values), None, "{place} {values:?}");
    }
}

#[test]
fn kinds_other_than_value_and_order_are_real_unless_the_status_tells() {
    let with = |kind, statuses: (u16, u16)| Line { kind, statuses: Some(statuses), ..line("/at", "1", "2") };
    let times = lines("/at", &[("1796060530", "1796060531"); 5]);
    for (other, is_suggested) in [
        (with(Kind::Missing, (200, 500)), true),
        (with(Kind::Added, (404, 200)), true),
        (with(Kind::Missing, (200, 200)), false),
        (with(Kind::Added, (200, 200)), false),
        (with(Kind::Type, (200, 500)), false),
        (with(Kind::Order, (200, 200)), false),
        (line("/at/below", "1", "2"), false),
    ] {
        let suggestions = suggest(times.iter().chain([&other]));
        assert_eq!(suggestions.rules.len(), usize::from(is_suggested), "{other:?}: {suggestions:?}");
    }
    for kind in [Kind::Missing, Kind::Added, Kind::Type] {
        assert!(suggest(&vec![with(kind, (200, 200)); 9]).rules.is_empty());
        assert!(suggest(&vec![with(kind, (200, 500)); 9]).rules.is_empty());
    }
    let order = suggest(&vec![with(Kind::Order, (200, 200)); 9]);
    assert_eq!((order.rules[0].rule, order.rules[0].confidence), (Rule::Unordered, MEDIUM));
}

#[test]
fn the_file_tells_why() {
    let mut all = lines("/served_at", &[("1796060530", "1796060531"); 5]);
    all.extend(lines("/total", &[("19.989", "19.99"); 4]));
    all.push(Line { kind: Kind::Missing, statuses: Some((200, 500)), ..line("/served_at", "1796060530", "") });
    all.extend(vec![Line { kind: Kind::Order, ..line("/tags", "[1, 2]", "[2, 1]") }; 3]);
    all.extend(lines("/price", &[("19.99", "20"), ("32.49", "32"), ("44.99", "45")]));
    all.extend(vec![Line { kind: Kind::Added, primary: None, ..line("/stock", "", "3") }; 2]);
    all.extend(lines("/name\n# \u{1b}", &[("\"a\nb: c\"", "\"b\""); 2]));
    let suggestions = suggest(&all);
    let rules = read(&suggestions);
    assert_eq!((rules.ignore.len(), rules.tolerance.len(), rules.unordered.len()), (1, 1, 1));
    insta::assert_snapshot!(yaml::render(&suggestions));
    insta::assert_snapshot!(yaml::render(&suggest(&[])), @r"
    # Suggested from 0 examples of differences. Read it before you use it: what a rule covers is not
    #   compared any more.
    # Nothing of it looks like noise for certain.
    ");
}

/// Whether two documents `{"x": VALUE}` are equal by these rules.
fn equal(rules: &Rules, ours: &str, theirs: &str) -> bool {
    let target = Target { cluster: "candidate".into(), knative: None };
    let mirror = Mirror {
        version: VERSION,
        name: "shop/cart".into(),
        candidate: target,
        secondary: None,
        hosts: vec!["shop.test".into()],
        methods: safe_methods(),
        sampling: Default::default(),
        split: false,
        rules: rules.clone(),
        caps: Default::default(),
    };
    let answer = |value: &str| Answer {
        status: 200,
        headers: HeaderBlock::from_pairs(&[("content-type", "application/json")]),
        body: format!("{{\"x\": {value}}}").into_bytes(),
        ..Answer::default()
    };
    compare(&compare::Plan::new(&mirror), "GET", &answer(ours), &answer(theirs)).divergences.is_empty()
}

proptest! {
    #[test]
    fn a_tolerance_covers_what_was_seen(numbers in prop::collection::vec(0.0..10_000.0_f64, 3..6), decimals in 2..4_usize) {
        let texts: Vec<_> = numbers.iter().map(|n| (format!("{n:.8}"), format!("{n:.decimals$}"))).collect();
        let values: Vec<_> = texts.iter().map(|(ours, theirs)| (ours.as_str(), theirs.as_str())).collect();
        let suggestions = suggest(&lines("/x", &values));
        let rules = read(&suggestions);
        prop_assert_eq!(rules.tolerance.len(), 1, "{:?}", suggestions);
        for (ours, theirs) in &values {
            prop_assert!(equal(&rules, ours, theirs), "{} {}", ours, theirs);
        }
    }

    #[test]
    fn any_place_is_written_so_that_it_is_read_back(place in "/\\PC{1,20}|header:[a-z*#-]{1,9}|cookie:[!-~]{1,9}|/[\\x00-\\x20\u{85}\u{2028}'\"\\\\#:]{1,9}") {
        let suggestions = suggest(&lines(&place, &[("1796060530", "1796060531"); 3]));
        let rules = read(&suggestions);
        if let Some(found) = suggestions.rules.first() {
            prop_assert_eq!(&rules.ignore, &vec![found.place.clone()]);
        }
    }
}
