//! The crates that the module is made of, as `build.rs` found them.

/// A crate, in the module or of it.
#[derive(Clone, Copy, Debug)]
pub struct Crate {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// What Cargo.toml says: an SPDX expression, or in old crates names with a slash between them.
    pub licence: &'static str,
    /// The SHA-256 sum of its package; none for a crate of this workspace.
    pub checksum: Option<&'static str>,
    /// Names and versions of the crates that it needs itself.
    pub needs: &'static [(&'static str, &'static str)],
}

/// The module's own crate, then the others in order of their names; empty where the module was given to `build.rs`.
pub static CRATES: &[Crate] = include!(concat!(env!("OUT_DIR"), "/crates.rs"));
