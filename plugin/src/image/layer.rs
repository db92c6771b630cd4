//! A layer: an archive of one file, compressed. All that an archive and gzip say of a file's owner and age is fixed.

use std::io::Write;

use flate2::{Compression, GzBuilder};
use tar::{Builder, Header};

use super::blob::Blob;

const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Anybody may read it.
const MODE: u32 = 0o644;

/// What gzip says for an operating system that is not known.
const ANY_SYSTEM: u8 = 255;

/// No writer here is a file.
const IN_MEMORY: &str = "memory can be written to";

/// An archive of one file: of root, and as old as can be.
pub fn tar(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut header = Header::new_ustar();
    header.set_mode(MODE);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(bytes.len() as u64);
    let mut archive = Builder::new(Vec::new());
    archive.append_data(&mut header, name, bytes).and_then(|()| archive.into_inner()).expect(IN_MEMORY)
}

/// The archive as a layer.
pub fn gzip(tar: &[u8]) -> Blob {
    let mut gzip = GzBuilder::new().mtime(0).operating_system(ANY_SYSTEM).write(Vec::new(), Compression::best());
    Blob::new(LAYER, gzip.write_all(tar).and_then(|()| gzip.finish()).expect(IN_MEMORY))
}
