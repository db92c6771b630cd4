//! Time and room: times to live, clocks that jump, and budgets.

use super::*;

#[test]
fn a_pair_that_has_run_out_of_time_says_who_is_late() {
    for (primary_ends, shadow_ends, outcome) in [
        (false, false, Outcome::Incomplete(Incomplete::PrimarySlow)),
        (false, true, Outcome::Incomplete(Incomplete::PrimarySlow)),
        (true, false, Outcome::Incomplete(Incomplete::ShadowSlow)),
    ] {
        let mut host = Host::with(r#""caps":{"pair_ttl_ms":5000}"#);
        let (primary, shadow) = (host.primary("1"), host.shadow("1"));
        host.headers(shadow, &[(":status", "200")]);
        if primary_ends {
            host.answer(primary, "200");
        }
        if shadow_ends {
            host.complete(shadow);
        }
        host.pass(4999 * MS);
        host.tick();
        assert_eq!(host.outcomes(), []);
        host.pass(MS);
        host.tick();
        assert_eq!(host.outcomes(), [outcome]);
        host.answer(primary, "200");
        host.answer(shadow, "200");
        assert_eq!((host.outcomes().len(), host.open(), host.bytes()), (1, 0, 0), "what comes later changes nothing");
    }
}

#[test]
fn a_pair_waits_for_its_secondary_until_its_time_has_run_out() {
    let mut host = Host::with(r#""secondary":{"cluster":"v1"}"#);
    let (primary, shadow, secondary) = (host.primary("1"), host.shadow("1"), host.copy("secondary", "1"));
    host.answer(primary, "200");
    host.answer(shadow, "200");
    host.headers(secondary, &[(":status", "200")]);
    assert_eq!(host.outcomes(), []);
    host.pass(60 * SECOND);
    host.tick();
    assert_eq!((host.outcomes(), host.journal()[0].secondary), (vec![Outcome::Match], false));
}

#[test]
fn a_retry_does_not_lengthen_a_pairs_life() {
    let mut host = Host::with(r#""caps":{"pair_ttl_ms":5000}"#);
    host.primary("1");
    host.shadow("1");
    host.pass(4 * SECOND);
    host.primary("1");
    host.pass(SECOND);
    host.tick();
    assert_eq!(host.outcomes(), incomplete(Incomplete::PrimarySlow));
}

#[test]
fn a_clock_that_jumps_back_delays_nothing_for_ever() {
    let mut host = Host::new();
    let (primary, shadow) = (host.primary("1"), host.shadow("1"));
    host.primary("2");
    host.shadow("2");
    host.now -= 900 * SECOND;
    host.pass(7 * MS);
    host.answer(primary, "200");
    host.answer(shadow, "200");
    assert_eq!(host.outcomes(), [Outcome::Match]);
    let (primary_took, shadow_took) = host.journal()[0].latencies.expect("latencies");
    assert!(primary_took <= 7 * MS && shadow_took <= 7 * MS);
    host.pass(60 * SECOND);
    host.tick();
    assert_eq!(host.open(), 0);
    for now in [u64::MAX, 0, u64::MAX] {
        host.now = now;
        host.primary("3");
        host.tick();
    }
}

#[test]
fn a_full_table_skips_what_does_not_fit() {
    let mut host = Host::with(r#""caps":{"pairs":2}"#);
    let first = host.primary("1");
    host.primary("2");
    let refused = |host: &mut Host, config: Option<String>| {
        let facts = &mut Stream { config, ..host.primary_facts() };
        let pair = if facts.config.is_some() { "3" } else { "4" };
        ignored(&host.request(&[("x-mirror-pair", pair)], facts))
    };
    let json = host.json.clone();
    assert!(refused(&mut host, Some(json)));
    assert_eq!(host.outcomes(), skipped(Skip::Overload));
    assert!(refused(&mut host, None));
    assert_eq!((host.outcomes().len(), host.diagnostics().stray), (1, 1), "a forged mark counts nothing");
    host.answer(first, "200");
    host.primary("5");
    assert_eq!(host.outcomes().len(), 2, "there is room again");
}

#[test]
fn a_body_over_its_cap_is_dropped_and_its_bytes_are_given_back() {
    for announced in [true, false] {
        let mut host = Host::with(r#""caps":{"body_bytes":1000}"#);
        let (primary, shadow) = (host.primary("1"), host.shadow("1"));
        let headers = [(":status", "200"), ("content-length", if announced { "1200" } else { "" })];
        host.headers(primary, &headers);
        host.headers(shadow, &headers);
        let before = host.bytes();
        assert_eq!(host.body(primary, &[b'a'; 600]), !announced);
        assert_eq!(host.bytes() > before, !announced);
        assert!(!host.body(primary, &[b'a'; 600]));
        assert_eq!(host.bytes(), before);
        assert!(!host.body(primary, b"a"), "and never wanted again");
        host.body(shadow, &[b'a'; 600]);
        host.complete(primary);
        host.complete(shadow);
        assert_eq!((host.outcomes(), host.bytes()), (skipped(Skip::TooLarge), 0));
    }
}

#[test]
fn what_differs_counts_although_a_body_was_too_large() {
    let mut host = Host::with(r#""caps":{"body_bytes":4}"#);
    let (primary, shadow) = (host.primary("1"), host.shadow("1"));
    host.answer(primary, "200");
    host.answer(shadow, "404");
    assert_eq!(host.outcomes(), [Outcome::Diverged]);
}

#[test]
fn bodies_share_one_budget() {
    let mut host = Host::with(r#""caps":{"pair_bytes":12000,"body_bytes":100000}"#);
    let (primary, shadow) = (host.primary("1"), host.shadow("1"));
    host.headers(primary, &[(":status", "200")]);
    host.headers(shadow, &[(":status", "200")]);
    assert!(host.body(primary, &[b'a'; 8000]));
    assert!(!host.body(shadow, &[b'a'; 8000]), "no room for both");
    assert!(host.bytes() <= 12_000);
    host.complete(primary);
    host.complete(shadow);
    assert_eq!((host.outcomes(), host.bytes()), (skipped(Skip::Overload), 0));
}

#[test]
fn headers_and_trailers_that_do_not_fit_end_the_pair() {
    let long = "x".repeat(12_000);
    for part in ["request", "headers", "trailers"] {
        let mut host = Host::with(r#""caps":{"pair_bytes":12000}"#);
        if part == "request" {
            let facts = &mut host.primary_facts();
            assert!(ignored(&host.request(&[("x-mirror-pair", "1"), ("x-long", &long)], facts)));
        } else {
            let (primary, shadow) = (host.primary("1"), host.shadow("1"));
            if part == "headers" {
                host.headers(primary, &[(":status", "200"), ("x-long", &long)]);
            } else {
                host.headers(primary, &[(":status", "200")]);
                host.observer.on_trailers(primary, HeaderBlock::from_pairs(&[("x-long", &long)]));
            }
            host.answer(primary, "200");
            host.answer(shadow, "200");
        }
        assert_eq!((host.outcomes(), host.bytes()), (skipped(Skip::Overload), 0), "{part}");
    }
}

#[test]
fn a_worker_holds_no_more_than_its_ceiling_whatever_mirrors_may() {
    let mut host = Host::with(r#""caps":{"pairs":100000,"pair_bytes":268435456,"body_bytes":16777216}"#);
    let parts = 16 * 1024 * 1024;
    let mut bodies = 0;
    for n in 0..6 {
        let primary = host.primary(&n.to_string());
        host.shadow(&n.to_string());
        host.headers(primary, &[(":status", "200"), ("content-length", &parts.to_string())]);
        // The announced length is set aside with the first byte.
        bodies += usize::from(host.body(primary, b"a") && host.bytes() > bodies * parts + parts);
    }
    assert_eq!(bodies, 3, "the fourth does not fit beside the pairs themselves");
    assert!(host.bytes() <= crate::pair::MOST_BYTES);
}
