//! The Knative and Istio objects that the plugin reads or writes, as far as it does: small structs of our own, since
//! published ones follow other versions of the Kubernetes client.
//!
//! Reading ignores every field that is not named here. What is written ([`EnvoyFilter`], [`VirtualService`],
//! [`WasmPlugin`]) says what it holds and nothing else: absent and empty fields are left out.

mod envoy_filter;
mod gateway;
mod ingress;
mod kubernetes_gateway;
mod revision;
mod route;
mod service;
mod virtual_service;
mod wasm_plugin;

use serde::{Deserialize, Serialize};

pub use envoy_filter::{ConfigPatch, EnvoyFilter, EnvoyFilterSpec, Patch, WorkloadSelector};
pub use gateway::{Gateway, GatewaySpec};
pub use ingress::{Ingress, IngressSpec, IngressStatus, LoadBalancer, LoadBalancerIngress};
pub use kubernetes_gateway::{KubernetesGateway, KubernetesGatewaySpec};
pub use revision::{Revision, RevisionSpec, RevisionStatus};
pub use route::{Address, Route, RouteSpec, RouteStatus, TrafficTarget};
pub use service::{Service, ServiceSpec, ServiceStatus};
pub use virtual_service::{
    Destination, HeaderOperations, Headers, HttpMatch, HttpMirror, HttpRoute, Percent, Port, RouteDestination,
    StringMatch, VirtualService, VirtualServiceSpec,
};
pub use wasm_plugin::{PodSelector, TargetRef, WasmPlugin, WasmPluginSpec};

/// One condition of a Knative object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// For example `Ready`.
    pub r#type: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// One word why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A sentence why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl Condition {
    /// What a user is told of this condition: its message, else its reason, else its status; without a full stop.
    pub fn words(&self) -> String {
        let said = [&self.message, &self.reason].into_iter().flatten().find(|text| !text.is_empty());
        said.map(|text| text.trim_end_matches('.').to_owned())
            .unwrap_or_else(|| format!("its condition {} is {}", self.r#type, self.status))
    }
}

/// Whether an object is ready.
///
/// # Errors
/// The reason in words where it is not, or not yet.
pub fn ready(conditions: &[Condition]) -> Result<(), String> {
    match conditions.iter().find(|condition| condition.r#type == "Ready") {
        Some(condition) if condition.status == "True" => Ok(()),
        Some(condition) => Err(condition.words()),
        None => Err("Knative has not looked at it yet".to_owned()),
    }
}
