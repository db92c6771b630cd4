//! The kubectl plugin as a library.
//!
//! The data flows in one direction:
//!
//! ```text
//! source (Envoy's statistics) → report (model, verdict) → a format (table, JSON) → stdout
//!                                                       └→ --fail-on → exit status
//! ```
//!
//! `cli` knows the commands, each command is a file of its own. `envoy` makes what is written for Envoy, with `module`
//! inside; `local` runs it on one machine. `cluster` reaches a Kubernetes API server, `admin` an Envoy's admin page (also in a
//! pod), and `gateway` tells by that page what runs in each gateway pod.

pub mod admin;
pub mod cli;
pub mod cluster;
pub mod command;
pub mod diffs;
pub mod envoy;
pub mod gateway;
pub mod grid;
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
