//! Tests on a cluster: real API server, real Istio, real Envoys. One theme a file.

mod applying;
mod changes;
mod diffs;
mod doctor;
mod facts;
mod filter;
mod gitops;
mod harness;
mod hello;
mod kubectl;
mod many;
mod overlay;
mod refusals;
mod roles;
mod shop;
mod states;
mod stories;
mod tagging;
mod users;
mod virtual_service;
mod wasm_plugin;
mod waypoint;
