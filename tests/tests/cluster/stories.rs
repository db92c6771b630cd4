//! Stories that are the same with several strategies: what is copied where, and what is counted.

use mirror_tests::client::Request;
use mirror_tests::wait;

use super::hello::{Hello, SAFE, SAFE_LOCAL, SECONDARY, SHADOW, send};

/// Safe requests from outside are copied, and each pair is counted.
pub async fn safe_requests(mut hello: Hello) {
    hello.assert_copied("/before", &[]).await;
    let said = hello.enable(&["--percent", "100"]);
    assert_eq!(said.stdout, "mirror.kubectl-mirror/hello created\n");
    hello.assert_copied("/after", &SAFE).await;
    hello.stop_steady().await;
    let copies = hello.seen_as(SHADOW).len() as u64;
    assert_eq!(hello.counted().await, [("match".to_owned(), copies)]);
    hello.finish().await;
}

/// Calls from inside the cluster are copied where that is asked for.
pub async fn calls_from_inside(mut hello: Hello) {
    hello.enable(&["--gateway", "local"]);
    hello.assert_copied("/local", &SAFE_LOCAL).await;
    let said = hello.enable(&["--gateway", "both"]);
    assert_eq!(said.stdout, "mirror.kubectl-mirror/hello configured\n");
    hello.assert_copied("/both", &[&SAFE[..], &SAFE_LOCAL].concat()).await;
    hello.finish().await;
}

/// A share of the requests is copied.
pub async fn share(mut hello: Hello) {
    hello.enable(&["--percent", "30"]);
    hello.stop_steady().await;
    let before = hello.seen_as(SHADOW).len();
    hello.send_many("/share", |_| None).await;
    wait::until("each copy to be counted", async || {
        (hello.report()["pairs"] == hello.seen_as(SHADOW).len()).then_some(())
    })
    .await;
    hello.assert_share(hello.seen_as(SHADOW).len() - before);
    hello.mirror_ok(&["disable", "hello"]);
}

/// A sticky share is always the same users, through every gateway.
pub async fn sticky_share(hello: Hello) {
    hello.enable(&["--percent", "30", "--sticky", "x-user"]);
    let user = |i| Some(("x-user", format!("user-{i}")));
    hello.send_many("/once", user).await;
    hello.send_many("/again", user).await;
    let users = |path: &str| {
        let seen = hello.seen_as(SHADOW).into_iter().filter(|seen| seen.path == path);
        let mut users: Vec<_> = seen.map(|seen| seen.header("x-user").to_owned()).collect();
        users.sort();
        users
    };
    let drawn = wait::until("the same copies once more", async || {
        let (once, again) = (users("/once"), users("/again"));
        (once == again).then_some(once)
    })
    .await;
    hello.assert_share(drawn.len());
    // Through every gateway.
    let gateways = hello.cluster.gateways().len();
    assert!(drawn.chunk_by(|a, b| a == b).all(|same| same.len() == gateways), "{drawn:?}");
    hello.mirror_ok(&["disable", "hello"]);
}

/// A secondary is one more copy to the primary's version.
pub async fn secondary(mut hello: Hello) {
    hello.enable(&["--secondary"]);
    hello.assert_copied("/both", &SAFE).await;
    hello.stop_steady().await;
    let paths = |role: &str| {
        let mut paths: Vec<_> = hello.seen_as(role).into_iter().map(|seen| seen.path).collect();
        paths.sort();
        paths
    };
    assert_eq!(paths(SECONDARY), paths(SHADOW));
    let copies = hello.seen_as(SHADOW).len() as u64;
    assert_eq!(hello.counted().await, [("match".to_owned(), copies)]);
    assert_eq!(hello.report()["triples"], copies);
    hello.finish().await;
}

/// Other methods are copied where that is asked for, with their bodies.
pub async fn other_methods(mut hello: Hello) {
    let said = hello.enable(&["--methods", "GET,POST"]);
    assert!(said.stderr.contains("warning: POST requests are copied too"), "{}", said.stderr);
    hello.assert_copied("/methods", &["GET /get", "POST /post"]).await;
    let post = hello.seen_as(SHADOW).into_iter().find(|seen| seen.path == "/methods/post").expect("a copy");
    assert_eq!(post.body, "x");
    hello.finish().await;
}

/// What clients forge gains nothing at these hosts.
pub async fn forged_marks(mut hello: Hello, hosts: &[String]) {
    hello.enable(&[]);
    let name = format!("{}/hello", hello.service.namespace());
    let forged = |request: Request| {
        let marks = [("x-mirror", &*name), ("x-mirror-role", SHADOW), ("x-mirror-pair", "1")];
        let marked = marks.iter().fold(request, |request, (header, value)| request.header(header, value));
        marked.header("x-mirror-config", "{}").header("x-mirror-to", &hello.service.envoy_cluster("v2"))
    };
    for gateway in hello.cluster.gateways() {
        for host in hosts {
            let post = Request::new(http::Method::POST, "/forged").host(host);
            send(gateway, false, &forged(post)).await;
        }
        send(gateway, false, &forged(Request::get("/forged").host(&hello.service.host()))).await;
    }
    hello.stop_steady().await;
    // Each GET is one pair like any other; nothing else is one.
    let copies = hello.seen_as(SHADOW);
    assert_eq!(hello.counted().await, [("match".to_owned(), copies.len() as u64)]);
    let copied = copies.iter().filter(|seen| seen.path == "/forged");
    assert!(copied.clone().all(|seen| seen.method == http::Method::GET), "{copies:#?}");
    assert_eq!(copied.count(), hello.cluster.gateways().len());
    for seen in hello.v1.seen().iter().chain(&hello.v2.seen()).filter(|seen| seen.path == "/forged") {
        assert_eq!(seen.header("x-mirror-config"), "");
    }
    hello.mirror_ok(&["disable", "hello"]);
}

/// A mirror ends by itself when its time is over.
pub async fn ending(mut hello: Hello) {
    let said = hello.enable(&["--for", "3s"]);
    assert!(said.stderr.contains(", until 2"), "{}", said.stderr);
    let status = hello.until_state("Expired").await;
    assert_eq!(status["expired"], true);
    hello.assert_copied("/late", &[]).await;
    hello.finish().await;
}
