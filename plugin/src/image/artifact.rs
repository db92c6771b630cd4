//! The image in the form that Istio calls *oci*: two layers with media types of their own, the bare module and a
//! description of what it runs in.

use serde_json::json;

use super::blob::Blob;
use super::compat::MANIFEST;
use super::{Image, Source, annotations};
use crate::envoy::NAME;

const CONFIG: &str = "application/vnd.module.wasm.config.v1+json";
const CONTENT: &str = "application/vnd.module.wasm.content.layer.v1+wasm";

/// The version of proxy-wasm's ABI that `filter/src/abi.rs` exports.
pub const ABI: &str = "0.2.1";

/// The image.
pub fn image(source: Source<'_>) -> Image {
    let config = json!({ "type": "envoy_proxy", "abiVersions": [ABI], "config": { "root_ids": [NAME] } });
    let (config, content) = (Blob::json(CONFIG, &config), Blob::new(CONTENT, source.module.to_vec()));
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        // Registries tell by it what kind of artifact this is.
        "config": config.descriptor(),
        "layers": [config.descriptor_of_file("runtime-config.json"), content.descriptor_of_file("plugin.wasm")],
        "annotations": annotations::of_image(source),
    });
    Image { manifest: Blob::json(MANIFEST, &manifest), blobs: vec![config, content] }
}
