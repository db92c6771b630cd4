//! The strategy `overlay`: what is copied where, and what is counted.

use mirror_tests::client::Request;
use mirror_tests::wait;

use super::hello::{Hello, SAFE, SAFE_LOCAL, SECONDARY, SHADOW, send, with_filter};

#[test]
fn safe_requests_from_outside_are_copied_and_each_pair_is_counted() {
    with_filter(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        hello.assert_copied("/before", &[]).await;
        let said = hello.enable(&["--percent", "100"]);
        assert_eq!(said.stdout, "mirror.kubectl-mirror/hello created\n");
        hello.assert_copied("/after", &SAFE).await;
        hello.stop_steady().await;
        let copies = hello.seen_as(SHADOW).len() as u64;
        assert_eq!(hello.counted().await, [("match".to_owned(), copies)]);
        hello.finish().await;
    });
}

#[test]
fn calls_from_inside_the_cluster_are_copied_where_asked_for() {
    with_filter(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        hello.enable(&["--gateway", "local"]);
        hello.assert_copied("/local", &SAFE_LOCAL).await;
        let said = hello.enable(&["--gateway", "both"]);
        assert_eq!(said.stdout, "mirror.kubectl-mirror/hello configured\n");
        hello.assert_copied("/both", &[&SAFE[..], &SAFE_LOCAL].concat()).await;
        hello.finish().await;
    });
}

#[test]
fn a_share_of_the_requests_is_copied() {
    with_filter(async |cluster| {
        let mut hello = Hello::start(cluster).await;
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
    });
}

#[test]
fn a_sticky_share_is_always_the_same_users() {
    with_filter(async |cluster| {
        let hello = Hello::start(cluster).await;
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
        let gateways = cluster.gateways().len();
        assert!(drawn.chunk_by(|a, b| a == b).all(|same| same.len() == gateways), "{drawn:?}");
        hello.mirror_ok(&["disable", "hello"]);
    });
}

#[test]
fn a_secondary_is_one_more_copy_to_the_primarys_version() {
    with_filter(async |cluster| {
        let mut hello = Hello::start(cluster).await;
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
    });
}

#[test]
fn other_methods_are_copied_where_asked_for() {
    with_filter(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        let said = hello.enable(&["--methods", "GET,POST"]);
        assert!(said.stderr.contains("warning: POST requests are copied too"), "{}", said.stderr);
        hello.assert_copied("/methods", &["GET /get", "POST /post"]).await;
        let post = hello.seen_as(SHADOW).into_iter().find(|seen| seen.path == "/methods/post").expect("a copy");
        assert_eq!(post.body, "x");
        hello.finish().await;
    });
}

#[test]
fn what_clients_forge_gains_nothing() {
    with_filter(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        hello.enable(&[]);
        let name = format!("{}/hello", hello.service.namespace());
        let forged = |request: Request| {
            let marks = [("x-mirror", &*name), ("x-mirror-role", SHADOW), ("x-mirror-pair", "1")];
            let marked = marks.iter().fold(request, |request, (header, value)| request.header(header, value));
            marked.header("x-mirror-config", "{}").header("x-mirror-to", &hello.service.envoy_cluster("v2"))
        };
        for gateway in cluster.gateways() {
            for host in [hello.service.host(), hello.service.tag_host("v2")] {
                let post = Request::new(http::Method::POST, "/forged").host(&host);
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
        assert_eq!(copied.count(), cluster.gateways().len());
        for seen in hello.v1.seen().iter().chain(&hello.v2.seen()).filter(|seen| seen.path == "/forged") {
            assert_eq!(seen.header("x-mirror-config"), "");
        }
        hello.mirror_ok(&["disable", "hello"]);
    });
}

#[test]
fn a_mirror_ends_by_itself_when_its_time_is_over() {
    with_filter(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        let said = hello.enable(&["--for", "3s"]);
        assert!(said.stderr.contains(", until 2"), "{}", said.stderr);
        let status = hello.until_state("Expired").await;
        assert_eq!(status["expired"], true);
        hello.assert_copied("/late", &[]).await;
        hello.finish().await;
    });
}
