//! The harness itself: were it blind, every other test would be.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use mirror_tests::backend::{Backend, Reply};
use mirror_tests::client::{Protocol, Request, Steady, once};
use mirror_tests::cluster::{Cluster, ISTIO_SYSTEM, Service, Traffic, on_cluster};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

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

/// What comes back on a port of a pod, by way of the API server.
async fn get_by_port_forward(cluster: &Cluster, pod: &str, port: u16, path: &str) -> String {
    let pods: Api<Pod> = Api::namespaced(cluster.objects().client(), ISTIO_SYSTEM);
    let mut forwarder = pods.portforward(pod, &[port]).await.expect("a forwarded port");
    let mut stream = forwarder.take_stream(port).expect("its stream");
    let request = format!("GET {path} HTTP/1.1\r\nhost: pod\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("the request is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer in UTF-8");
    answer
}

#[test]
fn a_gateway_pod_is_reached_through_the_api_server() {
    on_cluster(async |cluster| {
        for gateway in cluster.gateways() {
            let version = gateway.envoy().version();
            let answer = get_by_port_forward(cluster, gateway.pod(), 15000, "/server_info").await;
            assert!(answer.contains(&format!("/{version}/")) && answer.contains(gateway.pod()), "{answer}");
            let answer = get_by_port_forward(cluster, gateway.pod(), 15090, "/stats/prometheus").await;
            assert!(answer.contains("envoy_server_live"), "{answer}");
            let log = cluster.admin().kubectl_ok(&["logs", "-n", ISTIO_SYSTEM, gateway.pod(), "--tail=1"]);
            assert_eq!(log.lines().count(), 1, "{log}");
        }
    });
}
