//! Tests on a cluster: real API server, real Istio, real Envoys. One theme a file.

mod applying;
mod doctor;
mod facts;
mod gitops;
mod harness;
mod refusals;
mod roles;
mod shop;
mod tagging;
