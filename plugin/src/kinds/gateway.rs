//! Istio's Gateway, for the pods that it configures.

use std::collections::BTreeMap;

use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// What a Gateway is.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "networking.istio.io",
    version = "v1",
    kind = "Gateway",
    namespaced,
    schema = "disabled",
    derive = "PartialEq"
)]
#[serde(default)]
pub struct GatewaySpec {
    /// The labels of its pods, which may be in any namespace.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub selector: BTreeMap<String, String>,
}
