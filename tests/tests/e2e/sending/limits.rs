//! How long copies may take, how many there may be, and what cannot be copied whole.

use std::net::SocketAddr;

use http::Method;
use mirror_tests::backend::{Backend, Reply, Step};
use mirror_tests::client::{Answer, Client, HOST, Protocol, Request, crowd};
use mirror_tests::gate::Gate;
use mirror_tests::{on_each_envoy, wait};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{echo, raw, sending};

#[test]
fn a_candidate_that_hangs_is_given_up_and_its_place_is_free_again() {
    on_each_envoy(async |binary| {
        let primary = echo().await;
        let candidate = Backend::start(|seen| match seen.path.as_str() {
            "/hang" => Reply::hang(),
            // Not Envoy's own answer to a copy that is late, but the candidate's.
            "/504" => Reply::status(504),
            path => Reply::ok(path.to_owned()),
        })
        .await;
        let mirror = sending(primary.address(), candidate.address())
            .workers(1)
            .mirror(|mirror| (mirror.caps.copies, mirror.caps.copy_timeout_ms) = (1, 1000))
            .start(binary)
            .await;
        assert_eq!(mirror.get("/hang").await.text(), "/hang");
        assert_eq!(mirror.get("/refused").await.text(), "/refused");
        mirror.settled(2).await.assert_outcomes(&[("incomplete (shadow_slow)", 1), ("skipped (overload)", 1)]);
        for (path, outcome) in [("/again", "match"), ("/504", "diverged")] {
            assert_eq!(mirror.get(path).await.text(), path);
            wait::until(outcome, async || mirror.counts().await.outcomes.get(outcome).copied()).await;
        }
        assert_eq!(candidate.seen_lines(), ["GET /504", "GET /again", "GET /hang"]);
        // Where gRPC is spoken Envoy puts it otherwise.
        mirror.send(&Request::get("/hang").header("content-type", "application/grpc")).await;
        mirror.settled(5).await.assert_outcomes(&[
            ("incomplete (shadow_slow)", 2),
            ("skipped (overload)", 1),
            ("match", 1),
            ("diverged", 1),
        ]);
    });
}

#[test]
fn an_answer_that_takes_too_long_is_late_and_one_that_envoy_does_not_keep_is_too_large() {
    /// Envoy keeps 32 MiB of an answer to a call.
    const HUGE: usize = 40 * 1024 * 1024;
    on_each_envoy(async |binary| {
        let gate = Gate::default();
        let server = |slow: bool| {
            let gate = gate.clone();
            Backend::start(move |seen| match seen.path.as_str() {
                "/huge" => Reply::ok(vec![b'a'; HUGE]),
                _ if slow => Reply::ok("same").then(Step::Wait(gate.clone())).body("more"),
                _ => Reply::ok("same").body("more"),
            })
        };
        let (primary, candidate) = (server(false).await, server(true).await);
        let mirror = sending(primary.address(), candidate.address())
            .mirror(|mirror| mirror.caps.copy_timeout_ms = 2000)
            .start(binary)
            .await;
        mirror.get("/slow").await;
        mirror.settled(1).await.assert_outcomes(&[("incomplete (shadow_slow)", 1)]);
        mirror.get("/huge").await;
        mirror.settled(2).await.assert_outcomes(&[("incomplete (shadow_slow)", 1), ("skipped (too_large)", 1)]);
        gate.open();
    });
}

#[test]
fn a_stream_of_events_that_has_no_end_is_skipped() {
    on_each_envoy(async |binary| {
        let gate = Gate::default();
        let events = || {
            let begun = Reply::ok("data: 1\n\n").header("content-type", "text/event-stream");
            Backend::constant(begun.then(Step::Wait(gate.clone())).body("data: 2\n\n"))
        };
        let (primary, candidate) = (events().await, events().await);
        let mirror = sending(primary.address(), candidate.address())
            .mirror(|mirror| mirror.caps.copy_timeout_ms = 300)
            .start(binary)
            .await;
        let mut client = Client::connect(mirror.address, Protocol::Http1).await.expect("a connection");
        let answer = client.start(&Request::get("/events")).await.expect("the headers");
        assert_eq!(answer.status(), 200);
        mirror.settled(1).await.assert_outcomes(&[("skipped (streaming)", 1)]);
        drop(answer);
        gate.open();
    });
}

#[test]
fn ten_thousand_copies_to_a_candidate_that_hangs_touch_no_client() {
    const REQUESTS: usize = 10_000;
    const COPIES: usize = 100;
    const WORKERS: usize = 2;
    on_each_envoy(async |binary| {
        let (primary, candidate) = (echo().await, Backend::constant(Reply::hang()).await);
        let mirror = sending(primary.address(), candidate.address())
            .workers(WORKERS)
            .mirror(|mirror| (mirror.caps.copies, mirror.caps.copy_timeout_ms) = (COPIES, 60_000))
            .start(binary)
            .await;
        let requests = (0..REQUESTS).map(|i| match i % 4 {
            0 => Request::new(Method::POST, format!("/{i}")).body(vec![b'x'; 5000]),
            _ => Request::get(format!("/{i}")),
        });
        let right = |request: &Request| Answer::of(&Reply::ok(request.path.clone()));
        crowd(mirror.address, Protocol::Http1, 64, requests.collect(), right).await.assert_all_right();
        // What hangs has no outcome yet.
        let seen = candidate.seen().len();
        assert!((COPIES..=COPIES * WORKERS).contains(&seen), "{seen} copies");
        let refused = u64::try_from(REQUESTS - seen).expect("few");
        mirror.settled(refused).await.assert_outcomes(&[("skipped (overload)", refused)]);
        assert_eq!(primary.seen().len(), REQUESTS);
    });
}

/// A server that answers as soon as it has a request's headers, and never reads its body.
async fn hasty() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                let mut part = [0; 1024];
                match stream.read(&mut part).await {
                    Ok(size) if size > 0 => head.extend_from_slice(&part[..size]),
                    _ => break,
                }
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhasty").await;
            tokio::time::sleep(wait::PATIENCE).await;
        }
    });
    address
}

#[test]
fn a_request_that_never_came_whole_is_not_copied() {
    on_each_envoy(async |binary| {
        let candidate = echo().await;
        let head = format!("POST /early HTTP/1.1\r\nhost: {HOST}\r\ncontent-length: 1000\r\n\r\nonly this");
        let mirror = sending(hasty().await, candidate.address()).start(binary).await;
        let answer = raw(mirror.address, &[head.as_bytes()]).await;
        assert!(answer.ends_with("hasty"), "{answer}");
        mirror.settled(1).await.assert_outcomes(&[("incomplete (request_cut)", 1)]);

        // A client that goes away in the middle of its upload.
        let primary = echo().await;
        let mirror = sending(primary.address(), candidate.address()).start(binary).await;
        let mut stream = TcpStream::connect(mirror.address).await.expect("a connection");
        stream.write_all(head.as_bytes()).await.expect("it is sent");
        wait::until("the request", async || {
            (mirror.envoy().stat("cluster.primary.upstream_rq_total").await == 1).then_some(())
        })
        .await;
        drop(stream);
        mirror.settled(1).await.assert_outcomes(&[("incomplete (primary_failed)", 1)]);
        assert_eq!(candidate.seen_lines(), Vec::<String>::new());
    });
}
