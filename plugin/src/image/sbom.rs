//! The bill of materials of the module, in CycloneDX's JSON, and how it is attached to an image.
//!
//! It has neither a serial number nor a time, which CycloneDX does not require: the same crates make the same bill. The
//! standard library is not in it, since it comes with the compiler and not from a registry.

use serde_json::{Value, json};

use super::blob::Blob;
use super::compat::MANIFEST;
use super::crates::Crate;
use super::{Image, Source, annotations};

/// The media type of the bill, and of what is attached.
pub const BILL: &str = "application/vnd.cyclonedx+json";

/// OCI's document for nothing.
const EMPTY: &str = "application/vnd.oci.empty.v1+json";

const FILE: &str = "kubectl-mirror.cdx.json";

/// What refers to an image and holds the bill; `None` where the module's crates are not known.
pub fn attached(source: Source<'_>, image: &Image) -> Option<Image> {
    let bill = Blob::json(BILL, &bill(source)?);
    let empty = Blob::json(EMPTY, &json!({}));
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": BILL,
        "config": empty.descriptor(),
        "layers": [bill.descriptor_of_file(FILE)],
        "subject": image.manifest.descriptor(),
        "annotations": annotations::of_entry(source, None),
    });
    Some(Image { manifest: Blob::json(MANIFEST, &manifest), blobs: vec![empty, bill] })
}

fn bill(source: Source<'_>) -> Option<Value> {
    let (module, others) = source.crates.split_first()?;
    let mut whole = component(module);
    whole["hashes"] = hashes(&super::blob::sum(source.module));
    let needs = |one: &Crate| {
        let needs: Vec<_> =
            source.crates.iter().filter(|other| one.needs.contains(&(other.name, other.version))).collect();
        json!({ "ref": url(one), "dependsOn": needs.into_iter().map(url).collect::<Vec<_>>() })
    };
    Some(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": whole },
        "components": others.iter().map(component).collect::<Vec<_>>(),
        "dependencies": source.crates.iter().map(needs).collect::<Vec<_>>(),
    }))
}

fn component(one: &Crate) -> Value {
    let url = url(one);
    let mut component = json!({
        "type": "library",
        "bom-ref": url,
        "name": one.name,
        "version": one.version,
        "purl": url,
    });
    if !one.licence.is_empty() {
        // Old crates have a slash for OR.
        component["licenses"] = json!([{ "expression": one.licence.replace('/', " OR ") }]);
    }
    if let Some(checksum) = one.checksum {
        component["hashes"] = hashes(checksum);
    }
    component
}

fn hashes(sum: &str) -> Value {
    json!([{ "alg": "SHA-256", "content": sum }])
}

/// A crate's package URL. A crate of this workspace is on no registry: its URL says where its source is.
fn url(one: &Crate) -> String {
    let url = format!("pkg:cargo/{}@{}", one.name, one.version.replace('+', "%2B"));
    match one.checksum {
        Some(_) => url,
        None => format!("{url}?vcs_url=git%2B{}", env!("CARGO_PKG_REPOSITORY")),
    }
}
