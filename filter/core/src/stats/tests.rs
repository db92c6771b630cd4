//! Counting: sums add up, names are bounded, nothing is handed over twice.

use std::collections::{BTreeMap, HashSet};

use super::names::Named;
use super::*;

fn mirror(caps: &str) -> Mirror {
    let json = format!(
        r#"{{"version":1,"name":"default/hello","candidate":{{"cluster":"c"}},"hosts":["h"],"caps":{{{caps}}}}}"#
    );
    Mirror::from_json(json.as_bytes()).expect("a mirror")
}

fn record<'a>(outcome: Outcome, path: &'a str, places: &'a [(Place, Kind, Tally)]) -> Record<'a> {
    Record { outcome, method: "GET", path, statuses: None, latencies: None, places, secondary: false }
}

/// One flush, names decoded; no name may come twice.
fn flushed(stats: &mut Stats) -> BTreeMap<Metric, u64> {
    let mut counts = BTreeMap::new();
    stats.flush(&mut |name, n| {
        let metric = Metric::decode(name).unwrap_or_else(|| panic!("{name} is no metric"));
        assert!(n > 0 && counts.insert(metric, n).is_none(), "{name} twice, or for nothing");
    });
    counts
}

fn sum(counts: &BTreeMap<Metric, u64>, of: impl Fn(&Metric) -> bool) -> u64 {
    counts.iter().filter(|(metric, _)| of(metric)).map(|(_, n)| n).sum()
}

fn is_pairs(metric: &Metric) -> bool {
    matches!(metric, Metric::Pairs { .. })
}

fn is_endpoint(metric: &Metric) -> bool {
    matches!(metric, Metric::Endpoint { .. })
}

#[test]
fn a_pair_is_counted_in_every_family() {
    let mut stats = Stats::new(&mirror(""));
    let text = || Text::new("default/hello");
    let place = |text: &str| Place::from(text.to_owned());
    let places = [
        (place("/a"), Kind::Value, Tally::Diverged),
        (place("/a"), Kind::Type, Tally::Diverged),
        (place("/a"), Kind::Value, Tally::Secondary),
    ];
    let pair = Record {
        statuses: Some((200, 503)),
        latencies: Some((1_000_000, 2_000_000)),
        secondary: true,
        ..record(Outcome::Diverged, "/users/7?x", &places)
    };
    stats.record(&pair);
    stats.record(&pair);
    let counted_place = |kind, tally| Metric::Place { mirror: text(), kind, tally, place: Named::One(Text::new("/a")) };
    let latency = |side, ns| Metric::Latency { mirror: text(), side, bucket: histogram::bucket_of(ns) };
    let expected = [
        Metric::Pairs { mirror: text(), outcome: Outcome::Diverged },
        Metric::Endpoint { mirror: text(), class: Class::Diverged, endpoint: Named::One(Text::new("GET /users/{id}")) },
        counted_place(Kind::Value, Tally::Diverged),
        counted_place(Kind::Type, Tally::Diverged),
        counted_place(Kind::Value, Tally::Secondary),
        Metric::Status { mirror: text(), statuses: Named::One((200, 503)) },
        latency(Side::Primary, 1_000_000),
        latency(Side::Candidate, 2_000_000),
        Metric::Triples { mirror: text() },
    ];
    assert_eq!(flushed(&mut stats), expected.into_iter().map(|metric| (metric, 2)).collect());
    assert_eq!(flushed(&mut stats), BTreeMap::new());
}

#[test]
fn names_stop_at_their_caps_and_sums_still_add_up() {
    let mut stats = Stats::new(&mirror(r#""endpoints":3,"places":2,"statuses":1"#));
    let mut pairs = 0;
    for i in 0..10_u16 {
        for outcome in Outcome::all() {
            let places = [(Place::from(format!("/{i}")), Kind::Value, Tally::Diverged)];
            let path = format!("/path{i}");
            stats.record(&Record { statuses: Some((200, 500 + i)), ..record(outcome, &path, &places) });
            pairs += 1;
        }
    }
    let counts = flushed(&mut stats);
    assert_eq!(sum(&counts, is_pairs), pairs);
    assert_eq!(sum(&counts, is_endpoint), pairs);
    assert_eq!(sum(&counts, |metric| matches!(metric, Metric::Place { .. })), pairs);
    assert_eq!(sum(&counts, |metric| matches!(metric, Metric::Status { .. })), pairs);

    let mut endpoints = HashSet::new();
    let mut places = HashSet::new();
    let mut statuses = HashSet::new();
    for metric in counts.into_keys() {
        match metric {
            Metric::Endpoint { endpoint: Named::One(endpoint), .. } => drop(endpoints.insert(endpoint)),
            Metric::Place { place: Named::One(place), .. } => drop(places.insert(place)),
            Metric::Status { statuses: Named::One(pair), .. } => drop(statuses.insert(pair)),
            _ => {}
        }
    }
    assert_eq!((endpoints.len(), places.len(), statuses.len()), (3, 2, 1));
}

#[test]
fn known_names_outlive_a_lower_cap_and_new_ones_need_room() {
    let mut stats = Stats::new(&mirror(r#""endpoints":2"#));
    let endpoint = |path: &str| Metric::Endpoint {
        mirror: Text::new("default/hello"),
        class: Class::Match,
        endpoint: match path {
            "" => Named::Other,
            path => Named::One(Text::new(&format!("GET {path}"))),
        },
    };
    let mut counted = |caps: &str, paths: &[&str]| {
        stats.reconfigure(&mirror(caps));
        for path in paths {
            stats.record(&record(Outcome::Match, path, &[]));
        }
        let mut counts = flushed(&mut stats);
        counts.retain(|metric, _| is_endpoint(metric));
        counts.into_keys().collect::<HashSet<_>>()
    };
    assert_eq!(counted(r#""endpoints":2"#, &["/a", "/b"]), HashSet::from(["/a", "/b"].map(endpoint)));
    assert_eq!(counted(r#""endpoints":1"#, &["/a", "/b", "/c"]), HashSet::from(["/a", "/b", ""].map(endpoint)));
    assert_eq!(counted(r#""endpoints":3"#, &["/c", "/d"]), HashSet::from(["/c", ""].map(endpoint)));
}

#[test]
fn templates_change_with_the_configuration() {
    let mut stats = Stats::new(&mirror(""));
    let mut changed = mirror("");
    changed.rules.endpoints = vec![EndpointTemplate::try_from("/a/{slug}".to_owned()).expect("a template")];
    stats.reconfigure(&changed);
    stats.record(&record(Outcome::Match, "/a/b", &[]));
    let counts = flushed(&mut stats);
    let endpoint = Named::One(Text::new("GET /a/{slug}"));
    let expected = Metric::Endpoint { mirror: Text::new("default/hello"), class: Class::Match, endpoint };
    assert_eq!(counts.get(&expected), Some(&1));
}
