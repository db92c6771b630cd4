//! Istio's WasmPlugin: a module in the listeners of proxies.

use std::collections::BTreeMap;

use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which module runs, on which proxies, and what it is told.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "extensions.istio.io",
    version = "v1alpha1",
    kind = "WasmPlugin",
    namespaced,
    schema = "disabled",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase", default)]
pub struct WasmPluginSpec {
    /// Which proxies, of the object's namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<PodSelector>,
    /// Which Kubernetes Gateways, of the object's namespace; never beside a selector.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub target_refs: Vec<TargetRef>,
    /// Where the module is: `oci://`, `http://`, `https://` or `file://`.
    pub url: String,
    /// The checksum of its image's manifest, or of its bytes where it is no image.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sha256: String,
    /// When its image is fetched anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_pull_policy: Option<String>,
    /// The Secret with the credentials for its image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_pull_secret: Option<String>,
    /// The name of the module's root context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin_name: Option<String>,
    /// `HTTP` or `NETWORK`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    /// What becomes of requests after a fault of the module.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_strategy: Option<String>,
    /// Before which of Istio's filters it stands; right before the router where it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The greatest of a phase stands first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// What the module is told.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub plugin_config: Value,
}

/// The labels of pods, as a WasmPlugin names them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSelector {
    /// All of them must be there.
    pub match_labels: BTreeMap<String, String>,
}

/// An object that stands for proxies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TargetRef {
    /// `gateway.networking.k8s.io`
    pub group: String,
    /// `Gateway`
    pub kind: String,
    /// Its name.
    pub name: String,
}
