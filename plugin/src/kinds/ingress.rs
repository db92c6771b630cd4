//! Knative's Ingress: what Knative asks of its networking layer for one Route. Readable with rights in the Route's own
//! namespace.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// What an Ingress is to do: Knative's own VirtualService says it better.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(group = "networking.internal.knative.dev", version = "v1alpha1", kind = "Ingress", namespaced)]
#[kube(schema = "disabled", derive = "PartialEq", status = "IngressStatus")]
pub struct IngressSpec {}

/// What the networking layer made of an Ingress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IngressStatus {
    /// Where calls from outside enter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_load_balancer: Option<LoadBalancer>,
    /// Where calls from inside the cluster enter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_load_balancer: Option<LoadBalancer>,
}

/// Where calls enter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadBalancer {
    /// One for each Kubernetes Service of gateways.
    pub ingress: Vec<LoadBalancerIngress>,
}

/// One Kubernetes Service of gateways.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LoadBalancerIngress {
    /// Its name in the cluster, for example `istio-ingressgateway.istio-system.svc.cluster.local`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain_internal: Option<String>,
}
