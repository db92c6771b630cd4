//! Knative's Route: which revisions serve a host, and at which shares.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

use super::Condition;

/// What a Route is to be.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "serving.knative.dev",
    version = "v1",
    kind = "Route",
    namespaced,
    schema = "disabled",
    derive = "PartialEq"
)]
#[kube(status = "RouteStatus")]
pub struct RouteSpec {
    /// The split as wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<TrafficTarget>,
}

/// What Knative made of a Route.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RouteStatus {
    /// Where users reach it: an external address, or the cluster's own where it is cluster-local.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Where the cluster itself reaches it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// The split as it is, with the names of the revisions filled in.
    pub traffic: Vec<TrafficTarget>,
    /// Whether it is ready, and if not, why.
    pub conditions: Vec<Condition>,
    /// The generation of the spec that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// An address inside the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// Its URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// One part of a split, with all the fields that Knative has: lists of these are written back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TrafficTarget {
    /// A name by which this part alone can be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// The revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision_name: Option<String>,
    /// The configuration whose latest revision it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration_name: Option<String>,
    /// Whether it follows the latest revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_revision: Option<bool>,
    /// Its share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<i64>,
    /// Where its tag is reached; set by Knative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}
