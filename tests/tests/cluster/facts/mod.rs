//! Facts about Istio and Envoy that the product rests on, one theme a file. They hold on the oldest and the newest Envoy.

mod copies;
mod endpoints;
mod module;
mod routes;

use kubectl_mirror::envoy::{MirrorSpec, Selection, metadata, policy, selector};
use kubectl_mirror::istio::{Install, InstalledBy, Workload, Wrapping, install};
use mirror_core::config::{Knative, Mirror, Target, VERSION, safe_methods};
use mirror_tests::backend::{Backend, Reply};
use mirror_tests::cluster::{Cluster, ISTIO_SYSTEM, Service, Traffic};
use mirror_tests::wait;
use serde_json::{Value, json};

/// A Service whose users are served by v1, and whose v2 has a tag.
pub struct Hello {
    pub service: Service,
    v1: Backend,
    v2: Backend,
}

impl Hello {
    pub async fn start(cluster: &'static Cluster) -> Self {
        let namespace = cluster.namespace("facts").await;
        let (v1, v2) = (Backend::constant(Reply::ok("1")).await, Backend::constant(Reply::ok("2")).await);
        let mut service = Service::new(cluster, &namespace, "hello");
        service.revision("v1", v1.address()).await;
        service.revision("v2", v2.address()).await;
        service.traffic(&[Traffic::percent("v1", 100), Traffic::tag("v2", "v2")]).await;
        Self { service, v1, v2 }
    }
}

/// The EnvoyFilter that puts a module into the gateways.
pub fn installation(module: &[u8]) -> Value {
    let labels = [("istio".to_owned(), "ingressgateway".to_owned())].into();
    let workload = Workload { namespace: ISTIO_SYSTEM.to_owned(), labels };
    let what = Install { module, wrapping: Wrapping::Matched, generation: 0, by: InstalledBy::Install };
    let filter = install(&workload, what);
    serde_json::to_value(filter).expect("JSON")
}

/// Mirrors all that may be copied of what comes for the external host to v2, and waits until the gateways do.
async fn mirror(cluster: &Cluster, hello: &Service) {
    let knative = Knative { revision: hello.revision_name("v2"), namespace: hello.namespace().to_owned() };
    let mirror = Mirror {
        version: VERSION,
        name: format!("{}/hello", hello.namespace()),
        candidate: Target { cluster: hello.envoy_cluster("v2"), knative: Some(knative) },
        secondary: None,
        hosts: vec![hello.host()],
        methods: safe_methods(),
        sampling: Default::default(),
        split: false,
        rules: Default::default(),
        caps: Default::default(),
    };
    let spec = MirrorSpec { mirror, selection: Selection::everything(), candidate_host: None, secondary_host: None };
    let value = json!({
        "metadata": metadata::metadata(&spec),
        "typed_per_filter_config": selector::per_route(&spec),
        "route": {"request_mirror_policies": policy::policies(&spec)},
    });
    let routes = json!({"vhost": {"domainName": hello.host(), "route": {"action": "ROUTE"}}});
    let filter = json!({
        "apiVersion": "networking.istio.io/v1alpha3",
        "kind": "EnvoyFilter",
        "metadata": {"name": format!("mirror-{}", hello.namespace()), "namespace": ISTIO_SYSTEM},
        "spec": {
            "workloadSelector": {"labels": {"istio": "ingressgateway"}},
            "configPatches": [{
                "applyTo": "HTTP_ROUTE",
                "match": {"context": "GATEWAY", "routeConfiguration": routes},
                "patch": {"operation": "MERGE", "value": value},
            }],
        },
    });
    cluster.objects().apply(filter).await;
    for gateway in cluster.gateways() {
        wait::until("the mirror in the live routes", async || {
            let hosts = gateway.virtual_hosts(&hello.host()).await;
            let patched = |host: &Value| host.to_string().contains("request_mirror_policies");
            hosts.iter().all(patched).then_some(())
        })
        .await;
    }
}
