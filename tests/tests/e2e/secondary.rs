//! With a secondary: what differs by itself is told apart from what the candidate changed.

use mirror_core::stats::Tally;
use mirror_tests::backend::{Backend, Reply};
use mirror_tests::client::{Protocol, Request, crowd};
use mirror_tests::mirror::Setup;
use mirror_tests::on_each_way;
use serde_json::json;

#[test]
fn noise_is_told_from_what_the_candidate_changed() {
    on_each_way(async |binary, way| {
        // Each server has a clock of its own; only the candidate has another price, and that only on one path. On
        // `/still` the primary's version has no clock.
        let server = |name: &'static str| {
            Backend::start(move |seen| {
                let price = if name == "candidate" && seen.path == "/price" { 6 } else { 5 };
                let at = if seen.path == "/still" && name != "candidate" { "0" } else { name };
                Reply::json(&json!({"at": at, "price": price}))
            })
        };
        let (primary, candidate, secondary) =
            (server("primary").await, server("candidate").await, server("secondary").await);
        let mirror = Setup::new(primary.address(), candidate.address())
            .secondary(secondary.address())
            .way(way)
            .start(binary)
            .await;

        mirror.get("/clock").await;
        mirror.settled(1).await.assert_outcomes(&[("noise", 1)]);
        mirror.get("/price").await;
        mirror.settled(2).await.assert_outcomes(&[("noise", 1), ("diverged", 1)]);
        mirror.get("/still").await;
        let counts = mirror.settled(3).await;
        counts.assert_outcomes(&[("noise", 1), ("diverged", 2)]);

        assert_eq!(counts.diverged(), [("/price value".into(), 1), ("/at value".into(), 1)].into());
        assert_eq!(counts.places_of(Tally::Noise), [("/at value".into(), 2)].into());
        assert_eq!(counts.places_of(Tally::Secondary), [("/at value".into(), 2)].into());
        assert_eq!(counts.triples, 3);
        let roles = |server: &Backend| {
            let roles = server.seen().iter().map(|seen| seen.header("x-mirror-role").to_owned()).collect::<Vec<_>>();
            assert_eq!(roles.len(), 3);
            roles[0].clone()
        };
        assert_eq!([roles(&primary), roles(&candidate), roles(&secondary)], ["", "shadow", "secondary"]);
    });
}

#[test]
fn without_its_answer_a_pair_is_judged_without_it() {
    on_each_way(async |binary, way| {
        let same = || Backend::constant(Reply::json(&json!({"a": 1})));
        let (primary, candidate) = (same().await, same().await);
        let broken = Backend::constant(Reply::cut()).await;
        let mirror =
            Setup::new(primary.address(), candidate.address()).secondary(broken.address()).way(way).start(binary).await;
        mirror.get("/").await;
        let counts = mirror.settled(1).await;
        counts.assert_outcomes(&[("match", 1)]);
        assert_eq!(counts.triples, 0);
    });
}

#[test]
fn three_streams_are_paired_under_concurrency() {
    const REQUESTS: usize = 900;
    on_each_way(async |binary, way| {
        let server = |noisy: bool, name: &'static str| {
            Backend::start(move |seen| {
                let number: usize = seen.path[1..].parse().expect("a number");
                let own = if noisy && number.is_multiple_of(3) { name } else { "" };
                let price = if name == "candidate" && number.is_multiple_of(5) { 0 } else { number };
                Reply::json(&json!({"own": own, "price": price + 1}))
            })
        };
        let (primary, candidate, secondary) =
            (server(true, "primary").await, server(true, "candidate").await, server(true, "secondary").await);
        let mirror = Setup::new(primary.address(), candidate.address())
            .secondary(secondary.address())
            .workers(3)
            .way(way)
            .start(binary)
            .await;
        let requests = (0..REQUESTS).map(|i| Request::get(format!("/{i}"))).collect();
        crowd(mirror.address, Protocol::Http1, 64, requests, |request| {
            let number: usize = request.path[1..].parse().expect("a number");
            let own = if number.is_multiple_of(3) { "primary" } else { "" };
            mirror_tests::client::Answer::of(&Reply::json(&json!({"own": own, "price": number + 1})))
        })
        .await
        .assert_all_right();
        let of = |holds: fn(usize) -> bool| u64::try_from((0..REQUESTS).filter(|i| holds(*i)).count()).expect("few");
        // Number 0 has the price that a changed one gets, so it does not differ.
        let diverged = of(|i| i.is_multiple_of(5) && i != 0);
        let noise = of(|i| i.is_multiple_of(3) && (!i.is_multiple_of(5) || i == 0));
        let all = of(|_| true);
        let counts = mirror.settled(all).await;
        counts.assert_outcomes(&[("diverged", diverged), ("noise", noise), ("match", all - diverged - noise)]);
        assert_eq!(counts.triples, all);
    });
}
