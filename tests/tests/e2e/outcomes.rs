//! Each outcome that a pair can have, brought about by real servers.

use std::sync::atomic::{AtomicUsize, Ordering};

use mirror_tests::backend::{Backend, Reply, Step, closed_port};
use mirror_tests::cases::{self, Case};
use mirror_tests::client::{Client, Failure, Protocol, Request, once};
use mirror_tests::envoy::Envoy;
use mirror_tests::gate::Gate;
use mirror_tests::mirror::{Setup, Way};
use mirror_tests::{on_each_way, plain, wait};
use serde_json::json;

/// A server that answers each path of a table by its reply.
async fn table(replies: Vec<(&'static str, Reply)>) -> Backend {
    Backend::start(move |seen| {
        let found = replies.iter().find(|(path, _)| *path == seen.path);
        found.unwrap_or_else(|| panic!("{} is not in the table", seen.path)).1.clone()
    })
    .await
}

#[test]
fn what_the_candidate_does_is_told_apart_and_never_touches_the_client() {
    let good = || Reply::json(&json!({"a": 1, "b": [1, 2]}));
    let cases = [
        ("same", good(), good(), "match"),
        ("other", good(), Reply::json(&json!({"a": 2, "b": [1, 2]})), "diverged"),
        ("error", good(), Reply::status(500), "diverged"),
        ("slow", good(), Reply::hang(), "incomplete (shadow_slow)"),
        ("slow-body", good(), Reply::ok("{").then(Step::Hang), "incomplete (shadow_slow)"),
        ("cut", good(), Reply::cut(), "incomplete (shadow_failed)"),
        ("cut-body", good(), Reply::cut_after("{\"a\":"), "incomplete (shadow_cut)"),
        ("large", Reply::ok("x".repeat(5000)), Reply::ok("y".repeat(5000)), "skipped (too_large)"),
        ("shadow-large", good(), Reply::json(&json!("y".repeat(5000))), "skipped (too_large)"),
        (
            "events",
            Reply::ok("data: 1\n\n").header("content-type", "text/event-stream"),
            Reply::ok("data: 2\n\n").header("content-type", "text/event-stream"),
            "skipped (streaming)",
        ),
        (
            "undecodable",
            Reply::ok("not gzip").header("content-encoding", "gzip"),
            Reply::ok("nor this").header("content-encoding", "gzip"),
            "skipped (undecodable)",
        ),
    ];
    let cases: Vec<_> = cases
        .into_iter()
        .map(|(name, primary, candidate, outcome)| {
            let mut case = Case::new(name, primary, candidate);
            (case.caps.body_bytes, case.caps.pair_ttl_ms) = (2000, 1500);
            (case, outcome)
        })
        .collect();
    on_each_way(async |binary, way| {
        let plain: Vec<_> = cases.iter().map(|(case, _)| case.clone()).collect();
        for protocol in [Protocol::Http1, Protocol::Http2] {
            for (counts, (case, outcome)) in cases::run(binary, way, protocol, &plain).await.iter().zip(&cases) {
                assert_eq!(counts.outcomes, [((*outcome).to_owned(), 1)].into(), "{}: {counts:#?}", case.name);
            }
        }
    });
}

#[test]
fn a_candidate_that_is_not_there_is_an_incomplete_pair() {
    on_each_way(async |binary, way| {
        let primary = Backend::constant(Reply::ok("here")).await;
        let nobody = Setup::new(primary.address(), closed_port().await).way(way).start(binary).await;
        let absent = Setup::new(primary.address(), closed_port().await)
            .mirror(|mirror| {
                mirror.candidate.cluster = "nowhere".into();
                mirror.caps.pair_ttl_ms = 500;
            })
            .way(way)
            .start(binary)
            .await;
        for (mirror, outcome) in [(nobody, "incomplete (shadow_failed)"), (absent, "incomplete (shadow_absent)")] {
            assert_eq!(mirror.get("/").await.text(), "here");
            mirror.settled(1).await.assert_outcomes(&[(outcome, 1)]);
        }
    });
}

#[test]
fn a_candidate_that_answers_first_waits_for_its_primary() {
    on_each_way(async |binary, way| {
        let gate = Gate::default();
        let primary = Backend::constant(Reply::ok("same").after(&gate)).await;
        let candidate = Backend::constant(Reply::ok("same")).await;
        let mirror = Setup::new(primary.address(), candidate.address()).way(way).start(binary).await;
        let whole_shadow = async {
            wait::until("the candidate's whole answer", async || {
                (mirror.envoy().stat("cluster.candidate.upstream_rq_completed").await == 1).then_some(())
            })
            .await;
            gate.open();
        };
        let (answer, ()) = tokio::join!(mirror.get("/"), whole_shadow);
        assert_eq!(answer.text(), "same");
        mirror.settled(1).await.assert_outcomes(&[("match", 1)]);
    });
}

#[test]
fn a_primary_that_fails_fails_as_it_would_without_a_mirror() {
    on_each_way(async |binary, way| {
        let primary = table(vec![("/cut", Reply::cut()), ("/cut-body", Reply::cut_after("half of it"))]).await;
        let candidate = Backend::constant(Reply::ok("half of it and the rest")).await;
        let without = Envoy::start(binary, &plain::bootstrap(primary.address()), 1).await;
        let without = (without.listener(plain::LISTENER).await, without);
        let mirror = Setup::new(primary.address(), candidate.address()).way(way).start(binary).await;
        for (pairs, (path, outcome)) in
            (1..).zip([("/cut", "incomplete (primary_failed)"), ("/cut-body", "incomplete (primary_cut)")])
        {
            let request = Request::get(path);
            let expected = once(without.0, Protocol::Http1, &request).await;
            let got = once(mirror.address, Protocol::Http1, &request).await;
            match (&got, &expected) {
                (Ok(got), Ok(expected)) => assert_eq!(got.differs_from(expected), None, "{path}"),
                (Err(Failure::Cut(got)), Err(Failure::Cut(expected))) => assert_eq!(got, expected, "{path}"),
                _ => panic!("{path}: {got:?} instead of {expected:?}"),
            }
            let counts = mirror.settled(pairs).await;
            assert_eq!(counts.outcomes.get(outcome), Some(&1), "{path}: {counts:?}");
        }
    });
}

#[test]
fn a_client_that_goes_away_leaves_an_incomplete_pair() {
    on_each_way(async |binary, way| {
        let gate = Gate::default();
        let primary = table(vec![
            ("/early", Reply::ok("late").after(&gate)),
            ("/late", Reply::ok("some").then(Step::Wait(gate.clone())).body("more")),
        ])
        .await;
        let candidate = Backend::constant(Reply::ok("late")).await;
        let mirror = Setup::new(primary.address(), candidate.address()).way(way).start(binary).await;

        let mut client = Client::connect(mirror.address, Protocol::Http1).await.expect("a connection");
        let early = Request::get("/early");
        let both_asked = wait::until("both servers to be asked", async || {
            (primary.seen().len() == 1 && candidate.seen().len() == 1).then_some(())
        });
        tokio::select! {
            answer = client.start(&early) => panic!("an answer that was held back: {answer:?}"),
            () = both_asked => {}
        }
        drop(client);
        mirror.settled(1).await.assert_outcomes(&[("incomplete (primary_failed)", 1)]);

        let mut client = Client::connect(mirror.address, Protocol::Http1).await.expect("a connection");
        let answer = client.start(&Request::get("/late")).await.expect("the headers");
        assert_eq!(answer.status(), 200);
        drop(client);
        mirror.settled(2).await.assert_outcomes(&[("incomplete (primary_failed)", 1), ("incomplete (primary_cut)", 1)]);
        gate.open();
    });
}

#[test]
fn a_retried_primary_is_one_pair_judged_by_what_the_client_got() {
    on_each_way(async |binary, way| {
        let tries = AtomicUsize::new(0);
        let primary = Backend::start(move |seen| match seen.path.as_str() {
            "/once" if tries.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) => Reply::status(503).body("not yet"),
            "/always" => Reply::status(503).body("never"),
            _ => Reply::ok("at last"),
        })
        .await;
        let candidate = Backend::constant(Reply::ok("at last")).await;
        let mirror = Setup::new(primary.address(), candidate.address())
            .routes(|routes| {
                let route = &mut routes["virtual_hosts"][0]["routes"][0]["route"];
                route["retry_policy"] = json!({"retry_on": "5xx", "num_retries": 2});
            })
            .way(way)
            .start(binary)
            .await;
        assert_eq!(mirror.get("/once").await.text(), "at last");
        assert_eq!(primary.seen().len(), 2);
        mirror.settled(1).await.assert_outcomes(&[("match", 1)]);
        assert_eq!(mirror.get("/always").await.text(), "never");
        assert_eq!(primary.seen().len(), 5);
        let counts = mirror.settled(2).await;
        counts.assert_outcomes(&[("match", 1), ("diverged", 1)]);
        assert_eq!(counts.statuses, [(Some((200, 200)), 1), (Some((503, 200)), 1)].into());
        assert_eq!(candidate.seen().len(), 2);
    });
}

#[test]
fn what_does_not_fit_into_the_table_is_counted_and_answered() {
    const OPEN: usize = 4;
    const REQUESTS: usize = 10;
    on_each_way(async |binary, way| {
        // Envoy copies what it was told to, whether the module has room for it or not.
        let copies = if way == Way::Upstream { REQUESTS } else { OPEN };
        let gate = Gate::default();
        let primary = Backend::constant(Reply::ok("same").after(&gate)).await;
        let candidate = Backend::constant(Reply::ok("same").after(&gate)).await;
        let mirror = Setup::new(primary.address(), candidate.address())
            .workers(1)
            .mirror(|mirror| mirror.caps.pairs = OPEN)
            .way(way)
            .start(binary)
            .await;
        let mut clients = tokio::task::JoinSet::new();
        for i in 0..REQUESTS {
            let address = mirror.address;
            clients.spawn(async move { once(address, Protocol::Http1, &Request::get(format!("/{i}"))).await });
        }
        wait::until("all requests to be under way", async || {
            (primary.seen().len() == REQUESTS && candidate.seen().len() == copies).then_some(())
        })
        .await;
        gate.open();
        for answer in clients.join_all().await {
            assert_eq!(answer.expect("an answer").text(), "same");
        }
        let counts = mirror.settled(10).await;
        counts.assert_outcomes(&[("match", 4), ("skipped (overload)", 6)]);
        // The table has room again.
        assert_eq!(mirror.get("/again").await.text(), "same");
        mirror.settled(11).await.assert_outcomes(&[("match", 5), ("skipped (overload)", 6)]);
    });
}

#[test]
fn requests_with_the_same_id_at_once_are_not_mixed_up() {
    on_each_way(async |binary, way| {
        let gate = Gate::default();
        let held = gate.clone();
        let primary = Backend::start(move |seen| Reply::ok(seen.path.clone()).after(&held)).await;
        let held = gate.clone();
        let candidate = Backend::start(move |seen| Reply::ok(seen.path.clone()).after(&held)).await;
        let mirror = Setup::new(primary.address(), candidate.address()).workers(1).way(way).start(binary).await;
        let mut clients = tokio::task::JoinSet::new();
        for i in 0..20 {
            let request = Request::get(format!("/{i}")).header("x-request-id", "00000000-0000-4000-9000-000000000000");
            let address = mirror.address;
            clients.spawn(async move {
                let answer = once(address, Protocol::Http1, &request).await.expect("an answer");
                assert_eq!(answer.text(), request.path);
            });
        }
        wait::until("all requests to be under way", async || {
            (primary.seen().len() == 20 && candidate.seen().len() == 20).then_some(())
        })
        .await;
        assert!(primary.seen().iter().all(|seen| seen.header("x-request-id").starts_with("00000000-")));
        gate.open();
        clients.join_all().await;
        mirror.settled(20).await.assert_outcomes(&[("match", 20)]);
    });
}

#[test]
fn a_primary_that_the_candidate_itself_served_says_nothing() {
    const REQUESTS: usize = 200;
    on_each_way(async |binary, way| {
        let (primary, candidate) =
            (Backend::constant(Reply::ok("old")).await, Backend::constant(Reply::ok("new")).await);
        let mirror = Setup::new(primary.address(), candidate.address())
            .mirror(|mirror| mirror.split = true)
            .routes(|routes| {
                let route = &mut routes["virtual_hosts"][0]["routes"][0]["route"];
                let clusters = json!([{"name": "primary", "weight": 70}, {"name": "candidate", "weight": 30}]);
                route["weighted_clusters"] = json!({ "clusters": clusters });
                route.as_object_mut().expect("a route").remove("cluster");
            })
            .way(way)
            .start(binary)
            .await;
        let mut new = 0;
        for i in 0..REQUESTS {
            new += u64::from(mirror.get(&format!("/{i}")).await.text() == "new");
        }
        let all = u64::try_from(REQUESTS).expect("few");
        assert!((1..all).contains(&new), "{new} of {all} from the candidate");
        mirror.settled(all).await.assert_outcomes(&[("diverged", all - new), ("skipped (same_revision)", new)]);
    });
}
