//! What Istio makes of a Knative Service's VirtualService.

use mirror_tests::cluster::{Kind, on_cluster};
use mirror_tests::wait;
use serde_json::{Value, json};

use super::{Hello, mirror};

#[test]
fn all_hosts_share_one_virtual_host_on_each_port() {
    on_cluster(async |cluster| {
        let hello = Hello::start(cluster).await.service;
        let names = ["hello", "v2-hello"].map(|name| format!("{name}.{}", hello.namespace()));
        let suffixes = ["", ".example.com", ".svc", ".svc.cluster.local"];
        let mut all: Vec<_> = names.iter().flat_map(|name| suffixes.map(|suffix| format!("{name}{suffix}"))).collect();
        all.sort();
        for gateway in cluster.gateways() {
            // By the external host the local port's virtual host is found as well, and the other way round.
            for domain in [hello.host(), hello.local_host(), hello.tag_host("v2")] {
                let hosts = gateway.virtual_hosts(&domain).await;
                assert_eq!(hosts.len(), 2, "{domain}: {hosts:#?}");
                for host in hosts {
                    let mut domains: Vec<String> = serde_json::from_value(host["domains"].clone()).expect("texts");
                    domains.sort();
                    assert_eq!(domains, all);
                }
            }
        }
    });
}

#[test]
fn a_patch_by_one_domain_hits_each_route_once() {
    on_cluster(async |cluster| {
        let hello = Hello::start(cluster).await.service;
        mirror(cluster, &hello).await;
        for gateway in cluster.gateways() {
            let hosts = gateway.virtual_hosts(&hello.local_host()).await;
            let routes = hosts.iter().flat_map(|host| host["routes"].as_array().expect("routes"));
            let policies: Vec<_> = routes.map(|route| route["route"]["request_mirror_policies"].as_array()).collect();
            // Two of the Route and two of the tag, each with its probe, on two ports.
            assert_eq!(policies.len(), 8);
            assert!(policies.iter().all(|policies| policies.is_some_and(|policies| policies.len() == 1)), "{hosts:#?}");
        }
    });
}

#[test]
fn a_route_says_which_virtual_service_it_comes_from() {
    on_cluster(async |cluster| {
        let hello = Hello::start(cluster).await.service;
        let mut named = cluster.objects().get(Kind::VIRTUAL_SERVICE, hello.namespace(), "hello-ingress").await;
        let named = named.as_mut().expect("a VirtualService");
        let spec = json!({
            "gateways": named["spec"]["gateways"],
            "hosts": ["named.example.com"],
            "http": [
                {"name": "first", "match": [{"uri": {"prefix": "/first"}}], "route": named["spec"]["http"][0]["route"]},
                {"route": named["spec"]["http"][0]["route"]},
            ],
        });
        let metadata = json!({"name": "named", "namespace": hello.namespace()});
        cluster
            .objects()
            .apply(json!({
                "apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": metadata, "spec": spec,
            }))
            .await;
        let path = |name: &str| {
            format!("/apis/networking.istio.io/v1/namespaces/{}/virtual-service/{name}", hello.namespace())
        };
        let said = |route: &Value| {
            let from = route["metadata"]["filter_metadata"]["istio"]["config"].as_str().map(str::to_owned);
            (from, route["name"].as_str().map(str::to_owned))
        };
        for gateway in cluster.gateways() {
            let hosts = wait::until("the VirtualService", async || {
                Some(gateway.virtual_hosts("named.example.com").await).filter(|hosts| hosts.len() == 2)
            })
            .await;
            for host in hosts {
                let routes: Vec<_> = host["routes"].as_array().expect("routes").iter().map(said).collect();
                let from = Some(path("named"));
                assert_eq!(routes, [(from.clone(), Some("first".to_owned())), (from, None)]);
            }
            for host in gateway.virtual_hosts(&hello.host()).await {
                for route in host["routes"].as_array().expect("routes") {
                    assert_eq!(said(route), (Some(path("hello-ingress")), None));
                }
            }
        }
    });
}
