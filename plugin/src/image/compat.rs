//! The image in the form that Istio calls *compat*: a layer as of any container, with the module as a file.

use serde_json::json;

use super::blob::Blob;
use super::{Image, Source, annotations, layer};

/// The media type of an image's manifest.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";

/// Istio looks for the module in the last layer, by this name.
const FILE: &str = "plugin.wasm";

/// The image.
pub fn image(source: Source<'_>) -> Image {
    let tar = layer::tar(FILE, source.module);
    let config = json!({
        "architecture": "wasm",
        "os": "wasip1",
        "config": {},
        // The sum of what is packed, where the manifest has the sum of what is sent.
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", super::blob::sum(&tar))] },
    });
    let (config, layer) = (Blob::json(CONFIG, &config), layer::gzip(&tar));
    let mut annotations = annotations::of_image(source);
    // The Wasm Image Specification asks for it.
    annotations["module.wasm.image/variant"] = "compat".into();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config.descriptor(),
        "layers": [layer.descriptor()],
        "annotations": annotations,
    });
    Image { manifest: Blob::json(MANIFEST, &manifest), blobs: vec![config, layer] }
}
