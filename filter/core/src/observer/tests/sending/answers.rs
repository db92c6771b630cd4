//! The answers of primaries and copies, and the ends of both.

use super::*;

#[test]
fn a_pair_is_judged_by_both_answers_whoever_ends_last() {
    for primary_first in [true, false] {
        for (status, outcome) in [("200", Outcome::Match), ("404", Outcome::Diverged), ("504", Outcome::Diverged)] {
            let mut proxy = Proxy::new();
            let (primary, copy) = proxy.request();
            if primary_first {
                proxy.answer(primary, "200");
                assert_eq!(proxy.host.outcomes(), []);
                proxy.copy_answer(copy, status);
            } else {
                proxy.copy_answer(copy, status);
                assert_eq!(proxy.host.outcomes(), []);
                proxy.answer(primary, "200");
            }
            assert_eq!(proxy.host.outcomes(), [outcome], "{status}");
            proxy.assert_empty();
        }
    }
}

#[test]
fn bodies_and_trailers_of_both_answers_are_compared() {
    for (body, trailer, outcome) in
        [("same", "1", Outcome::Match), ("other", "1", Outcome::Diverged), ("same", "2", Outcome::Diverged)]
    {
        let mut proxy = Proxy::new();
        let (primary, copy) = proxy.request();
        proxy.primary_headers(primary, &[(":status", "200")]);
        let answer = proxy.hear(copy, Some(&[(":status", "200"), FROM_UPSTREAM])).expect("the rest is wanted");
        for (ticket, body, trailer) in [(primary, "same", "1"), (answer, body, trailer)] {
            assert!(proxy.host.body(ticket, body.as_bytes()));
            proxy.host.observer.on_trailers(ticket, HeaderBlock::from_pairs(&[("x-t", trailer)]));
            proxy.host.complete(ticket);
        }
        proxy.primary_gone(primary);
        assert_eq!(proxy.host.outcomes(), [outcome], "{body} {trailer}");
    }
}

#[test]
fn the_time_of_both_answers_counts_from_the_requests_end() {
    let mut proxy = Proxy::new();
    let primary = proxy.follow(&[]);
    proxy.host.pass(50 * MS);
    proxy.upload(primary, b"slowly");
    let copy = proxy.end(primary)[0].token;
    proxy.host.pass(3 * MS);
    proxy.copy_answer(copy, "200");
    proxy.host.pass(4 * MS);
    proxy.answer(primary, "200");
    assert_eq!(proxy.host.journal()[0].latencies, Some((7 * MS, 3 * MS)));
}

#[test]
fn noise_is_what_the_secondary_differs_in_too() {
    for (secondary_status, outcome, secondary) in [("404", Outcome::Noise, true), ("200", Outcome::Diverged, true)] {
        let mut proxy = Proxy::with(r#""secondary":{"cluster":"v1"}"#);
        let primary = proxy.follow(&[]);
        let sent = proxy.end(primary);
        proxy.answer(primary, "200");
        proxy.copy_answer(sent[0].token, "404");
        assert_eq!(proxy.host.outcomes(), [], "the secondary is waited for");
        proxy.copy_answer(sent[1].token, secondary_status);
        let [entry] = proxy.host.journal() else { panic!("one entry") };
        assert_eq!((entry.outcome, entry.secondary), (outcome, secondary));
        proxy.assert_empty();
    }
}

#[test]
fn a_secondary_that_does_not_answer_is_done_without() {
    for how in ["refused", "slow", "cut", "time"] {
        let mut proxy = Proxy::with(r#""secondary":{"cluster":"v1"}"#);
        let primary = proxy.follow(&[]);
        let sent = proxy.end(primary);
        match how {
            "refused" => proxy.copy_refused(sent[1].token, "503"),
            "slow" => proxy.copy_refused(sent[1].token, "504"),
            "cut" => proxy.copy_cut(sent[1].token),
            _ => {}
        }
        proxy.answer(primary, "200");
        proxy.copy_answer(sent[0].token, "404");
        if how == "time" {
            assert_eq!(proxy.host.outcomes(), []);
            proxy.pass_time(60 * SECOND);
        }
        let [entry] = proxy.host.journal() else { panic!("one entry") };
        assert_eq!((entry.outcome, entry.secondary), (Outcome::Diverged, false), "{how}");
    }
}

#[test]
fn a_copy_that_no_server_answered_is_incomplete() {
    for primary_first in [true, false] {
        for (what, outcome) in
            [("503", Incomplete::ShadowFailed), ("504", Incomplete::ShadowSlow), ("cut", Incomplete::ShadowCut)]
        {
            let mut proxy = Proxy::new();
            let (primary, copy) = proxy.request();
            if primary_first {
                proxy.answer(primary, "200");
            }
            match what {
                "cut" => proxy.copy_cut(copy),
                status => proxy.copy_refused(copy, status),
            }
            if !primary_first {
                proxy.answer(primary, "200");
            }
            assert_eq!(proxy.host.outcomes(), incomplete(outcome), "{what} {primary_first}");
            proxy.assert_empty();
        }
    }
}

#[test]
fn a_grpc_copy_is_late_by_the_clock() {
    for (time, outcome) in [(14 * SECOND, Incomplete::ShadowFailed), (15 * SECOND - 5 * MS, Incomplete::ShadowSlow)] {
        let mut proxy = Proxy::new();
        let (primary, copy) = proxy.request();
        proxy.answer(primary, "200");
        proxy.host.pass(time);
        assert_eq!(proxy.hear(copy, Some(&[(":status", "200"), ("grpc-status", "14")])), None);
        assert_eq!(proxy.host.outcomes(), incomplete(outcome));
        proxy.assert_empty();
    }
}

#[test]
fn a_copy_that_is_cut_because_its_time_has_run_out_is_late() {
    for (time, outcome) in [(14 * SECOND, Incomplete::ShadowCut), (15 * SECOND, Incomplete::ShadowSlow)] {
        let mut proxy = Proxy::new();
        let (primary, copy) = proxy.request();
        proxy.answer(primary, "200");
        proxy.host.pass(time);
        proxy.copy_cut(copy);
        assert_eq!(proxy.host.outcomes(), incomplete(outcome));
    }
}

#[test]
fn a_body_that_is_too_large_for_the_pair_may_be_so_for_envoy() {
    for (what, outcome) in
        [("cut", Outcome::Skipped(Skip::TooLarge)), ("504", Outcome::Incomplete(Incomplete::ShadowSlow))]
    {
        let mut proxy = Proxy::with(r#""caps":{"body_bytes":4}"#);
        let (primary, copy) = proxy.request();
        proxy.primary_headers(primary, &[(":status", "200")]);
        assert!(!proxy.host.body(primary, b"hello"));
        match what {
            "cut" => proxy.copy_cut(copy),
            status => proxy.copy_refused(copy, status),
        }
        proxy.primary_gone(primary);
        assert_eq!(proxy.host.outcomes(), [outcome], "{what}");
        proxy.assert_empty();
    }
}

#[test]
fn a_stream_of_events_is_decided_by_the_headers_or_skipped() {
    let events = ("content-type", "text/event-stream");
    for (what, outcome) in [
        ("answer", Outcome::Skipped(Skip::Streaming)),
        ("other", Outcome::Diverged),
        ("504", Outcome::Skipped(Skip::Streaming)),
        ("cut", Outcome::Skipped(Skip::Streaming)),
        ("503", Outcome::Incomplete(Incomplete::ShadowFailed)),
    ] {
        let mut proxy = Proxy::new();
        let (primary, copy) = proxy.request();
        proxy.primary_headers(primary, &[(":status", "200"), events]);
        assert!(!proxy.host.body(primary, b"data: 1\n\n"));
        assert_eq!(proxy.host.outcomes(), []);
        match what {
            "answer" => assert!(proxy.hear(copy, Some(&[(":status", "200"), events, FROM_UPSTREAM])).is_some()),
            "other" => assert!(proxy.hear(copy, Some(&[(":status", "404"), FROM_UPSTREAM])).is_some()),
            "cut" => proxy.copy_cut(copy),
            status => proxy.copy_refused(copy, status),
        }
        assert_eq!(proxy.host.outcomes(), [outcome], "{what}");
        proxy.primary_gone(primary);
        assert_eq!(proxy.host.outcomes().len(), 1);
        proxy.assert_empty();
    }
}

#[test]
fn a_primary_that_envoy_answered_for_has_failed() {
    let mut proxy = Proxy::new();
    let (primary, copy) = proxy.request();
    let facts = &mut Stream { local: true, ..proxy.host.primary_facts() };
    proxy.host.observer.on_primary_headers(primary, HeaderBlock::from_pairs(&[(":status", "503")]), facts);
    assert_eq!(proxy.host.outcomes(), incomplete(Incomplete::PrimaryFailed));
    proxy.copy_answer(copy, "200");
    proxy.answer(primary, "200");
    assert_eq!(proxy.host.outcomes().len(), 1);
    proxy.assert_empty();
}

#[test]
fn a_primarys_answer_is_the_last_one() {
    for status in ["503", "409"] {
        let mut proxy = Proxy::new();
        let (primary, copy) = proxy.request();
        proxy.copy_answer(copy, status);
        proxy.answer(primary, status);
        assert_eq!(proxy.host.outcomes(), [Outcome::Match], "no further try is waited for");
    }
}

#[test]
fn a_client_that_goes_away_leaves_an_incomplete_pair() {
    for (answered, outcome) in [(false, Incomplete::PrimaryFailed), (true, Incomplete::PrimaryCut)] {
        for is_copied in [true, false] {
            let mut proxy = Proxy::new();
            let primary = proxy.follow(&[]);
            let sent = if is_copied { proxy.end(primary) } else { Vec::new() };
            if answered {
                proxy.primary_headers(primary, &[(":status", "200")]);
            }
            proxy.primary_gone(primary);
            assert_eq!(proxy.host.outcomes(), incomplete(outcome), "{answered} {is_copied}");
            assert!(proxy.end(primary).is_empty());
            for copy in sent {
                proxy.copy_answer(copy.token, "200");
            }
            assert_eq!(proxy.host.outcomes().len(), 1);
            proxy.assert_empty();
        }
    }
}

#[test]
fn a_client_that_goes_away_after_its_answer_changes_nothing() {
    let mut proxy = Proxy::new();
    let (primary, copy) = proxy.request();
    proxy.answer(primary, "200");
    proxy.primary_gone(primary);
    proxy.copy_answer(copy, "200");
    proxy.primary_gone(primary);
    assert_eq!(proxy.host.outcomes(), [Outcome::Match]);
}

#[test]
fn a_request_that_was_answered_before_its_end_may_still_become_whole() {
    let events = ("content-type", "text/event-stream");
    for (headers, what, outcome) in [
        (&[(":status", "200")][..], "gone", Outcome::Incomplete(Incomplete::RequestCut)),
        (&[(":status", "200")][..], "time", Outcome::Incomplete(Incomplete::RequestCut)),
        (&[(":status", "200"), events][..], "gone", Outcome::Incomplete(Incomplete::RequestCut)),
        (&[(":status", "200")][..], "end", Outcome::Match),
    ] {
        let mut proxy = Proxy::new();
        let primary = proxy.follow(&[]);
        proxy.primary_headers(primary, headers);
        proxy.host.body(primary, b"hello");
        if headers.len() == 1 {
            proxy.host.complete(primary);
        }
        assert!(proxy.upload(primary, b"more"));
        assert_eq!(proxy.host.outcomes(), [], "{what}");
        match what {
            "gone" => proxy.primary_gone(primary),
            "time" => proxy.pass_time(60 * SECOND),
            _ => {
                let copy = proxy.end(primary)[0].token;
                proxy.copy_answer(copy, "200");
            }
        }
        assert_eq!(proxy.host.outcomes(), [outcome], "{what}");
        proxy.assert_empty();
    }
}

#[test]
fn a_pair_that_has_run_out_of_time_says_who_is_late() {
    for (is_copied, primary_ends, outcome) in [
        (false, false, Incomplete::PrimarySlow),
        (true, false, Incomplete::PrimarySlow),
        (true, true, Incomplete::ShadowSlow),
    ] {
        let mut proxy = Proxy::new();
        let primary = proxy.follow(&[]);
        let sent = if is_copied { proxy.end(primary) } else { Vec::new() };
        if primary_ends {
            proxy.answer(primary, "200");
        }
        proxy.pass_time(60 * SECOND - 1);
        assert_eq!(proxy.host.outcomes(), []);
        proxy.pass_time(1);
        assert_eq!(proxy.host.outcomes(), incomplete(outcome));
        assert!(!proxy.upload(primary, b"late") && proxy.end(primary).is_empty());
        proxy.answer(primary, "200");
        for copy in sent {
            proxy.copy_answer(copy.token, "200");
        }
        assert_eq!(proxy.host.outcomes().len(), 1, "what comes later changes nothing");
        proxy.assert_empty();
    }
}

#[test]
fn an_answer_that_does_not_fit_ends_the_pair() {
    let mut proxy = Proxy::with(r#""caps":{"pair_bytes":12000}"#);
    let (primary, copy) = proxy.request();
    let long = "x".repeat(12_000);
    proxy.hear(copy, Some(&[(":status", "200"), FROM_UPSTREAM, ("x-long", &long)]));
    assert_eq!(proxy.host.outcomes(), skipped(Skip::Overload));
    proxy.answer(primary, "200");
    assert_eq!(proxy.host.outcomes().len(), 1);
    proxy.assert_empty();
}

#[test]
fn stale_tickets_and_unknown_tokens_change_nothing() {
    let mut proxy = Proxy::new();
    let (old, old_copy) = proxy.request();
    proxy.answer(old, "200");
    proxy.copy_answer(old_copy, "200");
    let (primary, copy) = proxy.request();
    assert_eq!(old.slot, primary.slot, "the test tests something");
    let before = proxy.host.bytes();
    for token in [old_copy, 0, u32::MAX] {
        proxy.copy_answer(token, "500");
        proxy.copy_refused(token, "504");
        proxy.copy_cut(token);
    }
    assert!(!proxy.upload(old, b"late") && proxy.end(old).is_empty());
    proxy.host.observer.on_request_body_lost(old);
    proxy.answer(old, "500");
    assert_eq!((proxy.host.outcomes().len(), proxy.host.bytes()), (1, before));
    proxy.answer(primary, "200");
    proxy.copy_answer(copy, "200");
    assert_eq!(proxy.host.outcomes(), [Outcome::Match; 2]);
    proxy.assert_empty();
}
