//! A mirror on one machine: an Envoy of its own between clients and two (or three) servers.
//!
//! `plan.rs` turns what the user asked for into a mirror, `find.rs` finds an Envoy, `session.rs` runs it on the files of
//! `files.rs` in the keeping of `process.rs`, and `settle.rs` waits at the end until all that was begun is counted.

mod admin;
mod files;
mod find;
mod plan;
mod process;
mod session;
mod settle;

pub use admin::Admin;
pub use files::Files;
pub use find::{Envoy, find};
pub use plan::{Plan, Wish, parse_method, parse_percent};
pub use process::Process;
#[cfg(target_os = "linux")]
pub use process::die_with_this_thread;
pub use session::Session;
pub use settle::settle;
