//! What a manifest says of the module: OCI's own annotations, and the fingerprint by which this plugin knows a module.

use serde_json::{Value, json};

use super::Source;
use crate::envoy::NAME;
use crate::istio::install::module_fingerprint;
use crate::istio::names;

/// A name for people; on a layer, the name of its file.
pub const TITLE: &str = "org.opencontainers.image.title";
/// The name by which an image in a layout is referred to.
pub const REFERENCE: &str = "org.opencontainers.image.ref.name";

const DESCRIPTION: &str = "Pairs and compares mirrored traffic inside Envoy";
const SOURCE: &str = env!("CARGO_PKG_REPOSITORY");

/// The annotations of an image's manifest. There is no time among them.
pub fn of_image(source: Source<'_>) -> Value {
    json!({
        TITLE: NAME,
        "org.opencontainers.image.description": DESCRIPTION,
        "org.opencontainers.image.version": source.version,
        "org.opencontainers.image.licenses": env!("CARGO_PKG_LICENSE"),
        "org.opencontainers.image.source": SOURCE,
        "org.opencontainers.image.documentation": format!("{SOURCE}#readme"),
        names::MODULE: module_fingerprint(source.module),
    })
}

/// The annotations of a manifest's entry in a layout, and of what is attached to an image.
pub fn of_entry(source: Source<'_>, reference: Option<&str>) -> Value {
    let mut annotations = json!({ names::MODULE: module_fingerprint(source.module) });
    if let Some(reference) = reference {
        annotations[REFERENCE] = reference.into();
    }
    annotations
}
