//! Envoy's clusters for servers that a user names by URL.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::endpoint::{Endpoint, Scheme};
use super::type_url;

/// How a cluster is to behave, beyond where it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The file of certificate authorities by which https servers are verified; needed for https only.
    pub trust: Option<&'a Path>,
    /// When a request is given up; never where `None`.
    pub give_up: Option<Duration>,
}

/// A cluster of one server.
pub fn cluster(name: &str, endpoint: &Endpoint, options: Options<'_>) -> Value {
    let mut cluster = json!({
        "name": name,
        "connect_timeout": "5s",
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{ "lb_endpoints": [{ "endpoint": { "address": { "socket_address": {
                "address": endpoint.host, "port_value": endpoint.port,
            } } } }] }],
        },
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": protocol(endpoint.scheme, options.give_up),
        },
        // The proxy must not be narrower than the servers are without it.
        "circuit_breakers": { "thresholds": [{
            "max_connections": 100_000, "max_pending_requests": 100_000, "max_requests": 100_000,
        }] },
    });
    if endpoint.ip().is_some() {
        cluster["type"] = json!("STATIC");
    } else {
        // Both families, tried side by side: `localhost` is often one address to the server and another to the resolver.
        cluster["type"] = json!("LOGICAL_DNS");
        cluster["dns_lookup_family"] = json!("ALL");
    }
    if endpoint.scheme == Scheme::Https {
        cluster["transport_socket"] = tls(endpoint, options.trust);
    }
    cluster
}

fn protocol(scheme: Scheme, give_up: Option<Duration>) -> Value {
    let http1 = json!({ "enable_trailers": true });
    let mut options = match scheme {
        Scheme::Http => json!({ "explicit_http_config": { "http_protocol_options": http1 } }),
        Scheme::H2c => json!({ "explicit_http_config": { "http2_protocol_options": {} } }),
        Scheme::Https => json!({ "auto_config": { "http_protocol_options": http1, "http2_protocol_options": {} } }),
    };
    options["@type"] = json!(type_url("envoy.extensions.upstreams.http.v3.HttpProtocolOptions"));
    // Servers drop idle connections after some seconds. Envoy does so first: a request that is sent while the server lets
    // go would fail, which no client would see without a proxy.
    let mut common = json!({ "idle_timeout": "1s" });
    if let Some(limit) = give_up {
        common["max_stream_duration"] = json!(format!("{}.{:03}s", limit.as_secs(), limit.subsec_millis()));
    }
    options["common_http_protocol_options"] = common;
    options
}

fn tls(endpoint: &Endpoint, trust: Option<&Path>) -> Value {
    let mut context = json!({ "@type": type_url("envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext") });
    if endpoint.ip().is_none() {
        context["sni"] = json!(endpoint.host);
    }
    if let Some(file) = trust {
        let san_type = if endpoint.ip().is_some() { "IP_ADDRESS" } else { "DNS" };
        context["common_tls_context"] = json!({ "validation_context": {
            "trusted_ca": { "filename": file },
            "match_typed_subject_alt_names": [{ "san_type": san_type, "matcher": { "exact": endpoint.host } }],
        } });
    }
    json!({ "name": "envoy.transport_sockets.tls", "typed_config": context })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_of_each_scheme() {
        let trust = Some(Path::new("/etc/ssl/ca.pem"));
        let give_up = Some(Duration::from_millis(65_500));
        let made = |name, url: &str, options| cluster(name, &url.parse().expect("a URL"), options);
        insta::assert_json_snapshot!([
            made("address", "http://127.0.0.1:8080", Options::default()),
            made("name", "h2c://localhost:50051", Options { give_up, ..Options::default() }),
            made("tls", "https://example.com", Options { trust, ..Options::default() }),
            made("tls-address", "https://[::1]:8443", Options { trust, ..Options::default() }),
        ]);
    }
}
