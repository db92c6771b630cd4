//! Copies: who is one, what they get, and what their ends mean.

use super::*;

const ENVOY: &str = r#""sampling":"envoy""#;

/// What Knative's route sets on a primary that goes to the secondary's version.
const OLD_VERSION: [(&str, &str); 2] = [("knative-serving-revision", "r1"), ("knative-serving-namespace", "ns")];

/// A configuration with Knative targets for both copies.
fn knative(extra: &str) -> String {
    format!(
        r#"{{"version":1,"name":"{NAME}","candidate":{{"cluster":"v2","knative":{{"revision":"r2","namespace":"ns"}}}},
           "secondary":{{"cluster":"v1","knative":{{"revision":"r1","namespace":"ns"}}}},"hosts":["h"]{extra}}}"#
    )
}

fn with_json(json: String) -> Host {
    let mut host = Host::new();
    host.mark = format!("{NAME}/{}", crate::config::fingerprint(json.as_bytes()));
    host.json = json;
    host
}

fn untagged(host: &mut Host, cluster: &str, headers: &[(&str, &str)]) -> Admission {
    host.request(headers, &mut Host::shadow_facts(cluster))
}

#[test]
fn a_client_cannot_make_its_request_a_copy() {
    let mut host = Host::new();
    host.primary("1");
    for role in ["shadow", "secondary"] {
        let facts = &mut host.primary_facts();
        assert!(ignored(&host.request(&[("x-mirror-role", role), ("x-mirror-pair", "1")], facts)));
    }
    let shadow = host.shadow("1");
    host.answer(shadow, "200");
    assert_eq!(host.diagnostics(), Diagnostics::default());
}

#[test]
fn a_copy_without_its_primary_is_an_orphan() {
    let mut host = Host::new();
    let primary = host.primary("1");
    let orphan = [("x-mirror-role", "shadow"), ("x-mirror-pair", "2")];
    assert!(ignored(&untagged(&mut host, "v2", &orphan)), "another request's");
    let unknown = [("x-mirror", "un/known"), ("x-mirror-role", "shadow"), ("x-mirror-pair", "1")];
    assert!(ignored(&untagged(&mut host, "v2", &unknown)), "another mirror's");
    assert_eq!(host.diagnostics().orphan, 2);
    host.answer(primary, "200");
    assert_eq!(host.outcomes(), incomplete(Incomplete::ShadowAbsent));
}

#[test]
fn a_second_copy_in_one_role_and_a_secondary_that_nobody_configured_are_ignored() {
    let mut host = Host::new();
    let (primary, shadow) = (host.primary("1"), host.shadow("1"));
    for role in ["shadow", "secondary"] {
        assert!(ignored(&untagged(&mut host, "v2", &[("x-mirror-role", role), ("x-mirror-pair", "1")])), "{role}");
    }
    host.answer(shadow, "200");
    host.answer(primary, "200");
    assert_eq!(host.outcomes(), [Outcome::Match]);
}

#[test]
fn a_copys_end_decides_only_once_the_primary_has_ended() {
    for (end, outcome) in [
        ("failed", Outcome::Incomplete(Incomplete::ShadowFailed)),
        ("cut", Outcome::Incomplete(Incomplete::ShadowCut)),
        ("ended without headers", Outcome::Incomplete(Incomplete::ShadowFailed)),
        ("whole", Outcome::Match),
    ] {
        let mut host = Host::new();
        let (primary, shadow) = (host.primary("1"), host.shadow("1"));
        match end {
            "failed" => host.gone(shadow),
            "cut" => {
                host.headers(shadow, &[(":status", "200")]);
                host.body(shadow, b"hel");
                host.gone(shadow);
            }
            "whole" => host.answer(shadow, "200"),
            _ => host.complete(shadow),
        }
        assert_eq!(host.outcomes(), [], "{end}");
        host.answer(primary, "200");
        assert_eq!(host.outcomes(), [outcome], "{end}");
        assert_eq!(host.journal()[0].statuses.is_some(), outcome == Outcome::Match, "{end}");
    }
}

#[test]
fn the_primarys_failure_takes_precedence() {
    let mut host = Host::new();
    let (primary, shadow) = (host.primary("1"), host.shadow("1"));
    host.gone(primary);
    host.gone(shadow);
    host.pass(SECOND);
    host.tick();
    assert_eq!(host.outcomes(), incomplete(Incomplete::PrimaryFailed));
}

#[test]
fn a_tagged_copy_gets_knatives_headers_only_where_they_are_wrong() {
    for (role, revision, namespace, set) in [
        ("shadow", "r2", "ns", None),
        ("shadow", "r1", "ns", Some("r2")),
        ("shadow", "r2", "other", Some("r2")),
        ("secondary", "r1", "ns", None),
        ("secondary", "r0", "ns", Some("r1")),
    ] {
        let mut host = with_json(knative(""));
        let marks = [("x-mirror-pair", "1"), OLD_VERSION[0], OLD_VERSION[1]];
        observed(host.request(&marks, &mut host.primary_facts()));
        let facts = &mut Host::shadow_facts("any");
        let headers = [
            ("x-mirror-role", role),
            ("x-mirror-pair", "1"),
            ("knative-serving-revision", revision),
            ("knative-serving-namespace", namespace),
        ];
        let (_, headers) = observed(host.request(&headers, facts));
        let expected = set.map_or(vec![], |revision| {
            vec![("knative-serving-revision", revision.to_owned()), ("knative-serving-namespace", "ns".to_owned())]
        });
        assert_eq!(headers, expected, "{role} {revision} {namespace}");
        assert_eq!(facts.asked.get(), 1, "whether there is a connection, and no more");
    }
}

#[test]
fn an_untagged_shadow_is_told_by_its_missing_connection_and_tagged() {
    let mut host = Host::with(ENVOY);
    let primary = observed(host.request(&[("x-request-id", ID)], &mut host.primary_facts())).0;
    let (shadow, tags) = observed(untagged(&mut host, "v2", &[("x-request-id", ID)]));
    assert_eq!(tags, [("x-mirror-role", "shadow".to_owned()), ("x-mirror-pair", ID.to_owned())]);
    host.answer(primary, "200");
    host.answer(shadow, "200");
    assert_eq!(host.outcomes(), [Outcome::Match]);
}

#[test]
fn untagged_copies_are_told_apart_by_their_clusters() {
    let mut host = with_json(knative(r#","sampling":"envoy""#));
    let marks = [("x-request-id", ID), OLD_VERSION[0], OLD_VERSION[1]];
    let primary = observed(host.request(&marks, &mut host.primary_facts())).0;
    let (secondary, tags) = observed(untagged(&mut host, "v1", &[("x-request-id", ID)]));
    assert_eq!(tags[0], ("x-mirror-role", "secondary".to_owned()));
    assert_eq!(tags[2], ("knative-serving-revision", "r1".to_owned()));
    let (shadow, tags) = observed(untagged(&mut host, "v2", &[("x-request-id", ID)]));
    assert_eq!(tags[0], ("x-mirror-role", "shadow".to_owned()));
    assert_eq!(tags[2], ("knative-serving-revision", "r2".to_owned()));
    assert!(ignored(&untagged(&mut host, "v3", &[("x-request-id", ID)])), "somebody else's mirror");
    assert_eq!(host.diagnostics().orphan, 1, "which shows a cluster that was mistaken, too");
    for ticket in [primary, secondary, shadow] {
        host.answer(ticket, "200");
    }
    assert_eq!(host.outcomes(), [Outcome::Match]);
    assert!(host.journal()[0].secondary);
}

#[test]
fn an_untagged_shadow_is_tagged_even_where_it_is_not_observed() {
    let mut host = Host::with(ENVOY);
    host.request(&[("x-request-id", "other")], &mut host.primary_facts());
    let (ticket, tags) = observed(untagged(&mut host, "v2", &[("x-request-id", ID)]));
    assert_eq!(tags.len(), 2);
    host.answer(ticket, "200");
    assert_eq!((host.outcomes(), host.diagnostics().orphan, host.open()), (vec![], 1, 1));
}

#[test]
fn where_envoy_samples_only_a_primary_with_a_copy_counts() {
    for end in ["headers", "gone", "time"] {
        let mut host = Host::with(ENVOY);
        let primary = observed(host.request(&[("x-request-id", ID)], &mut host.primary_facts())).0;
        match end {
            "headers" => host.headers(primary, &[(":status", "200")]),
            "gone" => host.gone(primary),
            _ => {
                host.pass(60 * SECOND);
                host.tick();
            }
        }
        assert_eq!((host.open(), host.bytes(), host.outcomes()), (0, 0, vec![]), "{end}");
        assert_eq!(host.diagnostics(), Diagnostics::default(), "{end}");
    }
}

#[test]
fn where_envoy_samples_a_skipped_primary_counts_by_its_copy() {
    // The candidate itself served the primary.
    let mut host = Host::with(ENVOY);
    for sampled in [false, true] {
        let facts = &mut Stream { cluster: "v2".into(), ..host.primary_facts() };
        let primary = observed(host.request(&[("x-request-id", ID)], facts)).0;
        if sampled {
            untagged(&mut host, "v2", &[("x-request-id", ID)]);
        }
        host.answer(primary, "200");
        assert_eq!(host.outcomes().len(), usize::from(sampled));
    }
    assert_eq!(host.outcomes(), skipped(Skip::SameRevision));

    // Two requests with one id: of the three primaries two were sampled.
    let mut host = Host::with(ENVOY);
    let primary = |host: &mut Host| observed(host.request(&[("x-request-id", ID)], &mut host.primary_facts())).0;
    let first = primary(&mut host);
    untagged(&mut host, "v2", &[("x-request-id", ID)]);
    let second = primary(&mut host);
    let third = primary(&mut host);
    untagged(&mut host, "v2", &[("x-request-id", ID)]);
    assert_eq!(host.outcomes(), [Outcome::Skipped(Skip::DuplicateId); 2]);
    for ticket in [first, second, third] {
        host.answer(ticket, "200");
    }
    assert_eq!((host.outcomes().len(), host.open()), (2, 0));

    // Two requests with one id, neither sampled.
    let mut host = Host::with(ENVOY);
    let tickets = [primary(&mut host), primary(&mut host)];
    for ticket in tickets {
        host.answer(ticket, "200");
    }
    assert_eq!((host.outcomes(), host.open()), (vec![], 0));

    // No room in the table.
    let mut host = Host::with(r#""sampling":"envoy","caps":{"pairs":1}"#);
    primary(&mut host);
    assert!(ignored(&host.request(&[("x-request-id", "2")], &mut host.primary_facts())));
    assert_eq!(host.outcomes(), []);
    untagged(&mut host, "v2", &[("x-request-id", "2")]);
    assert_eq!(host.outcomes(), skipped(Skip::Overload));
}

#[test]
fn a_mark_on_another_route_is_a_stray_where_envoy_samples_too() {
    let mut host = Host::with(ENVOY);
    host.request(&[("x-request-id", "1")], &mut host.primary_facts());
    let facts = &mut Stream { config: None, ..host.primary_facts() };
    assert!(ignored(&host.request(&[("x-mirror", NAME), ("x-request-id", ID)], facts)));
    assert_eq!(host.diagnostics().stray, 1);
}

#[test]
fn a_stream_of_events_is_decided_by_its_headers() {
    let events = [(":status", "200"), ("content-type", "text/event-stream")];
    let json = [(":status", "200"), ("content-type", "application/json")];
    let gone_over = [(":status", "500"), ("content-type", "text/event-stream")];
    for (of_primary, of_shadow, outcome) in [
        (&events, &events, Outcome::Skipped(Skip::Streaming)),
        (&events, &json, Outcome::Diverged),
        (&json, &events, Outcome::Diverged),
        (&events, &gone_over, Outcome::Diverged),
    ] {
        for primary_first in [true, false] {
            let mut host = Host::new();
            let (primary, shadow) = (host.primary("1"), host.shadow("1"));
            let mut order = [(primary, of_primary), (shadow, of_shadow)];
            if !primary_first {
                order.reverse();
            }
            host.headers(order[0].0, order[0].1);
            let kept = host.body(order[0].0, b"data: 1\n\n");
            assert_eq!(kept, order[0].1[1].1 == "application/json");
            assert_eq!(host.outcomes(), []);
            host.headers(order[1].0, order[1].1);
            assert_eq!(host.outcomes(), [outcome]);
            assert!(host.journal()[0].statuses.is_some() && host.journal()[0].latencies.is_none());
            assert!(host.journal()[0].places.iter().all(|(place, ..)| place != "body"));
            assert!(!host.body(primary, b"data: 2\n\n"));
            host.gone(primary);
            host.gone(shadow);
            assert_eq!((host.outcomes().len(), host.open(), host.bytes()), (1, 0, 0));
        }
    }
}

#[test]
fn a_stream_of_events_that_the_client_left_waits_for_its_shadows_headers() {
    let events = [(":status", "200"), ("content-type", "text/event-stream")];
    let mut host = Host::new();
    let (primary, shadow) = (host.primary("1"), host.shadow("1"));
    host.headers(primary, &events);
    host.gone(primary);
    assert_eq!(host.outcomes(), []);
    host.headers(shadow, &events);
    assert_eq!(host.outcomes(), skipped(Skip::Streaming));
}
