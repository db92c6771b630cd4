//! An OCI image layout: the folder in which tools keep images, as its files.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::blob::Blob;
use super::{Image, Source, annotations, artifact, compat, sbom};
use crate::istio::names;

/// The file that names what is in a layout.
pub const INDEX: &str = "index.json";
/// The file that marks a folder as a layout.
const MARK: &str = "oci-layout";

const VERSION: &str = "1.0.0";
const KIND: &str = "application/vnd.oci.image.index.v1+json";

/// The files of a layout.
#[derive(Clone, Debug)]
pub struct Layout {
    /// By their paths, which have slashes.
    pub files: BTreeMap<String, Vec<u8>>,
    /// What is in it.
    pub references: Vec<Reference>,
}

/// An image in a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Its name there.
    pub tag: String,
    /// The digest of its manifest, `sha256:…`.
    pub digest: String,
    /// The digest of the manifest that attaches its bill of materials.
    pub bill: Option<String>,
}

impl Layout {
    /// The layout with both forms of the module's image.
    pub fn of(source: Source<'_>) -> Self {
        let images = [
            (source.version.to_owned(), compat::image(source)),
            (format!("{}-artifact", source.version), artifact::image(source)),
        ];
        let mut layout = Self { files: BTreeMap::new(), references: Vec::new() };
        let mut entries = Vec::new();
        for (tag, image) in images {
            entries.push(entry(source, &image, Some(&tag)));
            let bill = sbom::attached(source, &image);
            if let Some(bill) = &bill {
                let mut entry = entry(source, bill, None);
                entry["artifactType"] = sbom::BILL.into();
                entries.push(entry);
            }
            layout.references.push(Reference {
                tag,
                digest: image.manifest.digest(),
                bill: bill.as_ref().map(|bill| bill.manifest.digest()),
            });
            layout.add(image);
            bill.into_iter().for_each(|bill| layout.add(bill));
        }
        let index = json!({ "schemaVersion": 2, "mediaType": KIND, "manifests": entries });
        layout.files.insert(INDEX.to_owned(), index.to_string().into_bytes());
        let mark = json!({ "imageLayoutVersion": VERSION });
        layout.files.insert(MARK.to_owned(), mark.to_string().into_bytes());
        layout
    }

    fn add(&mut self, image: Image) {
        for blob in image.blobs.into_iter().chain([image.manifest]) {
            self.files.insert(path(&blob), blob.bytes);
        }
    }
}

/// Whether all that an index names is this plugin's.
pub fn is_ours(index: &[u8]) -> bool {
    let Ok(index) = serde_json::from_slice::<Value>(index) else { return false };
    let Some(manifests) = index["manifests"].as_array() else { return false };
    manifests.iter().all(|manifest| manifest["annotations"][names::MODULE].is_string()) && !manifests.is_empty()
}

fn path(blob: &Blob) -> String {
    format!("blobs/sha256/{}", blob.sum())
}

fn entry(source: Source<'_>, image: &Image, tag: Option<&str>) -> Value {
    let mut entry = image.manifest.descriptor();
    entry["annotations"] = annotations::of_entry(source, tag);
    entry
}
