//! Packs the dictionary of brotli, 120 KB that every decoder knows by heart, so that the module carries half of it.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "brotli")]
    {
        let packed = miniz_oxide::deflate::compress_to_vec(&brotli_decompressor::dictionary::kBrotliDictionary, 10);
        let path = std::path::Path::new(&std::env::var("OUT_DIR")?).join("brotli-dictionary.deflate");
        std::fs::write(path, packed)?;
    }
    Ok(())
}
