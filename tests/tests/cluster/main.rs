//! Tests on a cluster: real API server, real Istio, real Envoys. One theme a file.

mod diffs;
mod facts;
mod harness;
