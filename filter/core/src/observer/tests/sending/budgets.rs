//! Room: bodies of requests, pairs, and copies under way.

use super::*;

#[test]
fn a_request_that_announces_too_large_a_body_is_skipped_at_once() {
    let mut proxy = Proxy::with(r#""caps":{"body_bytes":1000}"#);
    proxy.follow(&[("content-length", "1000")]);
    proxy.follow(&[("content-length", "many")]);
    assert!(proxy.pass(&[("content-length", "1001")]).ticket.is_none());
    assert_eq!(proxy.host.outcomes(), skipped(Skip::TooLarge));
}

#[test]
fn a_body_that_turns_out_to_be_too_large_is_not_copied() {
    let mut proxy = Proxy::with(r#""caps":{"body_bytes":1000}"#);
    let ticket = proxy.follow(&[]);
    let before = proxy.host.bytes();
    for _ in 0..10 {
        assert!(proxy.upload(ticket, &[b'a'; 100]));
    }
    assert_eq!(proxy.host.bytes(), before + 1000, "it grows to the cap and no further");
    assert!(proxy.upload(ticket, b""));
    assert!(!proxy.upload(ticket, b"a"));
    assert_eq!(proxy.host.outcomes(), skipped(Skip::TooLarge));
    assert!(!proxy.upload(ticket, b"a"), "and never wanted again");
    assert!(proxy.end(ticket).is_empty());
    proxy.answer(ticket, "200");
    assert_eq!(proxy.host.outcomes().len(), 1);
    proxy.assert_empty();
}

#[test]
fn a_part_that_could_not_be_had_ends_the_pair() {
    let mut proxy = Proxy::new();
    let ticket = proxy.follow(&[]);
    proxy.upload(ticket, b"a");
    proxy.host.observer.on_request_body_lost(ticket);
    assert_eq!(proxy.host.outcomes(), skipped(Skip::Overload));
    assert!(proxy.end(ticket).is_empty());
    let (ticket, copy) = proxy.request();
    proxy.host.observer.on_request_body_lost(ticket);
    proxy.answer(ticket, "200");
    proxy.copy_answer(copy, "200");
    assert_eq!(proxy.host.outcomes()[1..], [Outcome::Match], "nothing of it was missing when it was copied");
}

#[test]
fn pairs_and_their_bytes_are_bounded() {
    let mut proxy = Proxy::with(r#""caps":{"pairs":2}"#);
    let (first, _) = (proxy.follow(&[]), proxy.follow(&[]));
    assert!(proxy.pass(&[]).ticket.is_none());
    proxy.primary_gone(first);
    proxy.follow(&[]);
    assert_eq!(
        proxy.host.outcomes(),
        [Outcome::Skipped(Skip::Overload), Outcome::Incomplete(Incomplete::PrimaryFailed)]
    );

    let mut proxy = Proxy::with(r#""caps":{"pair_bytes":12000,"body_bytes":100000}"#);
    let long = "x".repeat(12_000);
    assert!(proxy.pass(&[("x-long", &long)]).ticket.is_none());
    let (first, second) = (proxy.follow(&[]), proxy.follow(&[]));
    assert!(proxy.upload(first, &[b'a'; 8000]));
    assert!(!proxy.upload(second, &[b'a'; 8000]));
    assert!(proxy.host.bytes() <= 12_000);
    assert_eq!(proxy.host.outcomes(), [skipped(Skip::Overload), skipped(Skip::Overload)].concat());
    assert_eq!(proxy.end(first).len(), 1);
    assert!(proxy.host.bytes() < 8000, "the host has the body now");
}

#[test]
fn so_many_copies_are_under_way_and_no_more() {
    let mut proxy = Proxy::with(r#""caps":{"copies":2}"#);
    let ((first, first_copy), (_, second_copy)) = (proxy.request(), proxy.request());
    assert!(proxy.pass(&[]).ticket.is_none(), "there is no room to begin with");
    proxy.copy_answer(first_copy, "200");
    let (third, fourth) = (proxy.follow(&[]), proxy.follow(&[]));
    assert_eq!((proxy.end(third).len(), proxy.end(fourth).len()), (1, 0), "there is none any more");
    assert_eq!(proxy.host.outcomes(), [skipped(Skip::Overload), skipped(Skip::Overload)].concat());
    proxy.answer(first, "200");
    proxy.copy_cut(second_copy);
    proxy.request();
}

#[test]
fn a_secondary_that_finds_no_room_is_left_out() {
    let mut proxy = Proxy::with(r#""secondary":{"cluster":"v1"},"caps":{"copies":1}"#);
    let (primary, copy) = proxy.request();
    proxy.answer(primary, "200");
    proxy.copy_answer(copy, "200");
    assert_eq!((proxy.host.outcomes(), proxy.host.journal()[0].secondary), (vec![Outcome::Match], false));
    proxy.assert_empty();
}

#[test]
fn the_bytes_of_copies_are_bounded() {
    let mut proxy = Proxy::with(r#""caps":{"copy_bytes":8000}"#);
    assert!(proxy.pass(&[("content-length", "8000")]).ticket.is_none());
    let tickets = [proxy.follow(&[]), proxy.follow(&[])];
    let mut copies = Vec::new();
    for ticket in tickets {
        assert!(proxy.upload(ticket, &[b'a'; 5000]));
        copies.extend(proxy.end(ticket));
    }
    assert_eq!((copies.len(), proxy.host.outcomes().len()), (1, 2), "the second has no room by now");
    assert_eq!(proxy.host.outcomes(), [skipped(Skip::Overload), skipped(Skip::Overload)].concat());
    let held = proxy.host.observer.flights.total();
    assert!(held.count == 1 && (5000..8000).contains(&held.bytes), "{held:?}");
    // Long trailers count too.
    proxy.copy_answer(copies[0].token, "200");
    let ticket = proxy.follow(&[]);
    assert!(proxy.end_with(ticket, &[("x-long", &"x".repeat(8000))], ROOT).is_empty());
    assert_eq!(proxy.host.observer.flights.total(), Default::default());
}

#[test]
fn a_copy_has_its_place_until_its_end_and_not_only_until_its_pairs() {
    let mut proxy = Proxy::with(r#""caps":{"copies":1,"pair_ttl_ms":1000,"copy_timeout_ms":5000}"#);
    let (primary, copy) = proxy.request();
    proxy.answer(primary, "200");
    proxy.pass_time(SECOND);
    assert_eq!(proxy.host.outcomes(), incomplete(Incomplete::ShadowSlow));
    assert!(proxy.pass(&[]).ticket.is_none());
    proxy.copy_answer(copy, "200");
    proxy.request();
    assert_eq!(proxy.host.outcomes()[1..], skipped(Skip::Overload));
}

#[test]
fn a_copy_whose_end_is_never_told_is_forgotten_long_after_its_time() {
    let mut proxy = Proxy::with(r#""caps":{"copies":1,"copy_timeout_ms":5000}"#);
    let (primary, copy) = proxy.request();
    proxy.primary_gone(primary);
    proxy.pass_time(65 * SECOND - 1);
    assert!(proxy.pass(&[]).ticket.is_none());
    assert_eq!(proxy.host.observer.calls_of(ROOT), 1);
    proxy.pass_time(1);
    proxy.assert_empty();
    let (_, next) = proxy.request();
    proxy.copy_answer(copy, "200");
    assert_eq!(proxy.host.observer.calls_of(ROOT), 1, "the next is another");
    proxy.copy_answer(next, "200");
    assert_eq!(proxy.host.observer.flights.total(), Default::default());
}
