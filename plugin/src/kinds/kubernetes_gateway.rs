//! The Kubernetes Gateway API's Gateway, which is what a waypoint is asked for with.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// What such a Gateway is.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "gateway.networking.k8s.io",
    version = "v1",
    kind = "Gateway",
    root = "KubernetesGateway",
    namespaced,
    schema = "disabled",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesGatewaySpec {
    /// Who runs pods for it, and of which kind.
    pub gateway_class_name: String,
}
