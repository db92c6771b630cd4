//! A waypoint of an ambient mesh: an Envoy, the pod that it is, and the Gateway and Service that stand for it.
//!
//! Ambient is an option of the whole control plane. Here one of its own has it, so that gateways go on as before. There is no
//! ztunnel, nor any certificate: what comes in at a port is taken for what ztunnel would send on to one Service.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::bootstrap::{self, Node};
use super::gateway::{DRAIN, WORKERS, istio_version};
use super::istio::Discovery;
use super::kubernetes::Behind;
use super::{Cluster, folder, ports};
use crate::envoy::{self, Envoy};

/// A running waypoint. It ends when this is dropped.
#[derive(Debug)]
pub struct Waypoint {
    // The first to end is the Envoy.
    envoy: Envoy,
    inbound: SocketAddr,
    _discovery: Discovery,
}

impl Waypoint {
    /// Starts the waypoint `name` with one pod of the newest Envoy. Whatever has the label `istio.io/use-waypoint` is served
    /// by it. `destination` is the address and port of the Service that clients ask for.
    pub async fn start(cluster: &Cluster, namespace: &str, name: &str, destination: &str) -> Self {
        let definitions = folder::tool("crds").join("gateway-api");
        let definitions = definitions.to_str().expect("a path in UTF-8");
        cluster.admin().kubectl_ok(&["apply", "--server-side", "--filename", definitions]);
        cluster.admin().kubectl_ok(&["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
        for object in objects(namespace, name) {
            cluster.objects.apply(object).await;
        }
        let ambient = [
            ("PILOT_ENABLE_AMBIENT", "true"),
            // What it would write is written here, once.
            ("PILOT_ENABLE_GATEWAY_API_DEPLOYMENT_CONTROLLER", "false"),
            ("PILOT_ENABLE_GATEWAY_API_STATUS", "false"),
            ("AMBIENT_ENABLE_STATUS", "false"),
        ];
        let discovery = Discovery::start(&cluster.folder, &cluster.kubernetes, "istiod-ambient", &ambient).await;

        let binaries = envoy::binaries();
        let binary = &binaries[binaries.len() - 1];
        let (pod, address, version) = (format!("{name}-0"), "127.0.1.50", istio_version(binary));
        let [admin, prometheus, inbound] = std::array::from_fn(|_| ([127, 0, 0, 1], ports::free()).into());
        cluster.kubernetes.run_pod(&cluster.objects, pod_of(namespace, name, &pod, &version), address).await;
        let node = Node { pod: &pod, address, version: &version, xds: discovery.xds, admin, prometheus };
        let bootstrap = bootstrap::of_waypoint(&node, namespace, name, inbound, destination);
        let envoy = Envoy::start_in(cluster.folder(), binary, &bootstrap, WORKERS, &DRAIN).await;
        let behind = Behind { ports: vec![(15000, admin), (15090, prometheus)], log: envoy.file("envoy.log") };
        cluster.kubernetes.stand_behind(namespace, &pod, &behind);
        Self { envoy, inbound, _discovery: discovery }
    }

    /// Its Envoy: admin interface, statistics, log.
    pub fn envoy(&self) -> &Envoy {
        &self.envoy
    }

    /// Where requests arrive.
    pub fn inbound(&self) -> SocketAddr {
        self.inbound
    }

    /// What the admin interface dumps of one kind of resources, for example `dynamic_listeners`.
    pub async fn dump(&self, resource: &str) -> Value {
        let text = self.envoy.get(&format!("/config_dump?resource={resource}")).await;
        serde_json::from_str(&text).unwrap_or_default()
    }
}

/// The Gateway with its class, as `istioctl waypoint apply` makes them, what Istio runs for it, and what a stock Envoy needs.
fn objects(namespace: &str, name: &str) -> [Value; 4] {
    let metadata = json!({"name": name, "namespace": namespace});
    let remove = |filter: &str| {
        json!({
            "applyTo": "HTTP_FILTER",
            "match": {
                "context": "SIDECAR_INBOUND",
                "listener": {"filterChain": {"filter": {
                    "name": "envoy.filters.network.http_connection_manager", "subFilter": {"name": filter},
                }}},
            },
            "patch": {"operation": "REMOVE"},
        })
    };
    [
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": "istio-waypoint"},
            "spec": {"controllerName": "istio.io/mesh-controller"},
        }),
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": name, "namespace": namespace, "labels": bootstrap::waypoint_labels(name)},
            "spec": {
                "selector": {"gateway.networking.k8s.io/gateway-name": name},
                "ports": [{"name": "mesh", "port": 15008, "appProtocol": "all"}],
            },
        }),
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": metadata,
            "spec": {
                "gatewayClassName": "istio-waypoint",
                "listeners": [{
                    "name": "mesh", "port": 15008, "protocol": "HBONE", "allowedRoutes": {"namespaces": {"from": "Same"}},
                }],
            },
            "status": {
                "addresses": [{"type": "Hostname", "value": format!("{name}.{namespace}.svc.cluster.local")}],
            },
        }),
        // Filters that only Istio's proxy has.
        json!({
            "apiVersion": "networking.istio.io/v1alpha3", "kind": "EnvoyFilter",
            "metadata": {"name": format!("{name}-stock"), "namespace": namespace},
            "spec": {
                "targetRefs": [{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": name}],
                "configPatches": [
                    remove("waypoint_downstream_peer_metadata"), remove("waypoint_upstream_peer_metadata"),
                ],
            },
        }),
    ]
}

fn pod_of(namespace: &str, waypoint: &str, pod: &str, version: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": pod, "namespace": namespace, "labels": bootstrap::waypoint_labels(waypoint)},
        "spec": {"containers": [{
            "name": "istio-proxy",
            "image": format!("istio/proxyv2:{version}"),
            "ports": [{"name": "mesh", "containerPort": 15008}],
        }]},
    })
}
