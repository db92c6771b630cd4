//! An Envoy that only forwards: what clients would get without any mirror.

use std::net::SocketAddr;

use serde_json::{Value, json};

/// The listener's name.
pub const LISTENER: &str = "plain";

/// A bootstrap that sends everything to `upstream`, by HTTP/1.1.
pub fn bootstrap(upstream: SocketAddr) -> Value {
    let address = |address: SocketAddr| json!({"socket_address": {"address": address.ip().to_string(), "port_value": address.port()}});
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    let manager = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "plain",
        "http_filters": [{"name": "envoy.filters.http.router", "typed_config":
            {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}],
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"],
            "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "upstream"}}]}]},
    });
    json!({
        "admin": {"address": address(any_port)},
        "static_resources": {
            "listeners": [{
                "name": LISTENER,
                "address": address(any_port),
                "filter_chains": [{"filters": [
                    {"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}],
            }],
            "clusters": [{
                "name": "upstream",
                "type": "STATIC",
                "load_assignment": {"cluster_name": "upstream", "endpoints":
                    [{"lb_endpoints": [{"endpoint": {"address": address(upstream)}}]}]},
            }],
        },
    })
}
