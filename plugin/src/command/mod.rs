//! The commands: one file each, with its arguments and a function that runs it.

pub mod complete;
pub mod local;
pub mod report;
