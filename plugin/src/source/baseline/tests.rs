//! What is left out, and what is not.

use mirror_core::outcome::Outcome;
use mirror_core::stats::names::Text;

use super::*;

const TAKEN: u64 = 1000;

fn pairs(outcome: Outcome) -> Metric {
    Metric::Pairs { mirror: Text::new("default/hello"), outcome }
}

/// An Envoy's answer at `clock`, after so many seconds.
fn envoy(name: &str, clock: u64, uptime: u64, matching: u64, diverged: u64) -> Snapshot {
    let counts = [(Outcome::Match, matching), (Outcome::Diverged, diverged)];
    let counters = counts.into_iter().filter(|(_, n)| *n > 0).map(|(outcome, n)| (pairs(outcome), n)).collect();
    let instance = Instance { name: name.to_owned(), clock, uptime, ..Instance::default() };
    Snapshot { counters, instances: vec![instance] }
}

fn gathered(envoys: &[Snapshot]) -> Gathered {
    Gathered { envoys: envoys.to_vec(), ..Gathered::default() }
}

fn counted(gathered: &Gathered) -> (u64, u64) {
    let sum = gathered.sum();
    let of = |outcome| sum.counters.get(&pairs(outcome)).copied().unwrap_or(0);
    (of(Outcome::Match), of(Outcome::Diverged))
}

#[test]
fn what_was_counted_before_is_left_out_of_each_envoy_that_goes_on() {
    for (name, now, left, anew) in [
        ("goes on", envoy("a", 1100, 600, 12, 5), (2, 1), false),
        ("its clock was put back", envoy("a", 900, 600, 12, 5), (2, 1), false),
        ("nothing new", envoy("a", 1100, 600, 10, 4), (0, 0), false),
        ("restarted, with less", envoy("a", 1100, 50, 3, 1), (3, 1), true),
        ("restarted, and has more by now", envoy("a", 9000, 7000, 20, 9), (20, 9), true),
        ("its module was replaced", envoy("a", 1100, 600, 11, 1), (11, 1), true),
        ("its module was replaced and saw no difference", envoy("a", 1100, 600, 11, 0), (11, 0), true),
    ] {
        let baseline = Baseline::take(&gathered(&[envoy("a", TAKEN, 500, 10, 4)]), TAKEN);
        let since = baseline.since(gathered(&[now]));
        assert_eq!((counted(&since), since.since), (left, Some(TAKEN)), "{name}");
        assert_eq!((since.began_anew.len(), since.missing.len()), (usize::from(anew), 0), "{name}");
    }
}

#[test]
fn an_envoy_that_had_just_started_goes_on() {
    for (then, now) in [((1000, 0), (1060, 60)), ((1000, 0), (1061, 60)), ((1000, 1), (1060, 59))] {
        let baseline = Baseline::take(&gathered(&[envoy("a", then.0, then.1, 10, 0)]), TAKEN);
        let since = baseline.since(gathered(&[envoy("a", now.0, now.1, 12, 0)]));
        assert_eq!((counted(&since), since.began_anew.len()), ((2, 0), 0), "{then:?} {now:?}");
    }
}

#[test]
fn envoys_of_which_nothing_is_known_are_named() {
    let mut before = gathered(&[envoy("goes-on", TAKEN, 500, 10, 0), envoy("gone", TAKEN, 500, 10, 0)]);
    before.missing.push(("silent".to_owned(), "no answer".to_owned()));
    let baseline = Baseline::take(&before, TAKEN);
    let mut now = gathered(&[
        envoy("goes-on", 1100, 600, 11, 0),
        envoy("new", 1100, 50, 3, 0),
        envoy("silent", 1100, 600, 99, 0),
    ]);
    now.missing.push(("another".to_owned(), "no answer now".to_owned()));
    let since = baseline.since(now);
    assert_eq!(counted(&since), (1 + 3, 0));
    let missing: Vec<_> = since.missing.iter().map(|(name, why)| (name.as_str(), why.split(' ').next())).collect();
    assert_eq!(missing, [("another", Some("no")), ("silent", Some("it")), ("gone", Some("it"))]);
    assert_eq!(since.began_anew, [""; 0]);
}

#[test]
fn baselines_are_kept_as_json() {
    let baseline = Baseline::take(&gathered(&[envoy("a", TAKEN, 500, 10, 4)]), TAKEN);
    let json = serde_json::to_string(&baseline).expect("JSON");
    let counters =
        r#""mirror_v1__pairs__default_2fhello__match__n":10,"mirror_v1__pairs__default_2fhello__diverged__n":4"#;
    assert_eq!(
        json,
        format!(r#"{{"taken":1000,"envoys":{{"a":{{"clock":1000,"uptime":500,"counters":{{{counters}}}}}}}}}"#)
    );
    assert_eq!(serde_json::from_str::<Baseline>(&json).expect("a baseline"), baseline);
}
