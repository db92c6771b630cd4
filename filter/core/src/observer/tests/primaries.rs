//! Primaries: who is one, what opens a pair, retries, and two requests with one id.

use super::*;

#[test]
fn two_equal_answers_match_and_nothing_is_left() {
    let mut host = Host::new();
    let primary = host.primary("1");
    let shadow = host.shadow("1");
    assert!(host.open() == 1 && host.bytes() > 0);
    host.pass(3 * MS);
    host.answer(shadow, "200");
    host.pass(2 * MS);
    assert_eq!(host.outcomes(), [], "the primary has not ended");
    host.answer(primary, "200");
    let [entry] = host.journal() else { panic!("one entry") };
    assert_eq!(entry.outcome, Outcome::Match);
    assert_eq!((entry.method.as_str(), entry.path.as_str()), ("GET", "/a?x=1"));
    assert_eq!((entry.statuses, entry.latencies), (Some((200, 200)), Some((5 * MS, 3 * MS))));
    assert_eq!((host.open(), host.bytes()), (0, 0));
}

#[test]
fn a_stale_ticket_does_not_touch_the_pair_that_took_its_place() {
    let mut host = Host::new();
    let (old, old_shadow) = (host.primary("1"), host.shadow("1"));
    host.answer(old, "200");
    host.answer(old_shadow, "200");
    let (primary, shadow) = (host.primary("2"), host.shadow("2"));
    assert_eq!((old.slot, old.role), (primary.slot, primary.role), "the test tests something");
    for stale in [old, old_shadow] {
        assert!(!host.body(stale, b"late"));
        host.answer(stale, "500");
    }
    host.answer(primary, "200");
    host.answer(shadow, "200");
    assert_eq!(host.outcomes(), [Outcome::Match; 2]);
}

#[test]
fn lines_wait_for_the_next_flush_but_not_too_many() {
    let mut host = Host::with(r#""caps":{"examples_per_minute":600}"#);
    for n in 0..100 {
        let key = &n.to_string();
        let (primary, shadow) = (host.primary(key), host.shadow(key));
        host.answer(primary, "200");
        host.answer(shadow, "404");
    }
    let lines = host.flush().lines.len();
    assert!((1..=64).contains(&lines), "{lines}");
    assert_eq!(host.outcomes().len(), 100);
}

#[test]
fn answers_diverge_whoever_ends_last() {
    for primary_first in [true, false] {
        let mut host = Host::new();
        let (primary, shadow) = (host.primary("1"), host.shadow("1"));
        if primary_first {
            host.answer(primary, "200");
            host.answer(shadow, "404");
        } else {
            host.answer(shadow, "404");
            host.answer(primary, "200");
        }
        let [entry] = host.journal() else { panic!("one entry") };
        assert_eq!((entry.outcome, entry.statuses), (Outcome::Diverged, Some((200, 404))));
        assert_eq!(entry.places, [("status".into(), Kind::Value, Tally::Diverged)]);
        assert_eq!(host.flush().lines.len(), 1, "an example");
        assert_eq!(host.flush().lines.len(), 0, "is given once");
    }
}

#[test]
fn bodies_are_compared_whatever_their_parts() {
    for (other, outcome) in [("hello world", Outcome::Match), ("hello", Outcome::Diverged)] {
        let mut host = Host::new();
        let (primary, shadow) = (host.primary("1"), host.shadow("1"));
        host.headers(primary, &[(":status", "200")]);
        assert!(host.body(primary, b"hello ") && host.body(primary, b"world") && host.body(primary, b""));
        host.complete(primary);
        host.answer_with(shadow, "200", &[], other);
        assert_eq!(host.outcomes(), [outcome]);
    }
}

#[test]
fn a_request_without_a_well_formed_mark_costs_no_question() {
    let mut host = Host::new();
    for mark in ["", "hello", "a/b/c", "default/hello/xyz"] {
        let facts = &mut host.primary_facts();
        assert!(ignored(&host.request(&[("x-mirror", mark), ("x-mirror-pair", "1")], facts)), "{mark}");
        assert_eq!(facts.asked.get(), 0, "{mark}");
    }
}

#[test]
fn a_known_mark_costs_no_question_and_its_pair_none_either() {
    let mut host = Host::with(r#""split":false"#);
    host.primary("first");
    let facts = &mut host.primary_facts();
    let (primary, set) = observed(host.request(&[("x-mirror-pair", "1")], facts));
    assert!(set.is_empty(), "a primary is never changed");
    assert_eq!(facts.asked.get(), 0);
    host.shadow("1");
    host.observer.on_response_headers(primary, HeaderBlock::from_pairs(&[(":status", "200")]), facts);
    host.observer.on_complete(host.now, primary, facts);
    assert_eq!(facts.asked.get(), 0, "its copy vouched for it");
}

#[test]
fn a_request_without_any_key_is_ignored() {
    let mut host = Host::new();
    let facts = &mut host.primary_facts();
    assert!(ignored(&host.request(&[], facts)));
    assert!(ignored(&host.request(&[("x-mirror-pair", ""), ("x-request-id", "")], facts)));
}

#[test]
fn a_mark_that_a_client_wrote_on_a_route_without_mirror_counts_nothing() {
    let mut host = Host::new();
    let genuine = host.primary("1");
    let facts = &mut Stream { config: None, ..host.primary_facts() };
    // The client knows the fingerprint: it is believed until the response.
    for end in ["headers", "complete", "gone", "time"] {
        let (forged, _) = observed(host.request(&[("x-mirror-pair", end)], facts));
        assert_eq!(host.open(), 2);
        match end {
            "headers" => {
                host.observer.on_response_headers(forged, HeaderBlock::from_pairs(&[(":status", "200")]), facts);
            }
            "complete" => host.observer.on_complete(host.now, forged, facts),
            "gone" => host.observer.on_gone(host.now, forged, facts),
            _ => {
                host.shadow("1");
                host.pass(61 * SECOND);
                host.tick();
                assert_eq!(host.open(), 0);
                break;
            }
        }
        assert_eq!(host.open(), 1, "{end}");
    }
    // It does not: it is asked for at once.
    let unknown = format!("{NAME}/00000000");
    assert!(ignored(&host.request(&[("x-mirror", &unknown), ("x-mirror-pair", "forged")], facts)));
    assert!(ignored(&host.request(&[("x-mirror", "not/known"), ("x-mirror-pair", "forged")], facts)));
    assert_eq!(host.diagnostics().stray, 6);
    assert_eq!(host.outcomes(), incomplete(Incomplete::PrimarySlow), "the genuine one");
    host.answer(genuine, "200");
    assert_eq!(host.outcomes().len(), 1);
}

#[test]
fn a_primary_whose_shadow_never_came_is_incomplete_once_vouched_for() {
    let mut host = Host::new();
    let first = host.primary("1");
    host.answer(first, "200");
    let second = host.primary("2");
    host.headers(second, &[(":status", "200")]);
    assert_eq!(host.outcomes(), incomplete(Incomplete::ShadowAbsent));
    host.complete(second);
    assert_eq!(host.outcomes(), [incomplete(Incomplete::ShadowAbsent), incomplete(Incomplete::ShadowAbsent)].concat());
    assert_eq!(host.diagnostics(), Diagnostics::default());
}

#[test]
fn a_primary_that_the_candidate_served_is_skipped() {
    let knative = r#""candidate":{"cluster":"v2","knative":{"revision":"r2","namespace":"ns"}}"#;
    let json = format!(r#"{{"version":1,"name":"{NAME}",{knative},"hosts":["h"]}}"#);
    let to = |revision, namespace| [("knative-serving-revision", revision), ("knative-serving-namespace", namespace)];
    for (json, cluster, revision, same) in [
        (Host::new().json, "v2", to("r1", "ns"), true),
        (Host::new().json, "v1", to("r1", "ns"), false),
        (Host::with(r#""split":false"#).json, "v2", to("r1", "ns"), false),
        (json.clone(), "any", to("r2", "ns"), true),
        (json.clone(), "v2", to("r1", "ns"), false),
        (json.clone(), "v2", to("r2", "other"), false),
    ] {
        let mut host = Host::new();
        host.json.clone_from(&json);
        let facts = &mut Stream { cluster: cluster.into(), ..host.primary_facts() };
        host.mark = format!("{NAME}/{}", crate::config::fingerprint(json.as_bytes()));
        for pair in ["1", "2"] {
            // The second time the mark alone is known, and has to be vouched for before it counts.
            let headers = [("x-mirror-pair", pair), revision[0], revision[1]];
            assert_eq!(ignored(&host.request(&headers, facts)), same, "{json} {cluster} {revision:?}");
        }
        let expected = if same { [skipped(Skip::SameRevision), skipped(Skip::SameRevision)].concat() } else { vec![] };
        assert_eq!(host.outcomes(), expected);
        let forged = &mut Stream { config: None, cluster: cluster.into(), ..host.primary_facts() };
        host.request(&[("x-mirror-pair", "3"), revision[0], revision[1]], forged);
        assert_eq!(host.outcomes(), expected, "a forged mark counts nothing");
        assert_eq!(host.diagnostics().stray, u64::from(same));
    }
}

#[test]
fn a_retry_takes_the_place_of_the_try_before() {
    let mut host = Host::new();
    let (first, shadow) = (host.primary("1"), host.shadow("1"));
    host.pass(MS);
    host.answer(shadow, "200");
    host.answer(first, "503");
    assert_eq!(host.outcomes(), [], "Envoy may try again");
    host.pass(20 * MS);
    let second = host.primary("1");
    host.headers(first, &[(":status", "418")]);
    host.gone(first);
    assert_eq!(host.open(), 1, "the first try's ticket is stale");
    host.pass(9 * MS);
    host.answer(second, "200");
    let [entry] = host.journal() else { panic!("one entry") };
    assert_eq!((entry.outcome, entry.statuses), (Outcome::Match, Some((200, 200))));
    assert_eq!(entry.latencies, Some((30 * MS, MS)), "the user waited from the first try on");
}

#[test]
fn a_further_try_after_the_outcome_and_copies_of_a_skipped_request_count_nothing() {
    // Retried after more than the grace.
    let mut host = Host::new();
    let (primary, shadow) = (host.primary("1"), host.shadow("1"));
    host.gone(primary);
    host.pass(2 * SECOND);
    host.tick();
    assert_eq!(host.outcomes(), incomplete(Incomplete::PrimaryFailed));
    let again = [("x-mirror-pair", "1"), ("x-request-id", ID)];
    assert!(ignored(&host.request(&again, &mut host.primary_facts())));
    host.answer(shadow, "200");
    let other = [("x-mirror-pair", "1"), ("x-request-id", "a new count by the selector")];
    assert!(!ignored(&host.request(&other, &mut host.primary_facts())));

    // Skipped, tried again, and copied.
    let mut host = Host::new();
    for _ in 0..2 {
        let facts = &mut Stream { cluster: "v2".into(), ..host.primary_facts() };
        assert!(ignored(&host.request(&again, facts)));
    }
    let copy = [again[0], again[1], ("x-mirror-role", "shadow")];
    assert!(ignored(&host.request(&copy, &mut Host::shadow_facts("v2"))));
    assert_eq!(host.outcomes(), skipped(Skip::SameRevision));
    assert_eq!(host.diagnostics(), Diagnostics::default());
}

#[test]
fn a_hedged_try_takes_the_place_of_one_that_is_still_going() {
    let mut host = Host::new();
    let (first, shadow) = (host.primary("1"), host.shadow("1"));
    let second = host.primary("1");
    host.gone(first);
    host.answer(shadow, "200");
    host.answer(second, "200");
    assert_eq!(host.outcomes(), [Outcome::Match]);
}

#[test]
fn a_retry_has_to_be_vouched_for() {
    let mut host = Host::new();
    let (primary, shadow) = (host.primary("1"), host.shadow("1"));
    let forged = &mut Stream { config: None, ..host.primary_facts() };
    assert!(ignored(&host.request(&[("x-mirror-pair", "1")], forged)));
    host.answer(primary, "200");
    host.answer(shadow, "200");
    assert_eq!((host.outcomes(), host.diagnostics().stray), (vec![Outcome::Match], 1));
}

#[test]
fn a_primary_that_is_not_tried_again_concludes_after_the_grace() {
    for (end, outcome) in [
        ("failed", Outcome::Incomplete(Incomplete::PrimaryFailed)),
        ("cut", Outcome::Incomplete(Incomplete::PrimaryCut)),
        ("500", Outcome::Diverged),
        ("409", Outcome::Diverged),
    ] {
        let mut host = Host::new();
        let (primary, shadow) = (host.primary("1"), host.shadow("1"));
        host.answer(shadow, "200");
        match end {
            "failed" => host.gone(primary),
            "cut" => {
                host.headers(primary, &[(":status", "200")]);
                host.gone(primary);
            }
            status => host.answer(primary, status),
        }
        host.pass(999 * MS);
        host.tick();
        assert_eq!(host.outcomes(), [], "{end}");
        host.pass(MS);
        host.tick();
        assert_eq!(host.outcomes(), [outcome], "{end}");
        assert_eq!((host.open(), host.bytes()), (0, 0));
    }
}

fn by_id(host: &mut Host, id: &str) -> Ticket {
    let facts = &mut host.primary_facts();
    observed(host.request(&[("x-request-id", id)], facts)).0
}

fn shadow_by_id(host: &mut Host, id: &str) -> Admission {
    host.request(&[("x-mirror-role", "shadow"), ("x-request-id", id)], &mut Host::shadow_facts("v2"))
}

#[test]
fn without_the_selectors_key_the_request_id_pairs_but_for_the_trace_digit() {
    let mut host = Host::new();
    let primary = by_id(&mut host, ID);
    let traced = ID.replacen("-4f", "-9f", 1);
    let (shadow, _) = observed(shadow_by_id(&mut host, &traced));
    host.answer(primary, "200");
    host.answer(shadow, "200");
    assert_eq!(host.outcomes(), [Outcome::Match]);
}

#[test]
fn live_requests_that_share_an_id_are_skipped_each_once() {
    let mut host = Host::new();
    let first = by_id(&mut host, ID);
    let (shadow, _) = observed(shadow_by_id(&mut host, ID));
    let second = by_id(&mut host, ID);
    assert!(ignored(&shadow_by_id(&mut host, ID)), "nobody knows whose it is");
    let third = by_id(&mut host, ID);
    host.answer(shadow, "200");
    host.answer(first, "200");
    host.answer(third, "200");
    assert_eq!(host.open(), 1, "one is still going");
    let fourth = by_id(&mut host, ID);
    host.answer(second, "200");
    host.answer(second, "200");
    assert_eq!(host.open(), 1, "one is still going");
    host.gone(fourth);
    assert_eq!(host.outcomes(), [Outcome::Skipped(Skip::DuplicateId); 4]);
    assert_eq!((host.open(), host.bytes()), (0, 0));
    let next = by_id(&mut host, ID);
    observed(shadow_by_id(&mut host, ID));
    host.answer(next, "200");
    assert_eq!(host.open(), 1, "afterwards the id is as good as any");
}

#[test]
fn an_id_whose_primary_failed_is_tried_again() {
    let mut host = Host::new();
    let first = by_id(&mut host, ID);
    let (shadow, _) = observed(shadow_by_id(&mut host, ID));
    host.answer(first, "503");
    host.answer(shadow, "200");
    let second = by_id(&mut host, ID);
    host.answer(second, "200");
    assert_eq!(host.outcomes(), [Outcome::Match]);
}

#[test]
fn a_second_copy_shows_that_a_retry_was_another_request() {
    let mut host = Host::new();
    let first = by_id(&mut host, ID);
    observed(shadow_by_id(&mut host, ID));
    host.answer(first, "503");
    let second = by_id(&mut host, ID);
    assert!(ignored(&shadow_by_id(&mut host, ID)));
    assert_eq!(host.outcomes(), [Outcome::Skipped(Skip::DuplicateId); 2]);
    host.answer(second, "200");
    assert_eq!((host.outcomes().len(), host.open()), (2, 0));
}

#[test]
fn many_that_share_an_id_are_counted_but_not_remembered() {
    let mut host = Host::new();
    let facts = &mut host.primary_facts();
    let admissions: Vec<_> = (0..200).map(|_| host.request(&[("x-request-id", ID)], facts)).collect();
    assert_eq!(host.outcomes().len(), 200);
    assert!(ignored(&admissions[199]));
    host.pass(61 * SECOND);
    host.tick();
    assert_eq!((host.outcomes().len(), host.open(), host.bytes()), (200, 0, 0));
}
