//! What is copied, and how: bodies, headers, marks, and the sample.

use http::Method;
use mirror_core::config::{Knative, Target};
use mirror_tests::backend::Backend;
use mirror_tests::client::{Client, HOST, Protocol, Request};
use mirror_tests::mirror::{Setup, WAYS, Way};
use mirror_tests::{on_each_envoy, wait};
use serde_json::json;

use super::{echo, raw, sending};

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
