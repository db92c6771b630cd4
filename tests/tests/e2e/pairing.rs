//! Pairing under concurrency: whatever order answers come in, each is compared with its own partner.

use mirror_core::stats::names::Diagnostic;
use mirror_tests::backend::{Backend, Reply, Seen, Step};
use mirror_tests::client::{Answer, Protocol, Request, crowd};
use mirror_tests::mirror::Setup;
use mirror_tests::on_each_way;
use serde_json::json;

/// How many requests; each number decides what becomes of its pair.
const REQUESTS: usize = 3000;

#[derive(Clone, Copy)]
enum Side {
    Primary,
    Candidate,
}

/// Every 7th pair differs in one field, every 10th in its status; those that are both, in both.
fn reply(side: Side, number: usize) -> Reply {
    let candidate = matches!(side, Side::Candidate);
    let price = if candidate && number.is_multiple_of(7) { number + 1 } else { number };
    let body = json!({"id": number, "lines": [{"price": price}], "text": "x".repeat(number % 900)});
    let status = if candidate && number.is_multiple_of(10) { 500 } else { 200 };
    Reply::status(status).header("content-type", "application/json").body(body.to_string())
}

fn number(seen: &Seen) -> usize {
    seen.path.rsplit('/').next().and_then(|number| number.parse().ok()).expect("a number")
}

/// Answers late by a time that has nothing to do with the other side's, so that all orders occur.
async fn server(side: Side) -> Backend {
    Backend::start(move |seen| {
        let number = number(seen);
        let salt = match side {
            Side::Primary => 7919,
            Side::Candidate => 104_729,
        };
        let late = std::time::Duration::from_millis(u64::try_from(number * salt % 13).expect("small"));
        reply(side, number).first(Step::Pause(late))
    })
    .await
}

#[test]
fn every_count_is_exact_and_every_answer_the_primarys() {
    on_each_way(async |binary, way| {
        let (primary, candidate) = (server(Side::Primary).await, server(Side::Candidate).await);
        for (protocol, http2, workers) in [(Protocol::Http1, false, 3), (Protocol::Http2, true, 2)] {
            let mut setup = Setup::new(primary.address(), candidate.address()).workers(workers);
            if http2 {
                setup = setup.http2();
            }
            let mirror = setup.way(way).start(binary).await;
            let requests = (0..REQUESTS).map(|i| Request::get(format!("/orders/{i}"))).collect();
            let result = crowd(mirror.address, protocol, 64, requests, |request| {
                let number = request.path.rsplit('/').next().and_then(|number| number.parse().ok());
                Answer::of(&reply(Side::Primary, number.expect("a number")))
            })
            .await;
            result.assert_all_right();

            let of = |holds: fn(&usize) -> bool| u64::try_from((0..REQUESTS).filter(holds).count()).expect("small");
            let all = of(|_| true);
            let prices = of(|i| i.is_multiple_of(7));
            let statuses = of(|i| i.is_multiple_of(10));
            let diverged = of(|i| i.is_multiple_of(7) || i.is_multiple_of(10));
            let counts = mirror.settled(all).await;
            counts.assert_outcomes(&[("match", all - diverged), ("diverged", diverged)]);
            let expected = [("/lines/*/price value".to_owned(), prices), ("status value".to_owned(), statuses)];
            assert_eq!(counts.diverged(), expected.into());
            let expected = [(Some((200, 200)), all - statuses), (Some((200, 500)), statuses)];
            assert_eq!(counts.statuses, expected.into());
            assert_eq!(counts.endpoints.values().sum::<u64>(), all);
            let strange = counts.diagnostics.keys().find(|what| **what != Diagnostic::ExamplesDropped);
            assert_eq!(strange, None, "{counts:?}");
        }
        assert_eq!(candidate.seen().len(), 2 * REQUESTS);
    });
}
