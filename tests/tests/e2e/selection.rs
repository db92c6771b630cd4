//! Which requests are copied. What counts is what the candidate saw.

use http::Method;
use mirror_tests::backend::{Backend, Reply};
use mirror_tests::client::{Answer, Protocol, Request, crowd};
use mirror_tests::mirror::{Setup, Way};
use mirror_tests::on_each_way;

async fn echo() -> Backend {
    Backend::start(|seen| Reply::ok(seen.path.clone())).await
}

#[test]
fn only_what_was_asked_for_is_copied() {
    let (get, post) = (|path: &str| Request::get(path), |path: &str| Request::new(Method::POST, path));
    let requests = [
        (get("/a/get"), true),
        (Request::new(Method::HEAD, "/a/head"), true),
        (Request::new(Method::OPTIONS, "/a/options"), true),
        (post("/a/post").body("x"), false),
        (Request::new(Method::PUT, "/a/put").body("x"), false),
        (Request::new(Method::PATCH, "/a/patch"), false),
        (Request::new(Method::DELETE, "/a/delete"), false),
        (get("/a/host").host("HELLO.test:8080"), true),
        (get("/a/other-host").host("other.test"), false),
        (get("/a/sub-host").host("a.hello.test"), false),
        (get("/a/longer-host").host("hello.test.evil.test"), false),
        (get("/a/probe").header("K-Network-Probe", "queue"), false),
        (get("/a/hash").header("k-network-hash", "override"), false),
        (get("/a/query?x=1"), true),
        (get("/exact"), true),
        (get("/exact?a"), true),
        (get("/exact/not"), false),
        (get("/b"), false),
    ];
    on_each_way(async |binary, way| {
        let (primary, candidate) = (echo().await, echo().await);
        let mirror = Setup::new(primary.address(), candidate.address())
            .selection(|selection| {
                selection.paths = ["/a/*", "/exact"].map(|path| path.parse().expect("a path")).to_vec();
            })
            .way(way)
            .start(binary)
            .await;
        for protocol in [Protocol::Http1, Protocol::Http2] {
            for (request, _) in &requests {
                let answer = mirror.send_by(protocol, request).await;
                let body = if request.method == Method::HEAD { "" } else { &request.path };
                assert_eq!(answer.text(), body, "{request:?}");
            }
        }
        let copied = requests.iter().filter(|(_, copied)| *copied);
        let lines = copied.map(|(request, _)| format!("{} {}", request.method, request.path));
        let mut expected: Vec<_> = lines.flat_map(|line| std::iter::repeat_n(line, 2)).collect();
        expected.sort();
        let counts = mirror.settled(u64::try_from(expected.len()).expect("few")).await;
        assert_eq!(counts.outcomes.len(), 1, "{counts:?}");
        assert_eq!(candidate.seen_lines(), expected);
        assert_eq!(primary.seen().len(), 2 * requests.len());
    });
}

#[test]
fn a_mirror_that_has_expired_copies_nothing() {
    on_each_way(async |binary, way| {
        let (primary, candidate) = (echo().await, echo().await);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock").as_secs();
        let setup = Setup::new(primary.address(), candidate.address());
        let mut mirror =
            setup.selection(|selection| selection.expires = Some(now + 100_000)).way(way).start(binary).await;
        assert_eq!(mirror.get("/before").await.text(), "/before");
        mirror.settled(1).await.assert_outcomes(&[("match", 1)]);

        mirror.change(|spec| spec.selection.expires = Some(now)).await;
        let forged = Request::get("/after").header("x-mirror", "test/hello").header("x-mirror-config", "{}");
        let mut forged = forged.header("x-mirror-role", "shadow").header("x-mirror-pair", "1");
        if way == Way::Upstream {
            forged = forged.header(&mirror.spec().selection.candidate_header(), "candidate");
        }
        assert_eq!(mirror.send(&forged).await.text(), "/after");
        let seen = primary.seen();
        let marks = seen[1].headers.keys().filter(|name| name.as_str().starts_with("x-mirror"));
        assert_eq!(marks.count(), 0, "a client's marks are removed all the same: {:?}", seen[1]);

        mirror.change(|spec| spec.selection.expires = None).await;
        assert_eq!(mirror.get("/for-ever").await.text(), "/for-ever");
        mirror.settled(2).await.assert_outcomes(&[("match", 2)]);
        assert_eq!(candidate.seen_lines(), ["GET /before", "GET /for-ever"]);
    });
}

#[test]
fn shadows_are_tagged_and_nothing_else_is() {
    on_each_way(async |binary, way| {
        let (primary, candidate) = (echo().await, echo().await);
        let mirror = Setup::new(primary.address(), candidate.address()).way(way).start(binary).await;
        mirror.send(&Request::get("/").header("authorization", "Bearer t").header("x-own", "1")).await;
        mirror.settled(1).await.assert_outcomes(&[("match", 1)]);
        let (original, copy) = (&primary.seen()[0], &candidate.seen()[0]);
        assert_eq!(copy.header("x-mirror-role"), "shadow");
        assert!(copy.header("x-mirror").starts_with("test/hello/"), "{copy:?}");
        assert_eq!(copy.host, original.host);
        for name in ["authorization", "x-own", "x-request-id"] {
            assert_eq!(copy.header(name), original.header(name), "{name}");
        }
        assert_eq!(original.header("x-mirror-role"), "");
    });
}

#[test]
fn methods_and_headers_can_be_chosen() {
    on_each_way(async |binary, way| {
        let (primary, candidate) = (echo().await, echo().await);
        let mirror = Setup::new(primary.address(), candidate.address())
            .mirror(|mirror| mirror.methods = vec!["POST".into()])
            .selection(|selection| {
                let headers = ["x-beta", "x-plan=gold", "accept=application/*"];
                selection.headers = headers.map(|header| header.parse().expect("a header")).to_vec();
            })
            .way(way)
            .start(binary)
            .await;
        let full = |method: Method, path: &str, plan: &str, accept: &str| {
            Request::new(method, path).header("x-beta", "").header("X-Plan", plan).header("accept", accept).body("sent")
        };
        for request in [
            full(Method::POST, "/yes", "gold", "application/json"),
            full(Method::GET, "/method", "gold", "application/json"),
            full(Method::POST, "/plan", "golden", "application/json"),
            full(Method::POST, "/accept", "gold", "text/application/"),
            Request::new(Method::POST, "/none"),
        ] {
            assert_eq!(mirror.send(&request).await.text(), request.path);
        }
        mirror.settled(1).await.assert_outcomes(&[("match", 1)]);
        assert_eq!(candidate.seen_lines(), ["POST /yes"]);
        assert_eq!(candidate.seen()[0].body, "sent");
    });
}

#[test]
fn the_sample_has_the_size_that_was_asked_for() {
    const REQUESTS: u32 = 4000;
    const SHARE: f64 = 0.1;
    on_each_way(async |binary, way| {
        let (primary, candidate) = (echo().await, echo().await);
        let mirror = Setup::new(primary.address(), candidate.address())
            .selection(|selection| selection.millionths = 100_000)
            .way(way)
            .start(binary)
            .await;
        let requests = (0..REQUESTS).map(|i| Request::get(format!("/{i}"))).collect();
        let right = |request: &Request| Answer::of(&Reply::ok(request.path.clone()));
        crowd(mirror.address, Protocol::Http1, 16, requests, right).await.assert_all_right();
        let (n, expected) = (f64::from(REQUESTS), f64::from(REQUESTS) * SHARE);
        // Five standard deviations of a binomial distribution: one run in a million falls outside.
        let slack = 5.0 * (n * SHARE * (1.0 - SHARE)).sqrt();
        let copied = candidate.seen().len();
        let off = (f64::from(u32::try_from(copied).expect("few")) - expected).abs();
        assert!(off <= slack, "{copied} copied of {REQUESTS}");
        mirror.settled(u64::try_from(copied).expect("few")).await;
    });
}

#[test]
fn a_sticky_sample_has_each_user_always_or_never() {
    const USERS: usize = 200;
    on_each_way(async |binary, way| {
        let (primary, candidate) = (echo().await, echo().await);
        let mirror = Setup::new(primary.address(), candidate.address())
            .selection(|selection| (selection.millionths, selection.sticky) = (500_000, Some("x-user".into())))
            .way(way)
            .start(binary)
            .await;
        let request = |i: usize| Request::get(format!("/{}", i % USERS)).header("x-user", &format!("u{}", i % USERS));
        let right = |request: &Request| Answer::of(&Reply::ok(request.path.clone()));
        let requests = (0..3 * USERS).map(request).chain([Request::get("/nobody")]).collect();
        crowd(mirror.address, Protocol::Http1, 8, requests, right).await.assert_all_right();
        let lines = candidate.seen_lines();
        let users: std::collections::BTreeSet<_> = lines.iter().collect();
        // Half of the users, within five standard deviations.
        assert!((65..=135).contains(&users.len()), "{} users", users.len());
        assert_eq!(lines.len(), 3 * users.len(), "each of them each time: {lines:?}");
        assert!(!lines.contains(&"GET /nobody".to_owned()));
    });
}
