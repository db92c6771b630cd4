//! What kubectl-mirror knows without a host: the configuration of a mirror, the pairing of a primary's answer with its
//! shadow's, their comparison, and the statistics that come of it.
//!
//! The data flows in one direction:
//!
//! ```text
//! config ──┐
//! streams → pair table → compare → noise → outcome ─┬→ stats (metric names and counts)
//!                                                   └→ example (one JSON line)
//! ```
//!
//! Nothing here panics, does I/O or reads a clock: bytes and times (nanoseconds since the Unix epoch) come from the
//! caller. The same code runs in Envoy as WebAssembly and natively in the plugin, the tests and the fuzzers.

#![cfg_attr(test, allow(clippy::arithmetic_side_effects))]

pub mod answer;
pub mod compare;
pub mod config;
pub mod divergence;
pub mod example;
pub mod headers;
pub mod noise;
pub mod observer;
pub mod outcome;
mod pair;
pub mod place;
pub mod selection;
pub mod sorted;
pub mod stats;
#[cfg(feature = "testing")]
pub mod testing;
