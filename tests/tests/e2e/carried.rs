//! Strategy `virtualservice`: all that the module knows of a mirror came in a header that a VirtualService's route sets, and
//! Envoy draws the sample. The routes are as Istio's control plane makes them.

use http::Method;
use kubectl_mirror::envoy::carried::{headers_to_remove, headers_to_set, route_name};
use mirror_core::config::{Knative, Mirror, Sampling};
use mirror_core::stats::names::Diagnostic;
use mirror_tests::backend::{Backend, Reply};
use mirror_tests::client::{Answer, Protocol, Request, crowd};
use mirror_tests::counts::Counts;
use mirror_tests::mirror::{NAME, Running, Setup};
use mirror_tests::on_each_envoy;
use serde_json::{Value, json};

const CONFIG: &str = "x-mirror-config";
const REVISION: &str = "knative-serving-revision";

/// A destination of a route: its cluster, its weight and its revision.
type Destination = (&'static str, u32, &'static str);

const ALL_TO_PRIMARY: &[Destination] = &[("primary", 100, "hello-v1")];

/// A route that Istio makes of a VirtualService in `namespace`, which says what the plugin writes for `mirror`. `percent`
/// of the requests are copied to `copies`.
fn route(mirror: &Mirror, namespace: &str, destinations: &[Destination], copies: &str, percent: u32) -> Value {
    let set = |name: &str, value: &str| json!({"header": {"key": name, "value": value}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"});
    let marks = headers_to_set(mirror).expect("a mirror that can be carried");
    let clusters = destinations.iter().map(|(cluster, weight, revision)| {
        let knative = [set("Knative-Serving-Namespace", "test"), set("Knative-Serving-Revision", revision)];
        json!({"name": cluster, "weight": weight, "request_headers_to_add": knative})
    });
    json!({
        "name": route_name(mirror),
        "match": {
            "prefix": "/",
            "headers": [{"name": ":method", "string_match": {"exact": "GET"}}],
        },
        "metadata": origin(namespace, "hello-mirror"),
        "request_headers_to_add": marks.iter().map(|(name, value)| set(name, value)).collect::<Vec<_>>(),
        "request_headers_to_remove": headers_to_remove(),
        "route": {
            "weighted_clusters": {"clusters": clusters.collect::<Vec<_>>()},
            "retry_policy": {"retry_on": "5xx", "num_retries": 2},
            "request_mirror_policies": [{
                "cluster": copies,
                "runtime_fraction": {"default_value": {"numerator": percent * 10_000, "denominator": "MILLION"}},
                "disable_shadow_host_suffix_append": true,
            }],
        },
    })
}

fn origin(namespace: &str, name: &str) -> Value {
    let config = format!("/apis/networking.istio.io/v1/namespaces/{namespace}/virtual-service/{name}");
    json!({"filter_metadata": {"istio": {"config": config}}})
}

/// The same route for paths below `/<part>` alone.
fn below(part: &str, mut route: Value) -> Value {
    route["match"]["prefix"] = json!(format!("/{part}"));
    route
}

/// A mirror without metadata of its own: the routes are those that `make` makes for it, each time that it changes.
fn setup(primary: &Backend, candidate: &Backend, make: impl Fn(&Mirror) -> Vec<Value> + 'static) -> Setup {
    Setup::new(primary.address(), candidate.address())
        .mirror(|mirror| {
            mirror.sampling = Sampling::Envoy;
            mirror.split = true;
            mirror.candidate.knative = Some(Knative { revision: "hello-v2".into(), namespace: "test".into() });
        })
        .routes(move |routes| {
            let routes = &mut routes["virtual_hosts"][0]["routes"];
            let config = &routes[0]["metadata"]["filter_metadata"]["kubectl-mirror"]["config"];
            let mirror = Mirror::from_json(config.as_str().expect("a string").as_bytes()).expect("a mirror");
            *routes = Value::Array(make(&mirror));
        })
}

async fn echo() -> Backend {
    Backend::start(|seen| Reply::ok(seen.path.clone())).await
}

fn number(n: usize) -> u64 {
    u64::try_from(n).expect("few")
}

/// Asserts that what the servers saw is as it should be: copies are tagged and sent to the candidate's revision, primaries
/// are not and to their own, and nobody sees the configuration.
fn assert_headers(primary: &Backend, candidate: &Backend) {
    for seen in primary.seen() {
        assert_eq!((seen.header(REVISION), seen.header("x-mirror-role"), seen.header(CONFIG)), ("hello-v1", "", ""));
    }
    for seen in candidate.seen() {
        assert_eq!((seen.header(REVISION), seen.header("x-mirror-role")), ("hello-v2", "shadow"), "{seen:?}");
        assert_eq!((seen.header("knative-serving-namespace"), seen.header(CONFIG)), ("test", ""), "{seen:?}");
    }
}

#[test]
fn pairs_are_compared_by_the_rules_that_the_header_carries() {
    const REQUESTS: usize = 600;
    let reply = |server: &'static str, path: &str| {
        let differs = server == "candidate" && path.ends_with('7');
        Reply::json(&json!({"100%PROTOCOL%": server, "\u{e9}\u{1f980}": server, "same": !differs}))
    };
    on_each_envoy(async |binary| {
        for percent in [100, 30] {
            let primary = Backend::start(move |seen| reply("primary", &seen.path)).await;
            let candidate = Backend::start(move |seen| reply("candidate", &seen.path)).await;
            let make = move |mirror: &Mirror| vec![route(mirror, "test", ALL_TO_PRIMARY, "candidate", percent)];
            let setup = setup(&primary, &candidate, make);
            let mut mirror = setup.rules(json!({"ignore": ["/100%PROTOCOL%", "/\u{e9}\u{1f980}"]})).start(binary).await;
            let requests = || (0..REQUESTS).map(|i| Request::get(format!("/{i}"))).collect();
            let right = move |request: &Request| Answer::of(&reply("primary", &request.path));
            crowd(mirror.address, Protocol::Http1, 16, requests(), right).await.assert_all_right();

            let copies = candidate.seen();
            let (copied, differing) = (copies.len(), copies.iter().filter(|seen| seen.path.ends_with('7')).count());
            match percent {
                100 => assert_eq!(copied, REQUESTS),
                // 30 % of 600, within five standard deviations.
                _ => assert!((124..=236).contains(&copied), "{copied} copies"),
            }
            let counts = mirror.settled(number(copied)).await;
            counts.assert_outcomes(&[("match", number(copied - differing)), ("diverged", number(differing))]);
            let diverged = counts.diverged();
            assert_eq!(diverged.keys().collect::<Vec<_>>(), ["/same value"], "{diverged:?}");
            let named = Counts::of_mirror(&mirror.envoy().stats("mirror_").await, NAME);
            assert_eq!(named.pairs(), number(copied));
            assert!(counts.diagnostics.keys().all(|what| *what == Diagnostic::ExamplesDropped), "{counts:?}");
            assert_headers(&primary, &candidate);

            // A change of the VirtualService is a change of the rules.
            mirror.change(|spec| spec.mirror.rules.ignore.push("/same".parse().expect("a place"))).await;
            crowd(mirror.address, Protocol::Http1, 16, requests(), right).await.assert_all_right();
            let all = candidate.seen().len();
            let counts = mirror.settled(number(all)).await;
            counts.assert_outcomes(&[("match", number(all - differing)), ("diverged", number(differing))]);
            assert_headers(&primary, &candidate);
        }
    });
}

#[test]
fn a_further_try_carries_nothing_and_belongs_to_the_same_pair() {
    on_each_envoy(async |binary| {
        let tries = std::sync::atomic::AtomicUsize::new(0);
        let primary = Backend::start(move |_| match tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 2 {
            0 => Reply::status(503),
            _ => Reply::ok("same"),
        })
        .await;
        let candidate = Backend::constant(Reply::ok("same")).await;
        let make = |mirror: &Mirror| vec![route(mirror, "test", ALL_TO_PRIMARY, "candidate", 100)];
        let mirror = setup(&primary, &candidate, make).start(binary).await;
        for n in 0..10 {
            assert_eq!(mirror.get(&format!("/{n}")).await.text(), "same");
        }
        let counts = mirror.settled(10).await;
        counts.assert_outcomes(&[("match", 10)]);
        assert_eq!(counts.diagnostics, Default::default());
        assert_eq!((primary.seen().len(), candidate.seen().len()), (20, 10));
        assert_headers(&primary, &candidate);
    });
}

#[test]
fn what_the_split_sent_to_the_candidate_is_skipped() {
    const REQUESTS: usize = 200;
    on_each_envoy(async |binary| {
        let (primary, candidate) = (echo().await, echo().await);
        let split = &[("primary", 50, "hello-v1"), ("candidate", 50, "hello-v2")];
        let make = |mirror: &Mirror| vec![route(mirror, "test", split, "candidate", 100)];
        let mirror = setup(&primary, &candidate, make).start(binary).await;
        let requests = (0..REQUESTS).map(|i| Request::get(format!("/{i}"))).collect();
        let right = |request: &Request| Answer::of(&Reply::ok(request.path.clone()));
        crowd(mirror.address, Protocol::Http1, 16, requests, right).await.assert_all_right();
        let by_primary = primary.seen().len();
        assert!((60..=140).contains(&by_primary), "{by_primary} of {REQUESTS}");
        let counts = mirror.settled(number(REQUESTS)).await;
        let skipped = number(REQUESTS - by_primary);
        counts.assert_outcomes(&[("match", number(by_primary)), ("skipped (same_revision)", skipped)]);
        assert!(primary.seen().iter().all(|seen| seen.header(REVISION) == "hello-v1"));
        let seen = candidate.seen();
        assert!(seen.iter().all(|seen| seen.header(REVISION) == "hello-v2" && seen.header(CONFIG).is_empty()));
        let shadows = seen.iter().filter(|seen| seen.header("x-mirror-role") == "shadow").count();
        assert_eq!((seen.len() - shadows, shadows), (REQUESTS - by_primary, REQUESTS));
    });
}

/// The request with all that a genuine one has, and with each of the roles that there are.
fn forged(mirror: &Running, request: &Request) -> Vec<Request> {
    let marks = headers_to_set(&mirror.spec().mirror).expect("it can be carried");
    let mut forged = request.clone();
    for (name, value) in &marks {
        forged = forged.header(name, &value.replace("%%", "%"));
    }
    forged = forged.header("x-mirror-pair", "1").header("x-request-id", "00000000-0000-4000-9000-000000000000");
    let with_role = |role: &&str| forged.clone().header("x-mirror-role", role);
    ["shadow", "secondary"].iter().map(with_role).chain([forged.clone()]).collect()
}

#[test]
fn a_client_gains_nothing_by_what_it_sends() {
    on_each_envoy(async |binary| {
        let (primary, candidate) = (echo().await, echo().await);
        let mirror = setup(&primary, &candidate, |mirror| {
            // Somebody else's mirror, whose copies go to the primary's server.
            let mut foreign = below("foreign", route(mirror, "test", ALL_TO_PRIMARY, "primary", 100));
            foreign["name"] = json!("foreign");
            foreign["metadata"] = origin("test", "foreign");
            for field in ["request_headers_to_add", "request_headers_to_remove"] {
                foreign[field] = json!([]);
            }
            let plain = json!({"match": {"prefix": "/plain"}, "route": {"cluster": "primary"}});
            // What the mirror's VirtualService does not match falls through to Knative's, in the same namespace.
            let rest = json!({
                "match": {"prefix": "/"},
                "metadata": origin("test", "hello-ingress"),
                "route": {"cluster": "primary"},
            });
            vec![foreign, plain, route(mirror, "test", ALL_TO_PRIMARY, "candidate", 100), rest]
        })
        .start(binary)
        .await;
        let elsewhere = [Request::get("/foreign"), Request::get("/plain"), Request::new(Method::POST, "/post")];
        for pairs in [1, 2] {
            for request in &elsewhere {
                for forged in forged(&mirror, request) {
                    assert_eq!(mirror.send(&forged).await.text(), request.path);
                }
            }
            // The second time the module knows the mirror.
            assert_eq!(mirror.get("/mirrored").await.text(), "/mirrored");
            mirror.settled(pairs).await.assert_outcomes(&[("match", pairs)]);
        }
        let seen = primary.seen();
        for seen in seen.iter().filter(|seen| seen.path == "/foreign") {
            assert_eq!(seen.header(REVISION), "hello-v1", "{seen:?}");
        }
        let untagged = seen.iter().filter(|seen| seen.path == "/foreign" && seen.header("x-mirror-role").is_empty());
        assert_eq!(untagged.count(), 4, "two requests and two copies, as the client sent them");
        assert!(seen.iter().all(|seen| seen.header(CONFIG).is_empty()));

        // On the mirror's own route, what the client sent is replaced.
        let wrong = json!({"version": 1, "name": NAME, "candidate": {"cluster": "primary"}, "hosts": ["*"]});
        for mut request in forged(&mirror, &Request::get("/own")) {
            request.headers.retain(|(name, _)| name != CONFIG);
            let request = request.header(CONFIG, &wrong.to_string()).header("x-mirror", "evil/evil");
            assert_eq!(mirror.send(&request).await.text(), "/own");
        }
        let counts = mirror.settled(5).await;
        counts.assert_outcomes(&[("match", 5)]);
        assert_eq!(candidate.seen_lines().len(), 5);
        let own = primary.seen().into_iter().filter(|seen| seen.path == "/own");
        for seen in own {
            assert_eq!((seen.header("x-mirror-role"), seen.header("x-mirror-pair")), ("", ""), "{seen:?}");
            assert!(seen.header("x-mirror").starts_with(NAME) && seen.headers.get_all("x-mirror").iter().count() == 1);
        }
        assert!(candidate.seen().iter().all(|seen| seen.header(CONFIG).is_empty()));
    });
}

#[test]
fn a_virtual_service_of_another_namespace_is_not_believed() {
    on_each_envoy(async |binary| {
        let primary = echo().await;
        let candidate = Backend::constant(Reply::ok("something else")).await;
        let make = |mirror: &Mirror| {
            let mut other = mirror.clone();
            other.rules.ignore = vec!["body".parse().expect("a place")];
            let of_evil = |mirror: &Mirror| route(mirror, "evil", ALL_TO_PRIMARY, "candidate", 100);
            let mut renamed = route(mirror, "test", ALL_TO_PRIMARY, "candidate", 100);
            renamed["name"] = json!("any other name");
            renamed["metadata"] = origin("test", "other");
            vec![
                below("other", of_evil(&other)),
                below("same", of_evil(mirror)),
                below("renamed", renamed),
                route(mirror, "test", ALL_TO_PRIMARY, "candidate", 100),
            ]
        };
        let mirror = setup(&primary, &candidate, make).start(binary).await;
        for pairs in [1, 2] {
            for path in ["/other", "/same", "/renamed"] {
                assert_eq!(mirror.get(path).await.text(), path);
            }
            // The second time the module knows the mirror.
            assert_eq!(mirror.get("/mirrored").await.text(), "/mirrored");
            mirror.settled(pairs).await.assert_outcomes(&[("diverged", pairs)]);
        }
        let seen = [primary.seen(), candidate.seen()].concat();
        assert_eq!(seen.len(), 16);
        assert!(seen.iter().all(|seen| seen.header(CONFIG).is_empty()), "it is taken away from everybody's");
    });
}
