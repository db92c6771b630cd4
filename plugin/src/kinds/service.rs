//! Knative's Service: the object that users write, which owns a Route and its Revisions.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

use super::route::TrafficTarget;

/// What a Knative Service is to be.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "serving.knative.dev",
    version = "v1",
    kind = "Service",
    namespaced,
    schema = "disabled",
    derive = "PartialEq"
)]
#[kube(status = "ServiceStatus")]
pub struct ServiceSpec {
    /// The split as the user wants it; all to the latest revision where empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<TrafficTarget>,
}

/// What Knative made of a Service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceStatus {
    /// The newest revision that is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_ready_revision_name: Option<String>,
}
