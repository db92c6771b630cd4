//! What is in a layout, for a small module that never changes.

use std::io::Read as _;

use flate2::read::GzDecoder;
use oci_spec::image::{Descriptor, ImageConfiguration, ImageIndex, ImageManifest, OciLayout};
use serde_json::Value;

use super::blob::sum;
use super::*;

const CORE: (&str, &str) = ("core", "0.1.0");
const CRATES: &[Crate] = &[
    Crate {
        name: "module",
        version: "0.1.0",
        licence: "Apache-2.0",
        checksum: None,
        needs: &[CORE, ("old", "1.0.0+x")],
    },
    Crate { name: "core", version: "0.1.0", licence: "Apache-2.0", checksum: None, needs: &[] },
    Crate { name: "old", version: "1.0.0+x", licence: "MIT/Zlib", checksum: Some("00ff"), needs: &[CORE] },
    Crate { name: "bare", version: "1.0.0", licence: "", checksum: Some("ff00"), needs: &[] },
];
const SMALL: Source<'static> = Source { version: "1.2.3", module: &FAKE, crates: CRATES };

/// Bytes that compressors find repetitions in, so that each would pack them its own way.
const FAKE: [u8; 4096] = {
    let mut bytes = [0; 4096];
    let mut at = 0;
    while at < bytes.len() {
        bytes[at] = (at * at / 61 % 23) as u8;
        at += 1;
    }
    bytes
};

fn blob<'a>(layout: &'a Layout, descriptor: &Descriptor) -> &'a [u8] {
    let digest = descriptor.as_digest_sha256().expect("a digest");
    let bytes = &layout.files[&format!("blobs/sha256/{digest}")];
    assert_eq!((sum(bytes).as_str(), bytes.len() as u64), (digest, descriptor.size()));
    bytes
}

fn index(layout: &Layout) -> ImageIndex {
    ImageIndex::from_reader(layout.files[INDEX].as_slice()).expect("an index")
}

fn manifests(layout: &Layout) -> Vec<ImageManifest> {
    let manifests = index(layout).manifests().clone();
    manifests.iter().map(|entry| ImageManifest::from_reader(blob(layout, entry)).expect("a manifest")).collect()
}

#[test]
fn the_same_module_makes_the_same_bytes_on_every_machine() {
    let layout = Layout::of(SMALL);
    assert_eq!(layout.files, Layout::of(SMALL).files);
    let whole: Vec<u8> = layout.files.iter().flat_map(|(path, bytes)| [path.as_bytes(), bytes].concat()).collect();
    let images = layout.references.iter().map(|Reference { tag, digest, .. }| format!("{tag} {digest}\n"));
    // Where an image's digest changes, so do those that users have pinned. A new version of the compressor may change it too.
    insta::assert_snapshot!(images.chain([format!("all files {}", sum(&whole))]).collect::<String>(), @"
    1.2.3 sha256:57bbff73138fc7607dbde53fa18e7b80602e650f0bbe66610a6bbffae36ad3f4
    1.2.3-artifact sha256:f5e96604f00a315747352d2f0e7c3320695b8d31457d4030498e3a1323afea92
    all files 2db1fcd75fecef86c48302899323ef54ae765b5d4c8419596f5f6fbefd3963a3
    ");
}

#[test]
fn a_layout_reads_as_documents() {
    let layout = Layout::of(SMALL);
    let documents: Vec<String> = layout
        .files
        .iter()
        .map(|(path, bytes)| match serde_json::from_slice::<Value>(bytes) {
            Ok(document) => format!("{path}\n{document:#}\n"),
            Err(_) => format!("{path}\n{} bytes\n", bytes.len()),
        })
        .collect();
    insta::assert_snapshot!(documents.join("\n"));
}

#[test]
fn the_types_of_the_specification_read_it_and_every_blob_is_named() {
    let layout = Layout::of(SMALL);
    let mark = OciLayout::from_reader(layout.files["oci-layout"].as_slice()).expect("the mark of a layout");
    assert_eq!(mark.image_layout_version(), "1.0.0");
    let mut named: Vec<Descriptor> = index(&layout).manifests().clone();
    for manifest in manifests(&layout) {
        named.push(manifest.config().clone());
        named.extend(manifest.layers().clone());
        named.extend(manifest.subject().clone());
    }
    named.iter().for_each(|descriptor| assert!(!blob(&layout, descriptor).is_empty()));
    let blobs = layout.files.keys().filter(|path| path.starts_with("blobs/"));
    for path in blobs {
        assert!(named.iter().any(|blob| path.ends_with(blob.digest().digest())), "nothing names {path}");
    }
}

#[test]
fn the_last_layer_of_the_image_holds_the_module_as_a_file() {
    let layout = Layout::of(SMALL);
    let image = &manifests(&layout)[0];
    let mut tar = Vec::new();
    let layer = blob(&layout, image.layers().last().expect("a layer"));
    GzDecoder::new(layer).read_to_end(&mut tar).expect("gzip");
    let config = ImageConfiguration::from_reader(blob(&layout, image.config())).expect("a configuration");
    assert_eq!(config.rootfs().diff_ids(), &[format!("sha256:{}", sum(&tar))]);
    let mut archive = tar::Archive::new(tar.as_slice());
    let mut files = archive.entries().expect("an archive");
    let mut file = files.next().expect("a file").expect("a file");
    let header = file.header().clone();
    assert_eq!(header.path_bytes().as_ref(), b"plugin.wasm");
    let numbers = [header.mode().ok().map(u64::from), header.uid().ok(), header.gid().ok(), header.mtime().ok()];
    assert_eq!(numbers, [Some(0o644), Some(0), Some(0), Some(0)]);
    let mut module = Vec::new();
    file.read_to_end(&mut module).expect("the file");
    assert_eq!(module, SMALL.module);
    assert!(files.next().is_none());
}

#[test]
fn the_artifact_holds_the_bare_module() {
    let layout = Layout::of(SMALL);
    let artifact = manifests(&layout).into_iter().find(|manifest| manifest.layers().len() == 2).expect("two layers");
    assert_eq!(blob(&layout, &artifact.layers()[1]), SMALL.module);
}

#[test]
fn a_bill_refers_to_its_image_whose_digest_does_not_depend_on_it() {
    let layout = Layout::of(SMALL);
    let without = Layout::of(Source { crates: &[], ..SMALL });
    let digests = |layout: &Layout| layout.references.iter().map(|found| found.digest.clone()).collect::<Vec<_>>();
    assert_eq!(digests(&layout), digests(&without));
    assert!(without.references.iter().all(|reference| reference.bill.is_none()));
    let subjects: Vec<_> = manifests(&layout)
        .iter()
        .filter_map(|manifest| Some(manifest.subject().clone()?.digest().to_string()))
        .collect();
    assert_eq!(subjects, digests(&layout));
}

#[test]
fn the_artifact_names_the_abi_that_the_module_exports() {
    let export = format!("proxy_abi_version_{}", artifact::ABI.replace('.', "_"));
    assert!(MODULE.windows(export.len()).any(|bytes| bytes == export.as_bytes()), "{export}");
}

#[test]
fn this_build_names_itself() {
    let layout = Layout::of(THIS);
    let tags: Vec<&str> = layout.references.iter().map(|reference| reference.tag.as_str()).collect();
    assert_eq!(tags, [PLUGIN_VERSION, &format!("{PLUGIN_VERSION}-artifact")]);
    assert_eq!(digest(), layout.references[0].digest);
    assert!(layout.files.contains_key(&format!("blobs/sha256/{}", module_sum())), "the artifact's layer is the module");
}

#[test]
fn the_crates_of_this_build_are_known_with_licence_and_checksum() {
    let Some((module, others)) = crates::CRATES.split_first() else { return };
    assert_eq!(module.name, "mirror-filter");
    for name in ["mirror-core", "memchr", "miniz_oxide", "serde_json"] {
        assert!(others.iter().any(|one| one.name == name), "{name}");
    }
    for one in others {
        assert!(!one.licence.is_empty(), "{one:?}");
        assert!(one.checksum.is_some_and(|sum| sum.len() == 64) || one.name == "mirror-core", "{one:?}");
        // Neither what only the plugin is made of, nor what only runs at build time.
        assert!(!["tokio", "serde_derive", "brotli-decompressor"].contains(&one.name), "{one:?}");
    }
}

#[test]
fn only_a_layout_of_this_plugin_alone_is_its_own() {
    let index = &Layout::of(SMALL).files[INDEX];
    assert!(is_ours(index));
    let mut with_another: Value = serde_json::from_slice(index).expect("JSON");
    with_another["manifests"].as_array_mut().expect("an array").push(serde_json::json!({ "digest": "sha256:00" }));
    for other in [with_another.to_string().as_bytes(), br#"{"manifests": []}"#, b"{}", b"nonsense", b""] {
        assert!(!is_ours(other), "{}", String::from_utf8_lossy(other));
    }
}
