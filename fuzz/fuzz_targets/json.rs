//! The JSON reader: two texts and rules. A text equals itself, and swapping the sides swaps what is found.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mirror_core::compare::Sink;
use mirror_core::compare::json::{BodyRules, NotCompared, compare};
use mirror_core::config::Rules;
use mirror_core::divergence::{Divergence, Kind};

fn found(primary: &[u8], shadow: &[u8], rules: &BodyRules) -> Result<Vec<Divergence>, NotCompared> {
    let mut sink = Sink::default();
    let verdict = compare(primary, shadow, rules, &mut sink);
    let (divergences, _) = sink.into_parts();
    assert!(verdict.is_ok() || divergences.is_empty(), "a refused comparison leaves nothing behind");
    verdict.map(|()| divergences)
}

/// Place and kind as seen from the other side.
fn mirrored(divergence: &Divergence) -> (String, Kind) {
    let kind = match divergence.kind {
        Kind::Missing => Kind::Added,
        Kind::Added => Kind::Missing,
        kind => kind,
    };
    (divergence.place.to_string(), kind)
}

fuzz_target!(|input: (&[u8], &[u8], u8)| {
    let (primary, shadow, choice) = input;
    let pattern = |text: &str| vec![text.parse().expect("a pattern")];
    let rules = match choice % 6 {
        1 => Rules { ignore: pattern("/a"), ..Rules::default() },
        2 => Rules { redact: pattern("/a/*"), ..Rules::default() },
        3 => Rules { unordered: serde_rule("body", None), ..Rules::default() },
        4 => Rules { unordered: serde_rule("/*", Some("/a")), ..Rules::default() },
        5 => Rules { ignore: pattern("/*/b"), ..Rules::default() },
        _ => Rules::default(),
    };
    let rules = BodyRules::new(&rules);

    if let Ok(divergences) = found(primary, primary, &rules) {
        assert!(divergences.is_empty(), "a text differs from itself: {divergences:?}");
    }
    let there = found(primary, shadow, &rules);
    let back = found(shadow, primary, &rules);
    match (there, back) {
        (Ok(there), Ok(back)) if there.len() < Sink::MOST && back.len() < Sink::MOST => {
            let mut there: Vec<_> = there.iter().map(|d| (d.place.to_string(), d.kind)).collect();
            let mut back: Vec<_> = back.iter().map(mirrored).collect();
            there.sort();
            back.sort();
            assert_eq!(there, back);
        }
        (Err(NotCompared::NotJson { primary, shadow }), Err(other)) => {
            assert_eq!(other, NotCompared::NotJson { primary: shadow, shadow: primary });
        }
        (there, back) => assert_eq!(there.is_ok(), back.is_ok()),
    }
});

fn serde_rule(path: &str, key: Option<&str>) -> Vec<mirror_core::config::Unordered> {
    vec![mirror_core::config::Unordered {
        path: path.parse().expect("a pattern"),
        key: key.map(|key| key.parse().expect("a pattern")),
    }]
}
