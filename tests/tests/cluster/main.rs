//! Tests on a cluster: real API server, real Istio, real Envoys. One theme a file.

mod facts;
mod filter;
mod harness;
mod hello;
mod overlay;
mod virtual_service;
