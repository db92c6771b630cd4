//! What is written for Istio, made from a [`Plan`](crate::knative::Plan) and the pieces of [`envoy`](crate::envoy).
//!
//! | object | file | how many |
//! |---|---|---|
//! | EnvoyFilter with the module and the disabled selector | `install.rs` | one for each set of gateway pods |
//! | EnvoyFilter of a mirror, strategy `overlay` | `overlay.rs` | one a mirror, for each set of gateway pods |
//! | VirtualService of a mirror, strategy `virtualservice` | `virtual_service.rs` | one a mirror |
//! | WasmPlugin with the module and all mirrors of the strategy `wasmplugin` | `wasm_plugin.rs` | one for each set of gateway pods |
//!
//! `names.rs` has their names, labels and annotations. Of objects that are there, `live.rs` reads what they say, `stale.rs`
//! tells whether they are what would be written now, and `conflict.rs` whether they are in the way. `pin.rs` says which very
//! module is meant. `yaml.rs` prints.

pub mod conflict;
pub mod install;
pub mod live;
pub mod names;
pub mod overlay;
pub mod pin;
pub mod stale;
pub mod virtual_service;
pub mod wasm_plugin;
mod workload;
pub mod yaml;

pub use install::{Install, Installed, InstalledBy, Wrapping, install};
pub use overlay::overlay;
pub use virtual_service::virtual_service;
pub use workload::Workload;
