//! The commands: one file each, with its arguments and a function that runs it.

pub mod check;
pub mod common;
pub mod complete;
pub mod diffs;
pub mod disable;
pub mod doctor;
pub mod enable;
pub mod generate;
pub mod image;
pub mod install;
pub mod local;
mod origin;
pub mod report;
pub mod rules;
pub mod status;
pub mod sync;
#[cfg(test)]
mod testing;
pub mod uninstall;
pub mod version;

#[cfg(test)]
mod tests;
