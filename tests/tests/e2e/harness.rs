//! The harness itself: were it blind, every other test would be.

use bytes::Bytes;
use mirror_tests::backend::{Backend, Reply};
use mirror_tests::client::{Answer, Client, Failure, Protocol, Request, crowd, once};
use mirror_tests::envoy::Envoy;
use mirror_tests::gate::Gate;
use mirror_tests::{on_each_envoy, plain, wait};

#[tokio::test]
async fn an_answer_arrives_as_it_was_scripted() {
    let reply = Reply::status(203)
        .header("x-a", "1")
        .header("x-a", "2")
        .pieces([Bytes::from("one "), Bytes::from("two")])
        .trailer("x-sum", "7");
    let backend = Backend::constant(reply.clone()).await;
    let request = Request::new(http::Method::POST, "/a?b=c").header("x-q", "5").body("question");
    let answer = once(backend.address(), Protocol::Http2, &request).await.expect("an answer");
    assert_eq!(answer.differs_from(&Answer::of(&reply)), None);
    let seen = &backend.seen()[0];
    assert_eq!((seen.path.as_str(), seen.host.as_str(), seen.header("x-q")), ("/a?b=c", "hello.test", "5"));
    assert_eq!(seen.body, "question");
    for (other, said) in [
        (Reply::status(200), "status"),
        (reply.clone().header("x-b", ""), "headers"),
        (reply.clone().body("!"), "body"),
        (reply.clone().trailer("x-b", ""), "trailers"),
    ] {
        let difference = answer.differs_from(&Answer::of(&other)).expect(said);
        assert!(difference.contains(said), "{difference}");
    }
}

#[tokio::test]
async fn an_answer_can_be_cut_before_and_after_its_headers() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let backend = Backend::constant(Reply::cut()).await;
        let failure = once(backend.address(), protocol, &Request::get("/")).await;
        assert!(matches!(failure, Err(Failure::NoAnswer(_))), "{failure:?}");
        let backend = Backend::constant(Reply::cut_after("half")).await;
        let failure = once(backend.address(), protocol, &Request::get("/")).await;
        assert!(matches!(failure, Err(Failure::Cut(http::StatusCode::OK))), "{failure:?}");
    }
}

#[tokio::test]
async fn a_gate_holds_an_answer_back() {
    let gate = Gate::default();
    let backend = Backend::constant(Reply::ok("late").after(&gate)).await;
    let mut client = Client::connect(backend.address(), Protocol::Http1).await.expect("a connection");
    let request = Request::get("/");
    let early = tokio::time::timeout(std::time::Duration::from_millis(50), client.send(&request)).await;
    assert!(early.is_err(), "{early:?}");
    gate.open();
    assert_eq!(once(backend.address(), Protocol::Http1, &request).await.expect("an answer").text(), "late");
}

#[tokio::test]
async fn a_crowd_notices_each_wrong_answer() {
    let backend = Backend::start(|seen| Reply::ok(seen.path.clone())).await;
    let requests = (0..200).map(|i| Request::get(format!("/{i}"))).collect();
    let result = crowd(backend.address(), Protocol::Http1, 16, requests, |request| {
        let right = if request.path.ends_with("50") { "/wrong" } else { request.path.as_str() };
        Answer::of(&Reply::ok(right.to_owned()))
    })
    .await;
    assert_eq!((result.right, result.wrong.len()), (198, 2), "{result:?}");
    assert_eq!(backend.seen().len(), 200);
}

#[test]
fn an_envoy_starts_forwards_counts_and_stops() {
    on_each_envoy(async |binary| {
        let backend = Backend::start(|seen| Reply::ok(seen.path.clone())).await;
        let envoy = Envoy::start(binary, &plain::bootstrap(backend.address()), 2).await;
        let address = envoy.listener(plain::LISTENER).await;
        for protocol in [Protocol::Http1, Protocol::Http2] {
            let answer = once(address, protocol, &Request::get("/x")).await.expect("an answer");
            assert_eq!(answer.differs_from(&Answer::of(&Reply::ok("/x"))), None);
        }
        wait::until("the count of requests", async || {
            (envoy.stat("http.plain.downstream_rq_completed").await == 2).then_some(())
        })
        .await;
        assert!(envoy.log().contains("starting main dispatch loop"), "{}", envoy.log());
        drop(envoy);
        assert!(once(address, Protocol::Http1, &Request::get("/")).await.is_err());
    });
}
