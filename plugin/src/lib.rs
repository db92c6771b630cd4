//! The kubectl plugin as a library.

pub mod envoy;
pub mod local;
pub mod module;
pub mod rules;
