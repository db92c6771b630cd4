//! Whether a cluster is there in an Envoy, and how many of its endpoints are healthy.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

/// What an Envoy has of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Endpoints {
    /// No such cluster: copies to it are dropped without a word.
    #[default]
    Absent,
    /// The cluster, but nobody healthy in it.
    NoEndpoints,
    /// The cluster, with so many healthy endpoints.
    Ready(usize),
}

impl fmt::Display for Endpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("absent"),
            Self::NoEndpoints => f.write_str("no endpoints"),
            Self::Ready(1) => f.write_str("1 endpoint"),
            Self::Ready(n) => write!(f, "{n} endpoints"),
        }
    }
}

/// The page with the endpoints of a cluster, and of others that begin alike where its name is long: Envoy lists every active
/// cluster there, also one without any. (`/clusters` can be filtered from Envoy 1.37 on only.) `kind` is `dynamic` for what
/// a control plane brought, `static` for what stands in the bootstrap.
pub(super) fn path(kind: &str, cluster: &str) -> String {
    format!("/config_dump?include_eds&resource={kind}_endpoint_configs&name_regex={}", encode(&pattern(cluster)))
}

/// Characters of a name that are asked for. Envoy refuses an expression that RE2 needs more than 100 instructions for:
/// about one for each character, and a dozen for the rest of a name.
const ASKED: usize = 80;

/// A regular expression that matches this name, as a whole or by its beginning.
fn pattern(name: &str) -> String {
    match name.char_indices().nth(ASKED).and_then(|(end, _)| name.get(..end)) {
        Some(beginning) => escape(beginning) + ".*",
        None => escape(name),
    }
}

/// Reads that page.
pub(super) fn read(dump: Dump) -> BTreeMap<String, Endpoints> {
    let mut clusters = BTreeMap::new();
    for Config { endpoint_config: Assignment { cluster_name, endpoints } } in dump.configs {
        let all = endpoints.iter().flat_map(|group| &group.lb_endpoints);
        let healthy =
            all.filter(|endpoint| matches!(endpoint.health_status.as_deref(), None | Some("HEALTHY" | "DEGRADED")));
        let found = match healthy.count() {
            0 => Endpoints::NoEndpoints,
            n => Endpoints::Ready(n),
        };
        clusters.insert(cluster_name, found);
    }
    clusters
}

#[derive(Deserialize)]
pub(super) struct Dump {
    #[serde(default)]
    configs: Vec<Config>,
}

#[derive(Deserialize)]
struct Config {
    endpoint_config: Assignment,
}

#[derive(Deserialize)]
struct Assignment {
    #[serde(default)]
    cluster_name: String,
    #[serde(default)]
    endpoints: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    lb_endpoints: Vec<Endpoint>,
}

#[derive(Deserialize)]
struct Endpoint {
    health_status: Option<String>,
}

/// A name as a regular expression (RE2) that matches it alone.
fn escape(name: &str) -> String {
    name.chars().flat_map(|c| (!c.is_ascii_alphanumeric()).then_some('\\').into_iter().chain([c])).collect()
}

/// Percent-encodes a query's value.
fn encode(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn healthy_endpoints_are_counted() {
        let dump = include_str!("../../fixtures/cluster/envoy-endpoints.json");
        let found = read(serde_json::from_str(dump).expect("a dump"));
        let found: Vec<_> = found.iter().map(|(cluster, endpoints)| (cluster.as_str(), *endpoints)).collect();
        assert_eq!(
            found,
            [
                ("outbound|80||cart-v2.shop.svc.cluster.local", Endpoints::NoEndpoints),
                ("outbound|80||hello-v2.shop.svc.cluster.local", Endpoints::Ready(3)),
                ("outbound|80||next-v2.shop.svc.cluster.local", Endpoints::NoEndpoints),
            ]
        );
        // What Envoy shows where nothing matches.
        assert!(read(serde_json::from_str("{}").expect("a dump")).is_empty());
    }

    #[test]
    fn names_are_asked_for_literally_and_long_ones_by_their_beginning() {
        let page = "/config_dump?include_eds&resource=dynamic_endpoint_configs&name_regex=";
        let expected = format!("{page}outbound%5C%7C80%5C%7C%5C%7Ca%5C-b%5C.c");
        assert_eq!(path("dynamic", "outbound|80||a-b.c"), expected);
        assert_eq!(path("dynamic", &"x".repeat(ASKED)), format!("{page}{}", "x".repeat(ASKED)));
        assert_eq!(path("dynamic", &"x".repeat(ASKED + 1)), format!("{page}{}.%2A", "x".repeat(ASKED)));
    }
}
