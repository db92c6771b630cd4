//! Knative: what a Route is now, and what a user's wish comes to on it. Nothing here speaks to a cluster.
//!
//! ```text
//! Route + Knative's own VirtualService ─┐
//! or a Route alone + `config.rs` ───────┴→ source → target ─┬→ plan → istio (what is written)
//!                              a user's intent ─────────────┘
//! ```
//!
//! `refusal.rs` has what cannot work, with the next step; `tag.rs` the one change to a user's object, for `--tag`.

pub mod config;
pub mod plan;
pub mod refusal;
pub mod source;
pub mod tag;
pub mod target;

#[cfg(test)]
pub(crate) mod testing;

pub use config::{Gateways, gateway_namespaces, ingress_class};
pub use plan::Plan;
pub use refusal::Refusal;
pub use source::{Entrance, Source, Split};
pub use target::Target;

/// The annotation that says which networking layer serves a Route.
const INGRESS_CLASS: &str = "networking.knative.dev/ingress.class";
/// The class of Knative's networking layer for Istio.
pub const ISTIO: &str = "istio.ingress.networking.knative.dev";
/// The header by which Knative's activator finds the revision.
const REVISION_HEADER: &str = "Knative-Serving-Revision";
/// The domain of a cluster that says none.
const CLUSTER_DOMAIN: &str = "cluster.local";
/// The port of a revision's Service for plain HTTP.
const PORT: u16 = 80;
