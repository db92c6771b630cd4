//! Clients that send the mirror's own headers: nothing is copied, counted or changed by them.

use http::Method;
use mirror_tests::backend::{Backend, Reply};
use mirror_tests::client::{Protocol, Request};
use mirror_tests::gate::Gate;
use mirror_tests::mirror::{Running, Setup};
use mirror_tests::{on_each_envoy, wait};
use serde_json::{Value, json};

async fn echo() -> Backend {
    Backend::start(|seen| Reply::ok(seen.path.clone())).await
}

/// The request with all the marks that a copied request has, cluster headers included.
fn forged(mirror: &Running, mut request: Request) -> Request {
    let spec = mirror.spec();
    let name = format!("{}/{}", spec.mirror.name, spec.mirror.fingerprint());
    let (to, also) = (spec.selection.candidate_header(), spec.selection.secondary_header());
    for (header, value) in [
        ("x-mirror", name.as_str()),
        ("x-mirror-role", "shadow"),
        ("x-mirror-pair", "1"),
        ("x-mirror-config", spec.mirror.to_json().as_str()),
        (to.as_str(), "candidate"),
        (also.as_str(), "candidate"),
        ("x-request-id", "00000000-0000-4000-9000-000000000000"),
    ] {
        request = request.header(header, value);
    }
    request
}

#[test]
fn on_the_mirrored_route_they_are_taken_away() {
    on_each_envoy(async |binary| {
        let (primary, candidate) = (echo().await, echo().await);
        let mirror = Setup::new(primary.address(), candidate.address()).start(binary).await;
        for protocol in [Protocol::Http1, Protocol::Http2] {
            // Not selected: nothing of it is copied, and the marks do not reach the primary.
            let post = forged(&mirror, Request::new(Method::POST, "/post"));
            assert_eq!(mirror.send_by(protocol, &post).await.text(), "/post");
            // Selected anyway: copied once, as its own mirror says.
            let get = forged(&mirror, Request::get("/get"));
            assert_eq!(mirror.send_by(protocol, &get).await.text(), "/get");
        }
        mirror.settled(2).await.assert_outcomes(&[("match", 2)]);
        assert_eq!(candidate.seen_lines(), ["GET /get", "GET /get"]);
        for seen in primary.seen().iter().filter(|seen| seen.method == Method::POST) {
            let marks: Vec<_> = seen.headers.keys().filter(|name| name.as_str().starts_with("x-mirror")).collect();
            assert!(marks.is_empty(), "{marks:?}");
        }
        assert!(primary.seen().iter().all(|seen| seen.header("x-mirror-role").is_empty()));
        assert!(primary.seen().iter().chain(&candidate.seen()).all(|seen| seen.header("x-mirror-config").is_empty()));
    });
}

#[test]
fn on_a_route_without_a_mirror_they_mean_nothing() {
    on_each_envoy(async |binary| {
        let (primary, candidate) = (echo().await, echo().await);
        let mirror = Setup::new(primary.address(), candidate.address()).routes(add_plain).start(binary).await;
        let forge = async || {
            for protocol in [Protocol::Http1, Protocol::Http2] {
                for role in ["", "shadow", "secondary"] {
                    let mut request = forged(&mirror, Request::get("/plain"));
                    request.headers.retain(|(name, _)| name != "x-mirror-role");
                    if !role.is_empty() {
                        request = request.header("x-mirror-role", role);
                    }
                    assert_eq!(mirror.send_by(protocol, &request).await.text(), "/plain");
                }
            }
        };
        forge().await;
        // Pairs that are copied are the only ones that are counted, now that the module knows the mirror as well.
        assert_eq!(mirror.get("/mirrored").await.text(), "/mirrored");
        mirror.settled(1).await.assert_outcomes(&[("match", 1)]);
        forge().await;
        assert_eq!(mirror.get("/mirrored").await.text(), "/mirrored");
        mirror.settled(2).await.assert_outcomes(&[("match", 2)]);
        assert_eq!(candidate.seen_lines(), ["GET /mirrored", "GET /mirrored"]);
    });
}

#[test]
fn who_knows_a_pairs_id_cannot_answer_in_its_candidates_place() {
    on_each_envoy(async |binary| {
        let gate = Gate::default();
        let held = gate.clone();
        let primary = Backend::start(move |seen| match seen.path.as_str() {
            "/held" => Reply::ok("the answer").after(&held),
            _ => Reply::ok("another answer"),
        })
        .await;
        // The candidate's place in the pair is free: its cluster does not exist.
        let mirror = Setup::new(primary.address(), primary.address())
            .workers(1)
            .mirror(|mirror| mirror.candidate.cluster = "nowhere".into())
            .routes(add_plain)
            .start(binary)
            .await;
        let forge = async {
            let seen = wait::until("the primary's request", async || primary.seen().first().cloned()).await;
            let mut request = Request::get("/plain");
            for name in ["x-mirror", "x-mirror-pair", "x-request-id"] {
                assert_ne!(seen.header(name), "", "{name}");
                request = request.header(name, seen.header(name));
            }
            for role in [None, Some("shadow"), Some("secondary")] {
                let request = role.map_or(request.clone(), |role| request.clone().header("x-mirror-role", role));
                assert_eq!(mirror.send(&request).await.text(), "another answer");
            }
            gate.open();
        };
        let (answer, ()) = tokio::join!(mirror.get("/held"), forge);
        assert_eq!(answer.text(), "the answer");
        mirror.settled(1).await.assert_outcomes(&[("incomplete (shadow_absent)", 1)]);
    });
}

/// Adds a route without a mirror for `/plain`.
fn add_plain(routes: &mut Value) {
    let plain = json!({"name": "plain", "match": {"prefix": "/plain"}, "route": {"cluster": "primary"}});
    routes["virtual_hosts"][0]["routes"].as_array_mut().expect("a list of routes").insert(0, plain);
}
