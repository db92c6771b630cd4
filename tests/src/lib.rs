//! End-to-end tests against real programs: the harness.
//!
//! A test starts scriptable servers ([`backend`]) and a real Envoy ([`envoy`]) whose configuration the plugin's own
//! generator writes ([`mirror`]), sends requests through it ([`client`]), and asserts three things: what the client got,
//! what the candidate saw, and what Envoy's metrics count. Nothing is timed: what takes a while is waited for, with a
//! bound ([`wait`]).

pub mod backend;
pub mod build;
pub mod cases;
pub mod client;
pub mod cluster;
pub mod counts;
pub mod envoy;
pub mod gate;
pub mod mirror;
pub mod module;
pub mod plain;
pub mod program;
pub mod wait;

use std::sync::OnceLock;

use envoy::Binary;
use mirror::{WAYS, Way};

/// Runs a test with each of the Envoys under test, in each way to copy and compare.
pub fn on_each_way(test: impl AsyncFn(&'static Binary, Way)) {
    on_each_envoy(async |binary| {
        for way in WAYS {
            // Told where it fails.
            println!("Envoy {}, {way:?}", binary.version);
            test(binary, way).await;
        }
    });
}

/// Runs a test with each of the Envoys under test, one after the other.
///
/// All tests share one runtime, so that a server never outlives a test's thread in a half-dead state.
pub fn on_each_envoy(test: impl AsyncFn(&'static Binary)) {
    static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| tokio::runtime::Runtime::new().expect("a runtime"));
    for binary in envoy::binaries() {
        runtime.block_on(test(binary));
    }
}
