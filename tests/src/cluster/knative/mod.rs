//! Knative Serving with net-istio: what its installation leaves, and what its controllers write for a Service.

mod service;
mod shapes;

use serde_json::json;

use super::objects::Objects;

pub use service::Service;
pub use shapes::Traffic;

const SYSTEM: &str = "knative-serving";

/// The gateways by which requests come from outside and from inside the cluster.
const EXTERNAL_GATEWAY: &str = "knative-ingress-gateway";
const LOCAL_GATEWAY: &str = "knative-local-gateway";

/// The domain of external hosts.
pub const DOMAIN: &str = "example.com";

/// Makes the config maps and gateways of an installation.
pub async fn install(objects: &Objects) {
    let gateways = |name: &str, service: &str| {
        format!("- name: {name}\n  namespace: {SYSTEM}\n  service: {service}.istio-system.svc.cluster.local\n")
    };
    let maps = [
        (
            "config-istio",
            json!({
                "external-gateways": gateways(EXTERNAL_GATEWAY, "istio-ingressgateway"),
                "local-gateways": gateways(LOCAL_GATEWAY, "knative-local-gateway"),
            }),
        ),
        ("config-network", json!({"ingress-class": shapes::INGRESS_CLASS})),
        ("config-domain", json!({DOMAIN: ""})),
    ];
    for (name, data) in maps {
        let metadata =
            json!({"name": name, "namespace": SYSTEM, "labels": {"app.kubernetes.io/name": "knative-serving"}});
        objects.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})).await;
    }
    for (name, port) in [(EXTERNAL_GATEWAY, 80), (LOCAL_GATEWAY, 8081)] {
        objects
            .apply(json!({
                "apiVersion": "networking.istio.io/v1",
                "kind": "Gateway",
                "metadata": {"name": name, "namespace": SYSTEM},
                "spec": {
                    "selector": {"istio": "ingressgateway"},
                    "servers": [{
                        // Istio's gateways listen on all addresses; these must not be reached from elsewhere.
                        "bind": "127.0.0.1",
                        "hosts": ["*"],
                        "port": {"name": "http", "number": port, "protocol": "HTTP"},
                    }],
                },
            }))
            .await;
    }
}
