//! The module as an OCI image, as Istio's WasmPlugin takes it. Pure: nothing here reads or writes a file.
//!
//! An image layout (`layout.rs`) holds both forms that Istio knows, and to each a bill of materials:
//!
//! | file | makes |
//! |---|---|
//! | `compat.rs` | an image with one layer, an archive with the file `plugin.wasm`: any registry takes it |
//! | `artifact.rs` | an artifact with two layers, the bare module and what it runs in |
//! | `sbom.rs` | the bill of materials, which refers to the image, so that the image's digest does not depend on it |
//!
//! The same module makes the same bytes: nothing here asks for the time, and JSON is written with its keys in order.

mod annotations;
mod artifact;
mod blob;
mod compat;
mod crates;
mod layer;
mod layout;
mod sbom;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use crate::istio::names::PLUGIN_VERSION;
use crate::module::MODULE;

use blob::Blob;
use crates::{CRATES, Crate};
pub use layout::{INDEX, Layout, Reference, is_ours};

/// What images are made of.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    version: &'a str,
    module: &'a [u8],
    /// None where they are not known.
    crates: &'a [Crate],
}

/// The module in this build.
pub const THIS: Source<'static> = Source { version: PLUGIN_VERSION, module: MODULE, crates: CRATES };

/// A manifest and the blobs that it names.
#[derive(Clone, Debug)]
struct Image {
    manifest: Blob,
    blobs: Vec<Blob>,
}

/// The digest of the image with the module in this build, `sha256:…`: a WasmPlugin's URL may end in `@` and this.
pub fn digest() -> String {
    // The module has to be compressed for it, so it is done once.
    static DIGEST: LazyLock<String> = LazyLock::new(|| compat::image(THIS).manifest.digest());
    DIGEST.clone()
}

/// The SHA-256 sum of the module in this build, in hexadecimal digits.
pub fn module_sum() -> String {
    blob::sum(MODULE)
}
