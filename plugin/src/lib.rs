//! The kubectl plugin as a library.

pub mod envoy;
