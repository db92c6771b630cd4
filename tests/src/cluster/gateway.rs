//! A gateway: an Envoy of Istio's kind, the pod that it is, and the Services before it.
//!
//! All pods share one loopback. Each listens on ports of its own: the Services' target ports are names, which each pod
//! gives to other numbers.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::bootstrap::{Node, bootstrap};
use super::folder::Folder;
use super::istio::Istio;
use super::kubernetes::{Behind, Kubernetes};
use super::objects::Objects;
use super::{ISTIO_SYSTEM, ports};
use crate::client::{Protocol, Request, once};
use crate::envoy::{self, Binary, Envoy};

/// Worker threads of each Envoy.
pub(super) const WORKERS: usize = 2;

/// Listeners that were replaced are gone after two seconds, and with them what they alone had loaded. Istio's gateways take 45.
pub(super) const DRAIN: [&str; 2] = ["--drain-time-s", "2"];

/// A running gateway pod.
#[derive(Debug)]
pub struct Gateway {
    pod: String,
    envoy: Envoy,
    external: SocketAddr,
    local: SocketAddr,
}

/// Starts a gateway with the newest and one with the oldest of the Envoys under test.
pub async fn start_all(folder: &Folder, istio: &Istio, kubernetes: &Kubernetes, objects: &Objects) -> Vec<Gateway> {
    for object in services() {
        objects.apply(object).await;
    }
    let binaries = envoy::binaries();
    let chosen = [&binaries[binaries.len() - 1], &binaries[0]];
    let mut gateways = Vec::new();
    for (index, binary) in chosen.into_iter().enumerate() {
        gateways.push(Gateway::start(folder, index, binary, istio, kubernetes, objects).await);
    }
    gateways
}

impl Gateway {
    async fn start(
        folder: &Folder,
        index: usize,
        binary: &'static Binary,
        istio: &Istio,
        kubernetes: &Kubernetes,
        objects: &Objects,
    ) -> Self {
        let name = format!("istio-ingressgateway-{index}");
        // Nothing listens there; Istio tells pods apart by it.
        let address = format!("127.0.1.{}", index + 1);
        let [external, local, admin, prometheus] =
            std::array::from_fn(|_| SocketAddr::from(([127, 0, 0, 1], ports::free())));
        let version = istio_version(binary);
        let pod = pod(&name, &version, external.port(), local.port());
        kubernetes.run_pod(objects, pod, &address).await;

        let node = Node { pod: &name, address: &address, version: &version, xds: istio.xds(), admin, prometheus };
        let envoy = Envoy::start_in(folder.path(), binary, &bootstrap(&node), WORKERS, &DRAIN).await;
        let ports = vec![(15000, admin), (15090, prometheus), (8080, external), (8081, local)];
        kubernetes.stand_behind(ISTIO_SYSTEM, &name, &Behind { ports, log: envoy.file("envoy.log") });
        Self { pod: name, envoy, external, local }
    }

    /// The pod's name, in [`ISTIO_SYSTEM`]. Port 15000 leads to the admin interface.
    pub fn pod(&self) -> &str {
        &self.pod
    }

    /// Its Envoy: admin interface, statistics, log.
    pub fn envoy(&self) -> &Envoy {
        &self.envoy
    }

    /// Where requests from outside the cluster arrive.
    pub fn external(&self) -> SocketAddr {
        self.external
    }

    /// Where requests from inside the cluster arrive.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// What the admin interface dumps of one kind of resources, for example `dynamic_route_configs`.
    pub async fn dump(&self, resource: &str) -> Value {
        let text = self.envoy.get(&format!("/config_dump?resource={resource}")).await;
        serde_json::from_str(&text).expect("JSON from the admin interface")
    }

    /// The virtual hosts of its live routes that serve `domain`: usually one on each port.
    pub async fn virtual_hosts(&self, domain: &str) -> Vec<Value> {
        let dump = self.dump("dynamic_route_configs").await;
        let configs = dump["configs"].as_array().into_iter().flatten();
        let hosts = configs.flat_map(|config| config["route_config"]["virtual_hosts"].as_array().into_iter().flatten());
        let serves = |host: &&Value| host["domains"].as_array().is_some_and(|domains| domains.contains(&json!(domain)));
        hosts.filter(serves).cloned().collect()
    }

    /// Whether extension discovery has delivered anything that a listener, perhaps an old one, still holds. Also what was
    /// rejected counts.
    pub async fn holds_extensions(&self) -> bool {
        // Where there is none, the page is an error.
        let request = Request::get("/config_dump?resource=ecds_filters");
        let answer = once(self.envoy.admin(), Protocol::Http1, &request).await.expect("the admin interface answers");
        answer.status == 200 && answer.text().contains("EcdsFilterConfig")
    }

    /// The log.
    pub(super) fn log(&self) -> PathBuf {
        self.envoy.file("envoy.log")
    }
}

/// The version of Istio whose proxy is built from this Envoy: 1.28 for 1.36, 1.32 for 1.40.
pub(super) fn istio_version(binary: &Binary) -> String {
    let minor = binary.version.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
    format!("1.{}.0", minor.and_then(|minor| minor.checked_sub(8)).expect("the version of an Envoy"))
}

fn pod(name: &str, version: &str, external: u16, local: u16) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": ISTIO_SYSTEM,
            "labels": {
                "app": "istio-ingressgateway",
                "istio": "ingressgateway",
                "istio.io/rev": "default",
                "service.istio.io/canonical-name": "istio-ingressgateway",
            },
        },
        "spec": {"containers": [{
            "name": "istio-proxy",
            "image": format!("istio/proxyv2:{version}"),
            "ports": [
                {"name": "http-external", "containerPort": external},
                {"name": "http-local", "containerPort": local},
                {"name": "http-envoy-prom", "containerPort": 15090},
            ],
        }]},
    })
}

/// The two Services before the gateways, as Istio's chart and net-istio install them.
fn services() -> [Value; 2] {
    let service = |name: &str, labels: Value, ports: Value| {
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": ISTIO_SYSTEM, "labels": labels},
            "spec": {"selector": {"istio": "ingressgateway"}, "ports": ports},
        })
    };
    [
        service(
            "istio-ingressgateway",
            json!({"app": "istio-ingressgateway", "istio": "ingressgateway"}),
            json!([
                {"name": "http2", "port": 80, "targetPort": "http-external"},
                // Knative's local gateway is on this port of the pods.
                {"name": "http-local", "port": 8081, "targetPort": "http-local"},
            ]),
        ),
        service(
            "knative-local-gateway",
            json!({"experimental.istio.io/disable-gateway-port-translation": "true"}),
            json!([
                {"name": "http2", "port": 80, "targetPort": "http-local"},
            ]),
        ),
    ]
}
