//! Where Envoy draws the sample and nothing tags the copies, as with Istio's own mirror stanza: every matching request is
//! marked, a copy is known by what only Envoy can tell, and the module tags it.

use mirror_core::config::{Knative, Sampling};
use mirror_tests::backend::{Backend, Reply};
use mirror_tests::client::{Answer, Protocol, Request, crowd};
use mirror_tests::mirror::Setup;
use mirror_tests::on_each_envoy;
use serde_json::json;

const REVISION: &str = "knative-serving-revision";
const NAMESPACE: &str = "knative-serving-namespace";

#[test]
fn only_what_envoy_copied_is_a_pair() {
    const REQUESTS: usize = 600;
    on_each_envoy(async |binary| {
        let reply = |seen: &str| Reply::ok(seen.to_owned());
        let primary = Backend::start(move |seen| reply(&seen.path)).await;
        let candidate = Backend::start(move |seen| {
            let differs = seen.path.ends_with('7');
            reply(if differs { "another answer" } else { &seen.path })
        })
        .await;
        let mirror = Setup::new(primary.address(), candidate.address())
            .mirror(|mirror| {
                mirror.sampling = Sampling::Envoy;
                mirror.candidate.knative = Some(Knative { revision: "hello-v2".into(), namespace: "default".into() });
            })
            .routes(|routes| {
                let route = &mut routes["virtual_hosts"][0]["routes"][0]["route"];
                let share = json!({"default_value": {"numerator": 30, "denominator": "HUNDRED"}});
                route["request_mirror_policies"] = json!([{"cluster": "candidate", "runtime_fraction": share}]);
            })
            .start(binary)
            .await;
        let request = |i| Request::get(format!("/{i}")).header(REVISION, "hello-v1").header(NAMESPACE, "default");
        let right = move |request: &Request| Answer::of(&reply(&request.path));
        let requests = (0..REQUESTS).map(request).collect();
        crowd(mirror.address, Protocol::Http1, 16, requests, right).await.assert_all_right();

        let copies = candidate.seen();
        // 30 % of 600, within five standard deviations.
        assert!((124..=236).contains(&copies.len()), "{} copies", copies.len());
        let differing = copies.iter().filter(|seen| seen.path.ends_with('7')).count();
        let number = |n: usize| u64::try_from(n).expect("few");
        let counts = mirror.settled(number(copies.len())).await;
        counts.assert_outcomes(&[("match", number(copies.len() - differing)), ("diverged", number(differing))]);

        for copy in &copies {
            assert_eq!((copy.header(REVISION), copy.header(NAMESPACE)), ("hello-v2", "default"));
            assert_eq!(copy.header("x-mirror-role"), "shadow");
        }
        assert!(primary.seen().iter().all(|seen| seen.header(REVISION) == "hello-v1"));
        assert!(primary.seen().iter().all(|seen| seen.header("x-mirror-role").is_empty()));
    });
}

#[test]
fn a_mirror_policy_rewrites_the_headers_by_which_knative_routes() {
    on_each_envoy(async |binary| {
        let same = || Backend::constant(Reply::ok("same"));
        let (primary, candidate) = (same().await, same().await);
        let mirror = Setup::new(primary.address(), candidate.address())
            .mirror(|mirror| {
                mirror.candidate.knative = Some(Knative { revision: "hello-v2".into(), namespace: "ns2".into() });
            })
            .start(binary)
            .await;
        mirror.send(&Request::get("/").header(REVISION, "hello-v1").header(NAMESPACE, "ns1")).await;
        mirror.settled(1).await.assert_outcomes(&[("match", 1)]);
        let routed = |server: &Backend| {
            let seen = &server.seen()[0];
            (seen.header(REVISION).to_owned(), seen.header(NAMESPACE).to_owned())
        };
        assert_eq!(routed(&primary), ("hello-v1".into(), "ns1".into()));
        assert_eq!(routed(&candidate), ("hello-v2".into(), "ns2".into()));
    });
}
