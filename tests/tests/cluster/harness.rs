//! The harness itself: were it blind, every other test would be.

use mirror_tests::backend::{Backend, Reply};
use mirror_tests::client::{Protocol, Request, Steady, once};
use mirror_tests::cluster::{Service, Traffic, on_cluster};

#[test]
fn rights_are_enforced() {
    on_cluster(async |cluster| {
        let namespace = cluster.namespace("rights").await;
        let user = cluster.user(&namespace, "developer").await;
        let refused = user.kubectl(&["get", "routes.serving.knative.dev", "-n", &namespace]);
        assert!(refused.stderr.contains("Forbidden"), "{refused:#?}");
        let admin = cluster.admin();
        let what = ["--verb=get,list", "--resource=configmaps"];
        admin.kubectl_ok(&[&["create", "role", "reader", "-n", &namespace], &what[..]].concat());
        let account = format!("--serviceaccount={namespace}:developer");
        admin.kubectl_ok(&["create", "rolebinding", "reader", "--role=reader", &account, "-n", &namespace]);
        user.kubectl_ok(&["get", "configmaps", "-n", &namespace]);
        let refused = user.kubectl(&["get", "configmaps", "-n", "default"]);
        assert!(refused.stderr.contains("Forbidden"), "{refused:#?}");
    });
}

#[test]
fn a_request_is_answered_by_the_revision_that_the_route_names() {
    on_cluster(async |cluster| {
        let namespace = cluster.namespace("routed").await;
        let backends = [Backend::constant(Reply::ok("1")).await, Backend::constant(Reply::ok("2")).await];
        let mut hello = Service::new(cluster, &namespace, "hello");
        hello.revision("v1", backends[0].address()).await;
        hello.revision("v2", backends[1].address()).await;
        hello.traffic(&[Traffic::percent("v1", 100), Traffic::tag("v2", "v2")]).await;
        for gateway in cluster.gateways() {
            let get = async |address, host: &str| {
                let answer = once(address, Protocol::Http1, &Request::get("/").host(host)).await.expect("an answer");
                answer.text()
            };
            assert_eq!(get(gateway.external(), &hello.host()).await, "1");
            assert_eq!(get(gateway.external(), &hello.tag_host("v2")).await, "2");
            assert_eq!(get(gateway.local(), &hello.local_host()).await, "1");
        }
        let seen = &backends[0].seen()[0];
        assert_eq!(seen.header("knative-serving-revision"), "hello-v1");
        assert_eq!(seen.header("knative-serving-namespace"), namespace);
    });
}

#[test]
fn a_changed_route_loses_no_request() {
    on_cluster(async |cluster| {
        let namespace = cluster.namespace("steady").await;
        let backends = [Backend::constant(Reply::ok("1")).await, Backend::constant(Reply::ok("2")).await];
        let mut hello = Service::new(cluster, &namespace, "hello");
        hello.revision("v1", backends[0].address()).await;
        hello.revision("v2", backends[1].address()).await;
        hello.traffic(&[Traffic::percent("v1", 100), Traffic::tag("v2", "v2")]).await;
        let request = Request::get("/").host(&hello.host());
        let steady: Vec<_> =
            cluster.gateways().iter().map(|gateway| Steady::start(gateway.external(), request.clone())).collect();
        hello.traffic(&[Traffic::percent("v2", 100), Traffic::percent("v1", 0)]).await;
        for gateway in cluster.gateways() {
            let answer = once(gateway.external(), Protocol::Http1, &request).await.expect("an answer");
            assert_eq!(answer.text(), "2");
        }
        for steady in steady {
            let met = steady.stop().await;
            met.assert_all_right();
            assert!(met.right > 0);
        }
    });
}
