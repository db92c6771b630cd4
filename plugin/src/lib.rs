//! The kubectl plugin as a library.
//!
//! Statistics flow in one direction:
//!
//! ```text
//! source (Envoy's statistics) → report (model, verdict) → a format (table, JSON, …) → stdout
//!                                                       └→ --fail-on → exit status
//! ```
//!
//! And so do mirrors:
//!
//! ```text
//! kinds (what is there) → knative (what a wish comes to) → istio, envoy (what is written) → cluster → gateway (what runs)
//! ```
//!
//! `cli` knows the commands, each command is a file of its own, made of `steps`. `cluster` reaches a Kubernetes API server,
//! `admin` an Envoy's admin page (also in a pod), and `gateway` tells by that page what runs in each gateway pod. `envoy` makes
//! what is written for Envoy, with `module` inside; `local` runs it on one machine. `image` makes an OCI image of `module`.

pub mod admin;
pub mod cli;
pub mod cluster;
pub mod command;
pub mod completion;
pub mod diffs;
pub mod envoy;
pub mod gateway;
pub mod grid;
pub mod image;
pub mod intent;
pub mod istio;
pub mod kinds;
pub mod knative;
pub mod local;
pub mod module;
pub mod output;
pub mod report;
pub mod rules;
pub mod source;
pub mod steps;
pub mod waypoint;
