//! A whole Envoy for one machine: listener, route, clusters and admin page around the pieces of one mirror.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::cluster::{Options, cluster};
use super::endpoint::Endpoint;
use super::observer::{Discovery, upstream_filters};
use super::{MirrorSpec, metadata, policy, selector, type_url};

/// The cluster of the primary.
pub const PRIMARY: &str = "primary";
/// The cluster of the candidate, which the mirror has to name.
pub const CANDIDATE: &str = "candidate";
/// The cluster of the secondary, which the mirror has to name where it has one.
pub const SECONDARY: &str = "secondary";
/// The name of the listener, of its statistics and of its route configuration.
pub const LISTENER: &str = "mirror";

/// What a static Envoy is made of.
#[derive(Clone, Copy, Debug)]
pub struct StaticEnvoy<'a> {
    /// The mirror; its targets are [`CANDIDATE`] and [`SECONDARY`].
    pub spec: &'a MirrorSpec,
    /// The server that clients are answered by.
    pub primary: &'a Endpoint,
    /// The `Host` that the primary is sent; the client's where `None`.
    pub primary_host: Option<&'a str>,
    /// The server under test.
    pub candidate: &'a Endpoint,
    /// The primary's version once more.
    pub secondary: Option<&'a Endpoint>,
    /// Where clients connect; port 0 for a free one.
    pub listen: SocketAddr,
    /// Where the admin page is; port 0 for a free one.
    pub admin: SocketAddr,
    /// The file of the observer's extension configuration, see [`discovery_response`].
    pub observer: &'a Path,
    /// The file of the route configuration, see [`discovery_response`]; built in where `None`. Envoy follows changes of it.
    pub routes: Option<&'a Path>,
    /// The file of certificate authorities by which https servers are verified.
    pub trust: Option<&'a Path>,
}

/// How much longer than the module Envoy waits for a shadow, so that the module's verdict on a slow one stands.
const PATIENCE: Duration = Duration::from_secs(5);

impl StaticEnvoy<'_> {
    /// Envoy's bootstrap.
    pub fn bootstrap(&self) -> Value {
        json!({
            "node": { "id": super::NAME, "cluster": super::NAME },
            "admin": { "address": address(self.admin) },
            "static_resources": {
                "listeners": [self.listener()],
                "clusters": self.clusters(),
            },
        })
    }

    /// The route configuration with the mirror's pieces.
    pub fn route_configuration(&self) -> Value {
        let mut action = json!({
            "cluster": PRIMARY,
            // A client waits as long as it likes, as it would without a proxy. Shadows are given up by their clusters.
            "timeout": "0s",
            "idle_timeout": "0s",
            "request_mirror_policies": policy::policies(self.spec),
        });
        if let Some(host) = self.primary_host {
            action["host_rewrite_literal"] = json!(host);
        }
        json!({
            "name": LISTENER,
            "virtual_hosts": [{
                "name": LISTENER,
                "domains": ["*"],
                "routes": [{
                    "name": self.spec.mirror.name,
                    "match": { "prefix": "/" },
                    "route": action,
                    "metadata": metadata::metadata(self.spec),
                    "typed_per_filter_config": selector::per_route(self.spec),
                }],
            }],
        })
    }

    fn listener(&self) -> Value {
        let mut manager = json!({
            "@type": type_url("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
            "stat_prefix": LISTENER,
            "codec_type": "AUTO",
            "generate_request_id": true,
            "stream_idle_timeout": "0s",
            "server_header_transformation": "PASS_THROUGH",
            "http_protocol_options": {
                "enable_trailers": true,
                "accept_http_10": true,
                "default_host_for_http_10": "localhost",
            },
            "upgrade_configs": [{ "upgrade_type": "websocket" }],
            "http_filters": [
                selector::filter(),
                {
                    "name": "envoy.filters.http.router",
                    "typed_config": {
                        "@type": type_url("envoy.extensions.filters.http.router.v3.Router"),
                        // Clients get the primary's answer as it is.
                        "suppress_envoy_headers": true,
                        "upstream_http_filters": upstream_filters(Discovery::File(self.observer)),
                    },
                },
            ],
        });
        match self.routes {
            None => manager["route_config"] = self.route_configuration(),
            Some(path) => {
                manager["rds"] = json!({
                    "route_config_name": LISTENER,
                    "config_source": { "path_config_source": { "path": path }, "resource_api_version": "V3" },
                });
            }
        }
        json!({
            "name": LISTENER,
            "address": address(self.listen),
            "filter_chains": [{ "filters": [{
                "name": "envoy.filters.network.http_connection_manager",
                "typed_config": manager,
            }] }],
        })
    }

    fn clusters(&self) -> Vec<Value> {
        let direct = Options { trust: self.trust, give_up: None };
        let ttl = Duration::from_millis(self.spec.mirror.caps.pair_ttl_ms);
        let shadow = Options { give_up: Some(ttl + PATIENCE), ..direct };
        let mut clusters = vec![cluster(PRIMARY, self.primary, direct), cluster(CANDIDATE, self.candidate, shadow)];
        clusters.extend(self.secondary.map(|secondary| cluster(SECONDARY, secondary, shadow)));
        clusters
    }
}

/// The content of a file by which Envoy discovers `resource`. Replace such a file by moving a new one over it.
///
/// `message` is the resource's type, for example [`EXTENSION`] or [`ROUTES`].
pub fn discovery_response(message: &str, mut resource: Value) -> Value {
    resource["@type"] = json!(type_url(message));
    json!({ "resources": [resource] })
}

/// The type of an extension configuration, for [`discovery_response`].
pub const EXTENSION: &str = "envoy.config.core.v3.TypedExtensionConfig";
/// The type of a route configuration, for [`discovery_response`].
pub const ROUTES: &str = "envoy.config.route.v3.RouteConfiguration";

fn address(address: SocketAddr) -> Value {
    json!({ "socket_address": { "address": address.ip(), "port_value": address.port() } })
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn a_whole_envoy() {
        let endpoint = |url: &str| url.parse::<Endpoint>().expect("a URL");
        let mut spec = fixture::smallest();
        spec.candidate_host = Some("127.0.0.1:8082".into());
        let (primary, candidate) = (endpoint("http://127.0.0.1:8081"), endpoint("http://127.0.0.1:8082"));
        let envoy = StaticEnvoy {
            spec: &spec,
            primary: &primary,
            primary_host: Some("127.0.0.1:8081"),
            candidate: &candidate,
            secondary: None,
            listen: "127.0.0.1:0".parse().expect("an address"),
            admin: "127.0.0.1:0".parse().expect("an address"),
            observer: Path::new("/run/observer.json"),
            routes: None,
            trust: None,
        };
        insta::assert_json_snapshot!(envoy.bootstrap());

        let by_file = StaticEnvoy { routes: Some(Path::new("/run/routes.json")), ..envoy };
        let manager = &by_file.bootstrap()["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0];
        assert_eq!(manager["typed_config"]["rds"]["config_source"]["path_config_source"]["path"], "/run/routes.json");
        assert!(manager["typed_config"].get("route_config").is_none());
        let file = discovery_response(ROUTES, by_file.route_configuration());
        assert_eq!(file["resources"][0]["name"], LISTENER);
    }
}
