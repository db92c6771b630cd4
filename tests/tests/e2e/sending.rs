//! The module before the router, as an Istio WasmPlugin puts it there: it sends the copies itself.

use std::net::SocketAddr;
use std::time::Duration;

use http::Method;
use mirror_core::config::{Knative, Target};
use mirror_core::stats::names::Diagnostic;
use mirror_tests::backend::{Backend, Reply, Step};
use mirror_tests::client::{Answer, Client, HOST, Protocol, Request, crowd, once};
use mirror_tests::gate::Gate;
use mirror_tests::mirror::{Running, Setup, WAYS, Way};
use mirror_tests::{module, on_each_envoy, wait};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn echo() -> Backend {
    Backend::start(|seen| Reply::ok(seen.path.clone())).await
}

/// A module that sends copies of what `primary` gets, POST requests too.
fn sending(primary: SocketAddr, candidate: SocketAddr) -> Setup {
    let methods = ["GET", "POST"].map(str::to_owned).to_vec();
    Setup::new(primary, candidate).way(Way::Downstream).mirror(|mirror| mirror.methods = methods)
}

/// Sends these bytes over a connection of their own and reads until it is closed.
async fn raw(address: SocketAddr, parts: &[&[u8]]) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    for part in parts {
        stream.write_all(part).await.expect("it is sent");
        stream.flush().await.expect("it is sent");
        // So that Envoy sees each part by itself.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(wait::PATIENCE, stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn bodies_are_copied_as_they_stream_by() {
    const CAP: usize = 100_000;
    on_each_envoy(async |binary| {
        for http2 in [false, true] {
            let (primary, candidate) = (echo().await, echo().await);
            let mut setup =
                sending(primary.address(), candidate.address()).mirror(|mirror| mirror.caps.body_bytes = CAP);
            if http2 {
                setup = setup.http2();
            }
            let mirror = setup.start(binary).await;
            let bytes = |size: usize| (0..size).map(|i| u8::try_from(i % 251).expect("small")).collect::<Vec<_>>();
            for protocol in [Protocol::Http1, Protocol::Http2] {
                for size in [0, 1, 60_000, CAP] {
                    let request = Request::new(Method::POST, format!("/{size}")).body(bytes(size));
                    assert_eq!(mirror.send_by(protocol, &request).await.text(), request.path);
                }
                // One byte too much: not copied, and said so.
                let request = Request::new(Method::POST, "/large").body(bytes(CAP + 1));
                assert_eq!(mirror.send_by(protocol, &request).await.text(), "/large");
            }
            // In chunks, so that the length is not known beforehand.
            let head = format!(
                "POST /chunks HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
            );
            let answer = raw(mirror.address, &[head.as_bytes(), b"3\r\nabc\r\n", b"2\r\nde\r\n", b"0\r\n\r\n"]).await;
            assert!(answer.ends_with("/chunks\r\n0\r\n\r\n") || answer.ends_with("/chunks"), "{answer}");

            let counts = mirror.settled(11).await;
            counts.assert_outcomes(&[("match", 9), ("skipped (too_large)", 2)]);
            let bodies = |server: &Backend| {
                let seen = server.seen().into_iter().filter(|seen| seen.path != "/large");
                let mut bodies: Vec<_> = seen.map(|seen| (seen.path, seen.body)).collect();
                bodies.sort();
                bodies
            };
            assert_eq!(bodies(&candidate), bodies(&primary));
            assert_eq!(candidate.seen().len(), 9);
            let large = primary.seen().into_iter().filter(|seen| seen.path == "/large");
            assert!(large.into_iter().all(|seen| seen.body.len() == CAP + 1));
        }
    });
}

#[test]
fn the_candidate_gets_the_request_and_nothing_that_is_not_for_it() {
    on_each_envoy(async |binary| {
        let (primary, candidate) = (echo().await, echo().await);
        let mirror = sending(primary.address(), candidate.address())
            .mirror(|mirror| {
                let knative = Some(Knative { revision: "hello-v2".into(), namespace: "shop".into() });
                mirror.candidate = Target { knative, ..mirror.candidate.clone() };
            })
            .start(binary)
            .await;
        let head = format!(
            "GET /headers?a=b HTTP/1.1\r\nhost: {HOST}\r\nconnection: close, x-hop\r\nx-hop: 1\r\nkeep-alive: 5\r\n\
             te: trailers\r\nproxy-connection: close\r\nproxy-authorization: secret\r\nexpect: \r\n\
             x-envoy-upstream-rq-timeout-ms: 1\r\nx-envoy-retry-on: 5xx\r\nx-envoy-anything: 1\r\n\
             knative-serving-revision: other\r\nknative-serving-namespace: other\r\n\
             authorization: Bearer t\r\ncookie: a=1\r\nx-own: 1\r\nx-own: 2\r\naccept: */*\r\n\r\n"
        );
        let answer = raw(mirror.address, &[head.as_bytes()]).await;
        assert!(answer.ends_with("/headers?a=b"), "{answer}");
        mirror.settled(1).await.assert_outcomes(&[("match", 1)]);

        let (original, copy) = (&primary.seen()[0], &candidate.seen()[0]);
        assert_eq!((&copy.path, &copy.host, &copy.method), (&original.path, &original.host, &original.method));
        for name in ["authorization", "cookie", "x-own", "accept", "x-request-id"] {
            let values = |seen: &mirror_tests::backend::Seen| {
                let all: Vec<_> = seen.headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
                all.join(",")
            };
            assert_eq!(values(copy), values(original), "{name}");
            assert_ne!(values(copy), "", "{name}");
        }
        for name in ["x-hop", "keep-alive", "proxy-connection", "proxy-authorization", "expect"] {
            assert_eq!(copy.header(name), "", "{name}");
        }
        // Envoy writes these two itself, whatever the client sent.
        let envoys = copy.headers.iter().filter(|(name, _)| name.as_str().starts_with("x-envoy-"));
        let envoys: Vec<_> = envoys.map(|(name, value)| (name.as_str(), value.to_str().expect("ASCII"))).collect();
        assert_eq!(envoys, [("x-envoy-internal", "true"), ("x-envoy-expected-rq-timeout-ms", "15000")]);
        let to = mirror.spec().selection.candidate_header();
        let fingerprint = mirror.spec().mirror.fingerprint();
        for (name, value) in [
            ("x-mirror-role", "shadow"),
            ("x-mirror", &*format!("test/hello/{fingerprint}")),
            (&to, "candidate"),
            ("knative-serving-revision", "hello-v2"),
            ("knative-serving-namespace", "shop"),
        ] {
            let values: Vec<_> = copy.headers.get_all(name).iter().collect();
            assert_eq!(values, [value], "{name}");
        }
        assert!(copy.header("x-mirror-pair").ends_with(original.header("x-request-id")), "{copy:?}");
        let marks = original.headers.keys().filter(|name| name.as_str().starts_with("x-mirror"));
        assert_eq!(marks.count(), 0, "{original:?}");
    });
}

#[test]
fn marks_that_a_client_sends_are_taken_away() {
    on_each_envoy(async |binary| {
        let (primary, candidate) = (echo().await, echo().await);
        let mirror = Setup::new(primary.address(), candidate.address()).way(Way::Downstream).start(binary).await;
        let name = format!("test/hello/{}", mirror.spec().mirror.fingerprint());
        let json = mirror.spec().mirror.to_json();
        for protocol in [Protocol::Http1, Protocol::Http2] {
            for request in [Request::get("/get"), Request::new(Method::POST, "/post")] {
                let marks = [("x-mirror", &*name), ("x-mirror-role", "shadow"), ("x-mirror-pair", "1")];
                let forged = marks.iter().fold(request, |request, (header, value)| request.header(header, value));
                let forged = forged.header("x-mirror-config", &json);
                assert_eq!(mirror.send_by(protocol, &forged).await.text(), forged.path);
            }
        }
        mirror.settled(2).await.assert_outcomes(&[("match", 2)]);
        assert_eq!(candidate.seen_lines(), ["GET /get", "GET /get"]);
        for seen in primary.seen() {
            assert_eq!(seen.headers.keys().find(|name| name.as_str().starts_with("x-mirror")), None, "{seen:?}");
        }
        for copy in candidate.seen() {
            assert!(copy.header("x-mirror-pair").len() > 1, "its own: {copy:?}");
            assert_eq!(copy.header("x-mirror-config"), "");
        }
    });
}

#[test]
fn a_copy_that_comes_round_is_not_copied_again() {
    on_each_envoy(async |binary| {
        let (primary, behind, never) = (echo().await, echo().await, echo().await);
        let token = "0123456789abcdef";
        let with_token = |setup: Setup| setup.selection(|selection| selection.token = token.into());
        let next = with_token(sending(behind.address(), never.address())).start(binary).await;
        let mirror = with_token(sending(primary.address(), next.address)).start(binary).await;
        assert_eq!(mirror.get("/round").await.text(), "/round");
        mirror.settled(1).await.assert_outcomes(&[("match", 1)]);
        assert_eq!(behind.seen()[0].header("x-mirror-role"), "shadow");
        // The next Envoy copies what clients send it.
        assert_eq!(next.get("/own").await.text(), "/own");
        next.settled(1).await.assert_outcomes(&[("match", 1)]);
        assert_eq!(never.seen_lines(), ["GET /own"]);
    });
}

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

#[test]
fn what_goes_to_no_server_is_no_pair() {
    on_each_envoy(async |binary| {
        let (primary, candidate) = (echo().await, echo().await);
        let mirror = sending(primary.address(), candidate.address())
            .routes(|routes| {
                let routes = routes["virtual_hosts"][0]["routes"].as_array_mut().expect("a list of routes");
                let moved = json!({"match": {"prefix": "/moved"}, "redirect": {"path_redirect": "/new"}});
                let made = json!({"match": {"prefix": "/made"}, "direct_response": {"status": 200}});
                routes.splice(0..0, [moved, made]);
            })
            .start(binary)
            .await;
        assert_eq!(mirror.get("/moved").await.status, 301);
        assert_eq!(mirror.get("/made").await.status, 200);
        assert_eq!(mirror.get("/served").await.status, 200);
        mirror.settled(1).await.assert_outcomes(&[("match", 1)]);
        assert_eq!(candidate.seen_lines(), ["GET /served"]);
    });
}

#[test]
fn a_primary_that_envoy_answers_for_is_none() {
    on_each_envoy(async |binary| {
        let candidate = echo().await;
        let mirror = sending(mirror_tests::backend::closed_port().await, candidate.address()).start(binary).await;
        assert_eq!(mirror.get("/").await.status, 503);
        mirror.settled(1).await.assert_outcomes(&[("incomplete (primary_failed)", 1)]);
    });
}

#[test]
fn a_mirror_that_is_of_no_use_does_not_keep_others_from_working() {
    on_each_envoy(async |binary| {
        let (primary, candidate) = (echo().await, echo().await);
        let good = sending(primary.address(), candidate.address());
        let mut bad = good.spec().clone();
        (bad.mirror.name, bad.mirror.hosts) = ("test/bad".into(), Vec::new());
        let mut other = good.spec().clone();
        (other.mirror.name, other.mirror.hosts) = ("test/other".into(), vec!["other.test".into()]);
        let specs = vec![bad, good.spec().clone(), other];
        let mirror = good.specs(specs).start(binary).await;
        mirror.get("/hello").await;
        mirror.send(&Request::get("/other").host("OTHER.test:80")).await;
        mirror.send(&Request::get("/none").host("none.test")).await;
        let counts = mirror.settled(2).await;
        counts.assert_outcomes(&[("match", 2)]);
        assert_eq!(candidate.seen_lines(), ["GET /hello", "GET /other"]);
        assert!(counts.diagnostics[&Diagnostic::ConfigRejected] >= 1, "{counts:?}");
        let log = mirror.envoy().log();
        assert!(log.contains("mirror test/bad: configuration refused: hosts: at least one host is needed"), "{log}");
    });
}

#[test]
fn a_changed_configuration_waits_for_the_copies_under_way() {
    on_each_envoy(async |binary| {
        let gate = Gate::default();
        let (primary, candidate) = (echo().await, Backend::constant(Reply::ok("/held").after(&gate)).await);
        let mut mirror = sending(primary.address(), candidate.address()).workers(1).start(binary).await;
        assert_eq!(mirror.get("/held").await.text(), "/held");
        wait::until("the copy", async || (candidate.seen().len() == 1).then_some(())).await;
        for percent in [1, 2] {
            mirror.change(|spec| spec.selection.millionths = percent).await;
        }
        gate.open();
        mirror.settled(1).await.assert_outcomes(&[("match", 1)]);
    });
}

#[test]
fn behind_the_router_it_sends_nothing() {
    on_each_envoy(async |binary| {
        let (primary, candidate) = (echo().await, echo().await);
        let mirror = Setup::new(primary.address(), candidate.address()).start(binary).await;
        let before = mirror.envoy().stat(&Way::Upstream.updates()).await;
        mirror.misplace_module();
        wait::until("the module", async || {
            (mirror.envoy().stat(&Way::Upstream.updates()).await > before).then_some(())
        })
        .await;
        let requests = (0..100).map(|i| Request::get(format!("/{i}"))).collect();
        let right = |request: &Request| Answer::of(&Reply::ok(request.path.clone()));
        crowd(mirror.address, Protocol::Http1, 8, requests, right).await.assert_all_right();
        // Envoy's own mirroring goes on, and the module compares what it copies.
        mirror.settled(100).await.assert_outcomes(&[("match", 100)]);
        assert_eq!(candidate.seen().len(), 100);
        assert!(mirror.envoy().log().contains("this configuration is for a filter before the router"));
    });
}

/// Asserts that a GET under `path` is answered, many times.
async fn all_right(mirror: &Running, path: &str) {
    let requests = (0..100).map(|i| Request::get(format!("{path}/{i}"))).collect();
    let right = |request: &Request| Answer::of(&Reply::ok(request.path.clone()));
    crowd(mirror.address, Protocol::Http1, 8, requests, right).await.assert_all_right();
}

#[test]
fn after_a_trap_requests_pass_uncopied_until_it_is_started_again() {
    on_each_envoy(async |binary| {
        let (primary, candidate) = (echo().await, echo().await);
        let mirror =
            sending(primary.address(), candidate.address()).workers(1).module(module::trapping()).start(binary).await;
        all_right(&mirror, "/before").await;
        mirror.settled(100).await.assert_outcomes(&[("match", 100)]);
        let trap = Request::get("/trap").header(module::TRAP_HEADER, "1");
        assert_eq!(once(mirror.address, Protocol::Http1, &trap).await.expect("an answer").status, 503);
        all_right(&mirror, "/after").await;
        assert_eq!(candidate.seen().len(), 100);

        let before = mirror.envoy().stat(&Way::Downstream.updates()).await;
        mirror.restart_module(1);
        wait::until("the module", async || {
            (mirror.envoy().stat(&Way::Downstream.updates()).await > before).then_some(())
        })
        .await;
        all_right(&mirror, "/again").await;
        wait::until("copies again", async || (candidate.seen().len() == 200).then_some(())).await;
    });
}

#[test]
fn the_sample_is_the_selectors() {
    const USERS: usize = 400;
    on_each_envoy(async |binary| {
        let (primary, mut candidates) = (echo().await, Vec::new());
        for way in WAYS {
            let candidate = echo().await;
            let mirror = Setup::new(primary.address(), candidate.address())
                .way(way)
                .selection(|selection| (selection.millionths, selection.sticky) = (300_000, Some("x-user".into())))
                .start(binary)
                .await;
            let mut client = Client::connect(mirror.address, Protocol::Http1).await.expect("a connection");
            for user in 0..USERS {
                let request = Request::get(format!("/{user}")).header("x-user", &format!("user-{user}@example.com"));
                assert_eq!(client.send(&request).await.expect("an answer").status, 200);
            }
            // The last copy may be on its way.
            wait::until("each copy to be counted", async || {
                (mirror.counts().await.pairs() == u64::try_from(candidate.seen().len()).expect("few")).then_some(())
            })
            .await;
            candidates.push(candidate);
        }
        let samples: Vec<_> = candidates.iter().map(Backend::seen_lines).collect();
        assert!((60..200).contains(&samples[0].len()), "{} of {USERS}", samples[0].len());
        assert_eq!(samples[0], samples[1]);
    });
}
