//! A waypoint: the proxy that an ambient mesh puts in front of Services, as a user names it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::istio::Workload;

/// The class of the Kubernetes Gateways that are waypoints.
pub const CLASS: &str = "istio-waypoint";

/// What the names of a waypoint's clusters begin with: those of the Services that it serves.
const CLUSTERS: &str = "inbound-vip|";

/// A waypoint, by its Kubernetes Gateway: `[<namespace>/]<name>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waypoint {
    /// Its namespace; the mirror's where `None`.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl Waypoint {
    /// Its pods, for a mirror of this namespace.
    pub fn workload(&self, namespace: &str) -> Workload {
        Workload::of_gateway(self.namespace.as_deref().unwrap_or(namespace), &self.name)
    }
}

/// Istio's name for the cluster of a Service that a waypoint serves. One name for all kinds of HTTP.
pub fn cluster(port: u16, host: &str) -> String {
    format!("{CLUSTERS}{port}|http|{host}")
}

/// Whether a cluster is one that only waypoints have.
pub fn is_cluster(name: &str) -> bool {
    name.starts_with(CLUSTERS)
}

impl fmt::Display for Waypoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl FromStr for Waypoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, text),
        };
        let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
        let is_name = |part: &str| !part.is_empty() && part.chars().all(is_good);
        if !is_name(name) || !namespace.is_none_or(is_name) {
            return Err(format!("`{text}` names no waypoint: expected NAME or NAMESPACE/NAME of its Gateway"));
        }
        Ok(Self { namespace: namespace.map(str::to_owned), name: name.to_owned() })
    }
}

impl Serialize for Waypoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Waypoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_shown() {
        for (text, workload) in [
            ("waypoint", "shop/gateway.networking.k8s.io/gateway-name=waypoint"),
            ("mesh/way.1", "mesh/gateway.networking.k8s.io/gateway-name=way.1"),
        ] {
            let read: Waypoint = text.parse().expect(text);
            assert_eq!(read.to_string(), text);
            assert_eq!(read.workload("shop").to_string(), workload);
        }
        for text in ["", "/", "a/", "/a", "a/b/c", "A", "a b"] {
            assert!(text.parse::<Waypoint>().is_err(), "{text:?}");
        }
    }
}
