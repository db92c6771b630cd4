//! The kubectl plugin as a library.
//!
//! The data flows in one direction:
//!
//! ```text
//! source (Envoy's statistics) → report (model, verdict) → a format (table, JSON) → stdout
//!                                                       └→ --fail-on → exit status
//! ```
//!
//! `cli` knows the commands, each command is a file of its own.

pub mod cli;
pub mod command;
pub mod output;
pub mod report;
pub mod source;
