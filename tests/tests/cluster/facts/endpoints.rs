//! How a gateway tells whether a cluster is there and has endpoints.

use mirror_tests::client::{Protocol, Request, once};
use mirror_tests::cluster::{Gateway, on_cluster};
use mirror_tests::wait;
use serde_json::{Value, json};

use super::Hello;

/// The endpoints' health that a gateway knows of a cluster; `None` where the cluster is not there.
async fn health(gateway: &Gateway, cluster: &str) -> Option<Vec<String>> {
    let escaped = cluster.replace('|', "%5C%7C").replace('.', "%5C.");
    let path = format!("/config_dump?resource=dynamic_endpoint_configs&include_eds&name_regex=%5E{escaped}%24");
    let dump: Value = serde_json::from_str(&gateway.envoy().get(&path).await).expect("JSON");
    let configs = dump["configs"].as_array().cloned().unwrap_or_default();
    assert!(configs.len() <= 1, "{configs:#?}");
    let config = configs.into_iter().next()?;
    let localities = config["endpoint_config"]["endpoints"].as_array().cloned().unwrap_or_default();
    let endpoints =
        localities.iter().flat_map(|locality| locality["lb_endpoints"].as_array().cloned().unwrap_or_default());
    Some(endpoints.map(|endpoint| endpoint["health_status"].as_str().unwrap_or_default().to_owned()).collect())
}

#[test]
fn the_endpoints_of_a_cluster_are_dumped_by_its_name() {
    on_cluster(async |cluster| {
        let hello = Hello::start(cluster).await.service;
        for gateway in cluster.gateways() {
            assert_eq!(health(gateway, &hello.envoy_cluster("v2")).await, Some(vec!["HEALTHY".to_owned()]));
            assert_eq!(health(gateway, &hello.envoy_cluster("v3")).await, None);
        }
        // A revision without pods: a Service without endpoints.
        let name = format!("empty.{}.svc.cluster.local", hello.namespace());
        cluster
            .objects()
            .apply(json!({
                "apiVersion": "networking.istio.io/v1",
                "kind": "ServiceEntry",
                "metadata": {"name": "empty", "namespace": hello.namespace()},
                "spec": {
                    "hosts": [name],
                    "ports": [{"number": 80, "name": "http", "protocol": "HTTP"}],
                    "resolution": "STATIC",
                    "workloadSelector": {"labels": {"nobody": "has this"}},
                },
            }))
            .await;
        for gateway in cluster.gateways() {
            let found =
                wait::until("the cluster", async || health(gateway, &format!("outbound|80||{name}")).await).await;
            assert_eq!(found, Vec::<String>::new());
        }
    });
}

/// The status with which a gateway answers when endpoints are asked for by this expression.
async fn status(gateway: &Gateway, expression: &str) -> u16 {
    let path = format!("/config_dump?resource=dynamic_endpoint_configs&include_eds&name_regex={expression}");
    let answer = once(gateway.envoy().admin(), Protocol::Http1, &Request::get(&path)).await;
    answer.expect("the admin interface answers").status
}

#[test]
fn an_expression_for_names_has_at_most_100_instructions() {
    on_cluster(async |cluster| {
        for gateway in cluster.gateways() {
            assert_eq!(status(gateway, &"x".repeat(96)).await, 200);
            assert_eq!(status(gateway, &"x".repeat(97)).await, 400);
            assert_eq!(status(gateway, &format!("{}.*", "x".repeat(80))).await, 200);
        }
    });
}
