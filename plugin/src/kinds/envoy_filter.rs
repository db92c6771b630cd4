//! Istio's EnvoyFilter: patches to what Istio writes for Envoy.

use std::collections::BTreeMap;

use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What an EnvoyFilter patches, and on which proxies.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "networking.istio.io",
    version = "v1alpha3",
    kind = "EnvoyFilter",
    namespaced,
    schema = "disabled",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvoyFilterSpec {
    /// Which proxies, of the object's namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload_selector: Option<WorkloadSelector>,
    /// The patches, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub config_patches: Vec<ConfigPatch>,
}

/// The labels of pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkloadSelector {
    /// All of these.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// One patch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigPatch {
    /// The kind of what is patched, for example `HTTP_ROUTE`.
    pub apply_to: String,
    /// Which of that kind.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub r#match: Value,
    /// What is done to it.
    pub patch: Patch,
}

/// What a patch does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Patch {
    /// `ADD`, `MERGE`, `INSERT_BEFORE`, …
    pub operation: String,
    /// In the shape of Envoy's API.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub value: Value,
}
