//! Knative's Revision: one version of a service.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

use super::Condition;

/// What a Revision runs: nothing of it is needed here.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "serving.knative.dev",
    version = "v1",
    kind = "Revision",
    namespaced,
    schema = "disabled",
    derive = "PartialEq"
)]
#[kube(status = "RevisionStatus")]
pub struct RevisionSpec {}

/// How a Revision is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RevisionStatus {
    /// Whether it is ready, and if not, why.
    pub conditions: Vec<Condition>,
}

/// The label that names the Service that a revision is of.
const SERVICE: &str = "serving.knative.dev/service";
/// The label that says whether a Route refers to a revision (`active`) or none does (`reserve`).
const ROUTING_STATE: &str = "serving.knative.dev/routingState";

impl Revision {
    /// Its name; empty for an object that never was in a cluster.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// The Service that it is of.
    pub fn service(&self) -> Option<&str> {
        self.label(SERVICE)
    }

    /// Whether some Route refers to it, by traffic or by a tag: only then is it reachable and kept.
    pub fn is_routed(&self) -> bool {
        self.label(ROUTING_STATE) == Some("active")
    }

    fn label(&self, name: &str) -> Option<&str> {
        self.metadata.labels.as_ref()?.get(name).map(String::as_str)
    }
}
