//! Noise: what the secondary explains, by pair and by statistics.

use super::*;

const SECONDARY: &str = r#""secondary":{"cluster":"v1"}"#;

/// Lets a triple's answers pass, each with its value of `x-a`; `None` is an answer without that header.
fn triple(host: &mut Host, primary: &str, shadow: &str, secondary: Option<&str>) {
    let key = &host.outcomes().len().to_string();
    let tickets = (host.primary(key), host.shadow(key), host.copy("secondary", key));
    match secondary {
        Some(value) => host.answer_with(tickets.2, "200", &[("x-a", value)], "same"),
        None => host.gone(tickets.2),
    }
    host.answer_with(tickets.1, "200", &[("x-a", shadow)], "same");
    host.answer_with(tickets.0, "200", &[("x-a", primary)], "same");
}

fn place(tally: Tally) -> (String, Kind, Tally) {
    ("header:x-a".into(), Kind::Value, tally)
}

#[test]
fn a_place_that_differs_in_the_secondary_too_is_noise() {
    let mut host = Host::with(SECONDARY);
    triple(&mut host, "1", "2", Some("3"));
    triple(&mut host, "1", "2", Some("1"));
    triple(&mut host, "1", "1", Some("3"));
    triple(&mut host, "1", "2", None);
    assert_eq!(host.outcomes(), [Outcome::Noise, Outcome::Diverged, Outcome::Match, Outcome::Diverged]);
    let places: Vec<_> = host.journal().iter().map(|entry| entry.places.clone()).collect();
    assert_eq!(places[0], [place(Tally::Noise), place(Tally::Secondary)]);
    assert_eq!(places[1], [place(Tally::Diverged)]);
    assert_eq!(places[2], [place(Tally::Secondary)]);
    assert_eq!(places[3], [place(Tally::Diverged)]);
    let secondary: Vec<_> = host.journal().iter().map(|entry| entry.secondary).collect();
    assert_eq!(secondary, [true, true, true, false]);
    assert_eq!(host.flush().lines.len(), 2, "noise is no example");
}

#[test]
fn noise_does_not_hide_what_differs_beside_it() {
    let mut host = Host::with(SECONDARY);
    let tickets = (host.primary("1"), host.shadow("1"), host.copy("secondary", "1"));
    host.answer_with(tickets.0, "200", &[("x-a", "1")], "same");
    host.answer_with(tickets.1, "404", &[("x-a", "2")], "same");
    host.answer_with(tickets.2, "200", &[("x-a", "3")], "same");
    assert_eq!(host.outcomes(), [Outcome::Diverged]);
    assert!(host.journal()[0].places.contains(&("status".into(), Kind::Value, Tally::Diverged)));
    assert!(host.journal()[0].places.contains(&place(Tally::Noise)));
}

#[test]
fn a_place_that_is_noisy_by_statistics_is_noise_where_the_secondary_happens_to_agree() {
    let mut host = Host::with(SECONDARY);
    for _ in 0..10 {
        triple(&mut host, "1", "2", Some("1"));
        triple(&mut host, "1", "1", Some("2"));
    }
    assert_eq!(host.outcomes()[18..], [Outcome::Diverged, Outcome::Match], "too few triples to tell");
    triple(&mut host, "1", "2", Some("1"));
    triple(&mut host, "1", "2", None);
    assert_eq!(host.outcomes()[20..], [Outcome::Noise, Outcome::Noise]);
    // From here on only the candidate differs, until that can be chance no more.
    for _ in 0..40 {
        triple(&mut host, "1", "2", Some("1"));
    }
    assert_eq!(host.outcomes().last(), Some(&Outcome::Diverged));
}

#[test]
fn what_is_too_much_to_list_is_noise_only_if_the_secondary_has_as_much() {
    // Of each answer more headers differ than a comparison lists.
    for (of_secondary, outcome) in [(70, Outcome::Noise), (66, Outcome::Diverged)] {
        let mut host = Host::with(SECONDARY);
        let tickets = (host.primary("1"), host.shadow("1"), host.copy("secondary", "1"));
        let names: Vec<_> = (0..70).map(|n| format!("x-{n}")).collect();
        let headers = |value, most| names.iter().take(most).map(|name| (name.as_str(), value)).collect::<Vec<_>>();
        host.answer_with(tickets.0, "200", &headers("1", 70), "");
        host.answer_with(tickets.1, "200", &headers("2", 70), "");
        let secondary = [headers("3", of_secondary), headers("1", 70).split_off(of_secondary)].concat();
        host.answer_with(tickets.2, "200", &secondary, "");
        assert_eq!(host.outcomes(), [outcome], "{of_secondary}");
    }
}

#[test]
fn a_body_that_was_not_compared_makes_no_triple() {
    let mut host = Host::with(r#""secondary":{"cluster":"v1"},"caps":{"body_bytes":10}"#);
    let tickets = (host.primary("1"), host.shadow("1"), host.copy("secondary", "1"));
    host.answer_with(tickets.0, "200", &[], "short");
    host.answer_with(tickets.1, "200", &[], "short");
    host.answer_with(tickets.2, "200", &[], "longer than ten");
    assert_eq!((host.outcomes(), host.journal()[0].secondary), (vec![Outcome::Match], false));
}

#[test]
fn a_primary_of_another_version_than_the_secondarys_is_compared_without_it() {
    let knative = r#""secondary":{"cluster":"v1","knative":{"revision":"hello-v1","namespace":"default"}}"#;
    for (extra, revision, cluster, outcome) in [
        (SECONDARY, "", "v1", Outcome::Noise),
        (SECONDARY, "", "v0", Outcome::Diverged),
        (r#""split":false,"secondary":{"cluster":"v1"}"#, "", "v0", Outcome::Noise),
        (knative, "hello-v1", "", Outcome::Noise),
        (knative, "hello-v0", "", Outcome::Diverged),
    ] {
        let mut host = Host::with(extra);
        let facts = &mut Stream { cluster: cluster.into(), ..host.primary_facts() };
        let serving = [("knative-serving-revision", revision), ("knative-serving-namespace", "default")];
        let marks = [("x-mirror-pair", "1"), ("x-request-id", ID), serving[0], serving[1]];
        let primary = observed(host.request(&marks, facts)).0;
        let shadow = host.shadow("1");
        let copy = [("x-mirror-role", "secondary"), ("x-mirror-pair", "1"), ("x-request-id", ID)];
        let secondary = host.request(&copy, &mut Host::shadow_facts("v1"));
        host.answer_with(primary, "200", &[("x-a", "1")], "");
        if let Admission::Observe { ticket, .. } = secondary {
            host.answer_with(ticket, "200", &[("x-a", "2")], "");
        }
        host.answer_with(shadow, "200", &[("x-a", "3")], "");
        assert_eq!(host.outcomes(), [outcome], "{extra} {revision} {cluster}");
        assert_eq!(host.journal()[0].secondary, outcome == Outcome::Noise);
    }
}
