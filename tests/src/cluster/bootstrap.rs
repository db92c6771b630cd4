//! The bootstrap of a gateway's Envoy, as Istio's agent writes it, less certificates and Istio's own filters.
//!
//! Which statistics exist, and which parts of their names become labels, is the part that matters most here.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::ISTIO_SYSTEM;

/// What a gateway's bootstrap says beyond what all gateways' say.
pub struct Node<'a> {
    /// The pod's name.
    pub pod: &'a str,
    /// The pod's address.
    pub address: &'a str,
    /// The version of Istio that the proxy claims to be.
    pub version: &'a str,
    /// The control plane.
    pub xds: SocketAddr,
    /// The admin interface.
    pub admin: SocketAddr,
    /// Where Prometheus would read.
    pub prometheus: SocketAddr,
}

/// A gateway's bootstrap.
pub fn bootstrap(node: &Node<'_>) -> Value {
    of_identity(node, &identity(node))
}

/// The bootstrap of the pod of a waypoint in a namespace. For want of certificates, what encrypts is replaced: Envoy keeps to
/// what its bootstrap says. What comes in at `inbound` is taken for a tunnel to `destination`, an address with a port.
pub fn of_waypoint(node: &Node<'_>, namespace: &str, waypoint: &str, inbound: SocketAddr, destination: &str) -> Value {
    const INTERNAL: &str = "envoy.bootstrap.internal_listener";
    const TYPE: &str = "type.googleapis.com/envoy.extensions.bootstrap.internal_listener.v3.InternalListener";
    let mut identity = identity(node);
    identity["id"] = json!(format!("waypoint~{}~{}.{namespace}~{namespace}.svc.cluster.local", node.address, node.pod));
    identity["cluster"] = json!(format!("{waypoint}.{namespace}"));
    let metadata = &mut identity["metadata"];
    metadata["NAMESPACE"] = json!(namespace);
    metadata["SERVICE_ACCOUNT"] = json!(waypoint);
    metadata["WORKLOAD_NAME"] = json!(waypoint);
    metadata["LABELS"] = waypoint_labels(waypoint);
    let mut bootstrap = of_identity(node, &identity);
    bootstrap["bootstrap_extensions"] = json!([{"name": INTERNAL, "typed_config": {"@type": TYPE}}]);
    let fixed = &mut bootstrap["static_resources"];
    if let Some(clusters) = fixed["clusters"].as_array_mut() {
        let tunnels = ["connect_originate", "inner_connect_originate", "outer_connect_originate"];
        clusters.extend(tunnels.map(|name| json!({"name": name, "type": "STATIC", "connect_timeout": "1s"})));
    }
    if let Some(listeners) = fixed["listeners"].as_array_mut() {
        listeners.push(tunnel(inbound, destination));
    }
    bootstrap
}

/// What ends tunnels, and tells the listener of the Services where each of them leads.
fn tunnel(at: SocketAddr, destination: &str) -> Value {
    const FILTERS: &str = "type.googleapis.com/envoy.extensions.filters.network";
    json!({
        "name": "connect_terminate",
        "address": address(at),
        "filter_chains": [{"filters": [
            {
                "name": "envoy.filters.network.set_filter_state",
                "typed_config": {
                    "@type": format!("{FILTERS}.set_filter_state.v3.Config"),
                    "on_new_connection": [{
                        "object_key": "envoy.filters.listener.original_dst.local_ip",
                        "format_string": {"text_format_source": {"inline_string": destination}},
                        "shared_with_upstream": "ONCE",
                    }],
                },
            },
            {
                "name": "envoy.filters.network.tcp_proxy",
                "typed_config": {
                    "@type": format!("{FILTERS}.tcp_proxy.v3.TcpProxy"),
                    "stat_prefix": "tunnel",
                    "cluster": "main_internal",
                },
            },
        ]}],
    })
}

/// The labels of a waypoint's pods, as Istio gives them.
pub fn waypoint_labels(waypoint: &str) -> Value {
    json!({
        "gateway.networking.k8s.io/gateway-name": waypoint,
        "gateway.networking.k8s.io/gateway-class-name": "istio-waypoint",
        "gateway.istio.io/managed": "istio.io-mesh-controller",
        "istio.io/rev": "default",
    })
}

fn of_identity(node: &Node<'_>, identity: &Value) -> Value {
    let ads = json!({"ads": {}, "initial_fetch_timeout": "0s", "resource_api_version": "V3"});
    json!({
        "node": identity,
        "stats_config": {
            "use_all_default_tags": false,
            "stats_tags": tags(),
            "stats_matcher": {"inclusion_list": {"patterns": kept()}},
        },
        "admin": {"address": address(node.admin)},
        "dynamic_resources": {
            "lds_config": ads,
            "cds_config": ads,
            "ads_config": {
                "api_type": "DELTA_GRPC",
                "set_node_on_first_message_only": true,
                "transport_api_version": "V3",
                "grpc_services": [{"envoy_grpc": {"cluster_name": "xds-grpc"}}],
            },
        },
        "static_resources": {
            "clusters": [control_plane(node.xds), admin_interface(node.admin)],
            "listeners": [prometheus(node.prometheus)],
        },
    })
}

fn identity(node: &Node<'_>) -> Value {
    json!({
        "id": format!("router~{}~{}.{ISTIO_SYSTEM}~{ISTIO_SYSTEM}.svc.cluster.local", node.address, node.pod),
        "cluster": format!("istio-ingressgateway.{ISTIO_SYSTEM}"),
        "metadata": {
            "NAMESPACE": ISTIO_SYSTEM,
            "NAME": node.pod,
            "CLUSTER_ID": "Kubernetes",
            "MESH_ID": "cluster.local",
            "ISTIO_VERSION": node.version,
            "SERVICE_ACCOUNT": "istio-ingressgateway-service-account",
            "WORKLOAD_NAME": "istio-ingressgateway",
            "INSTANCE_IPS": node.address,
            "UNPRIVILEGED_POD": "true",
            "LABELS": {"app": "istio-ingressgateway", "istio": "ingressgateway", "istio.io/rev": "default"},
        },
    })
}

fn tags() -> Value {
    let tags = [
        ("cluster_name", r"^cluster(\.(.+);)"),
        ("http_conn_manager_prefix", r"^http\.(((?:[_.[:digit:]\w]*|[_\[\]aAbBcCdDeEfF[:digit:]\w\:]*));\.)"),
        ("tcp_prefix", r"^tcp\.((.*?)\.)\w+?$"),
        ("response_code", r"_rq(_(\d{3}))$"),
        ("response_code_class", r"_rq(_(\dxx))$"),
        (
            "http_conn_manager_listener_prefix",
            r"^listener(?=\.).*?\.http\.(((?:[_.[:digit:]]*|[_\[\]aAbBcCdDeEfF[:digit:]]*))\.)",
        ),
        ("listener_address", r"^listener\.(((?:[_.[:digit:]]*|[_\[\]aAbBcCdDeEfF[:digit:]]*))\.)"),
        ("cache", r"(cache\.(.+?)\.)"),
        ("component", r"(component\.(.+?)\.)"),
        ("tag", r"(tag\.(.+?);\.)"),
        ("wasm_filter", r"(wasm_filter\.(.+?)\.)"),
    ];
    tags.iter().map(|(name, regex)| json!({"tag_name": name, "regex": regex})).collect()
}

fn kept() -> Value {
    let prefixes = [
        "reporter=",
        "cluster_manager",
        "listener_manager",
        "server",
        "cluster.xds-grpc",
        "wasm",
        "component",
        "istio",
    ];
    let suffixes = ["rbac.allowed", "rbac.denied", "shadow_allowed", "shadow_denied", "downstream_cx_active"];
    let prefixes = prefixes.iter().map(|prefix| json!({"prefix": prefix}));
    let suffixes = suffixes.iter().map(|suffix| json!({"suffix": suffix}));
    let regex = json!({"safe_regex": {"regex": r"vhost\..*\.route\..*"}});
    prefixes.chain(suffixes).chain([regex]).collect()
}

fn control_plane(xds: SocketAddr) -> Value {
    const OPTIONS: &str = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
    json!({
        "name": "xds-grpc",
        "alt_stat_name": "xds-grpc;",
        "type": "STATIC",
        "connect_timeout": "1s",
        "typed_extension_protocol_options": {OPTIONS: {
            "@type": format!("type.googleapis.com/{OPTIONS}"),
            "explicit_http_config": {"http2_protocol_options": {}},
        }},
        "load_assignment": endpoint("xds-grpc", json!({"address": address(xds)})),
    })
}

fn admin_interface(at: SocketAddr) -> Value {
    json!({
        "name": "prometheus_stats",
        "type": "STATIC",
        "connect_timeout": "0.25s",
        "load_assignment": endpoint("prometheus_stats", json!({"address": address(at)})),
    })
}

/// The listener on a pod's port 15090, which shows the statistics to everybody.
fn prometheus(at: SocketAddr) -> Value {
    json!({
        "name": "prometheus",
        "address": address(at),
        "filter_chains": [{"filters": [{
            "name": "envoy.filters.network.http_connection_manager",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
                "stat_prefix": "stats",
                "http_filters": [{
                    "name": "envoy.filters.http.router",
                    "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"},
                }],
                "route_config": {"virtual_hosts": [{"name": "backend", "domains": ["*"], "routes": [
                    {"match": {"prefix": "/stats/prometheus"}, "route": {"cluster": "prometheus_stats"}},
                ]}]},
            },
        }]}],
    })
}

fn endpoint(cluster: &str, endpoint: Value) -> Value {
    json!({"cluster_name": cluster, "endpoints": [{"lb_endpoints": [{"endpoint": endpoint}]}]})
}

fn address(address: SocketAddr) -> Value {
    json!({"socket_address": {"address": address.ip().to_string(), "port_value": address.port()}})
}
