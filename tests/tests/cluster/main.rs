//! Tests on a cluster: real API server, real Istio, real Envoys. One theme a file.

mod changes;
mod facts;
mod filter;
mod harness;
mod hello;
mod overlay;
mod states;
mod users;
mod virtual_service;
