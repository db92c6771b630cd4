//! Istio's VirtualService: routes of hosts. Read where Knative wrote it, written with the strategy `virtualservice`.

use std::collections::BTreeMap;

use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// What a VirtualService routes.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "networking.istio.io",
    version = "v1",
    kind = "VirtualService",
    namespaced,
    schema = "disabled",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase", default)]
pub struct VirtualServiceSpec {
    /// The namespaces that see it; all where empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub export_to: Vec<String>,
    /// The gateways that it is for, `<namespace>/<name>`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gateways: Vec<String>,
    /// The hosts that it is for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The routes; the first that matches is taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<HttpRoute>,
}

/// One route.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpRoute {
    /// Its name in Envoy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What a request must be like: one of these; anything where empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub r#match: Vec<HttpMatch>,
    /// Changes to headers, whatever the destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Headers>,
    /// The destinations with their weights.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<RouteDestination>,
    /// Where copies go.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mirrors: Vec<HttpMirror>,
    /// How Envoy retries; an empty object for not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<serde_json::Value>,
}

/// What a request must be like: all that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpMatch {
    /// The host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<StringMatch>,
    /// The method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<StringMatch>,
    /// The path without its query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<StringMatch>,
    /// Headers that it must have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, StringMatch>,
    /// Headers that it must not have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub without_headers: BTreeMap<String, StringMatch>,
    /// The gateways by which it came in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gateways: Vec<String>,
}

/// What a text must be: the one that is set; anything where none is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StringMatch {
    /// This.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<String>,
    /// Something that begins like this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

impl StringMatch {
    /// This and nothing else.
    pub fn exact(text: impl Into<String>) -> Self {
        Self { exact: Some(text.into()), prefix: None }
    }

    /// What begins like this.
    pub fn prefix(text: impl Into<String>) -> Self {
        Self { exact: None, prefix: Some(text.into()) }
    }

    /// Its text, whichever it is.
    pub fn text(&self) -> Option<&str> {
        self.exact.as_deref().or(self.prefix.as_deref())
    }
}

/// One destination.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RouteDestination {
    /// Where.
    pub destination: Destination,
    /// Changes to headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Headers>,
    /// Its share of the sum of all weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
}

/// A Kubernetes Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Destination {
    /// Its name in the cluster.
    pub host: String,
    /// Its port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<Port>,
}

/// A port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Port {
    /// Its number.
    pub number: u16,
}

/// Changes to headers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Headers {
    /// Of requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<HeaderOperations>,
    /// Of responses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<HeaderOperations>,
}

/// Changes to one side's headers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeaderOperations {
    /// Written over what was there.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Added to what was there.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub add: BTreeMap<String, String>,
    /// Taken away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
}

/// Where copies go.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HttpMirror {
    /// Where.
    pub destination: Destination,
    /// The share of requests that is copied; all where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentage: Option<Percent>,
}

/// A share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Percent {
    /// In percent, 0 to 100.
    pub value: f64,
}
