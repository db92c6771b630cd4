//! Which requests are copied, and where to.

use http::Method;
use mirror_tests::client::{Protocol, Request, once};
use mirror_tests::cluster::{Cluster, alone_on_cluster};
use mirror_tests::wait;

use super::{Hello, installation, mirror};

/// Sends every kind of request that there is through each gateway. What should be copied has a path that begins with `/copy`.
async fn send_all(cluster: &Cluster, hello: &Hello) {
    let service = &hello.service;
    for gateway in cluster.gateways() {
        let plain = |method: Method, path: &str| Request::new(method, path).host(&service.host());
        let external = [
            plain(Method::GET, "/copy-get"),
            plain(Method::HEAD, "/copy-head"),
            plain(Method::POST, "/post").body("x"),
            plain(Method::DELETE, "/delete"),
            plain(Method::GET, "/probe").header("K-Network-Hash", "override"),
            plain(Method::GET, "/health").header("K-Network-Probe", "queue"),
            plain(Method::GET, "/tag").host(&service.tag_host("v2")),
        ];
        let local = [plain(Method::GET, "/local").host(&service.local_host())];
        let external = external.iter().map(|request| (gateway.external(), request));
        for (address, request) in external.chain(local.iter().map(|request| (gateway.local(), request))) {
            let answer = once(address, Protocol::Http1, request).await.expect("an answer");
            assert_eq!(answer.status, 200, "{request:?}");
        }
    }
}

/// What v2 has to see of that: the copies, and what is meant for it.
async fn assert_copies(cluster: &Cluster, hello: &Hello) {
    let gateways = cluster.gateways().len();
    let expected = ["GET /copy-get", "GET /tag", "HEAD /copy-head"].iter().flat_map(|line| vec![*line; gateways]);
    let expected: Vec<_> = expected.collect();
    wait::until("all copies", async || (hello.v2.seen().len() >= expected.len()).then_some(())).await;
    assert_eq!(hello.v2.seen_lines(), expected);
    for seen in hello.v2.seen().iter().filter(|seen| seen.path.starts_with("/copy")) {
        // Not the primary's, by which Knative's activator would serve it from the primary.
        assert_eq!(seen.header("knative-serving-revision"), "hello-v2");
        assert_eq!(seen.header("knative-serving-namespace"), hello.service.namespace());
        assert_eq!(seen.header("x-mirror-role"), "shadow");
    }
    assert!(hello.v1.seen().iter().all(|seen| seen.header("knative-serving-revision") == "hello-v1"));
}

#[test]
fn only_safe_requests_for_the_host_are_copied() {
    alone_on_cluster(async |cluster| {
        cluster.objects().apply(installation(kubectl_mirror::module::MODULE)).await;
        for gateway in cluster.gateways() {
            wait::until("the module", async || {
                (!gateway.envoy().stats("^wasmcustom.mirror").await.is_empty()).then_some(())
            })
            .await;
        }
        let hello = Hello::start(cluster).await;
        mirror(cluster, &hello.service).await;
        send_all(cluster, &hello).await;
        assert_copies(cluster, &hello).await;
    });
}

#[test]
fn without_the_selector_nothing_is_copied() {
    alone_on_cluster(async |cluster| {
        let hello = Hello::start(cluster).await;
        mirror(cluster, &hello.service).await;
        send_all(cluster, &hello).await;
        let gateways = cluster.gateways().len();
        assert_eq!(hello.v2.seen_lines(), vec!["GET /tag"; gateways]);
    });
}
