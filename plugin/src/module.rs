//! The module, built by `build.rs` and carried in the plugin's binary, so that both are always of one version.

/// The WebAssembly module for Envoy.
pub static MODULE: &[u8] = &BYTES;

/// A static of its own, which is in the binary once. Bytes without a name are there once for each unit of code that uses them.
static BYTES: [u8; FILE.len()] = *FILE;

const FILE: &[u8; include_bytes!(concat!(env!("OUT_DIR"), "/module.wasm")).len()] =
    include_bytes!(concat!(env!("OUT_DIR"), "/module.wasm"));

#[cfg(test)]
mod tests {
    #[test]
    fn the_module_is_webassembly() {
        assert!(super::MODULE.starts_with(b"\0asm"));
    }

    #[test]
    fn the_module_is_small() {
        const MOST: usize = 350_000;
        let size = super::MODULE.len();
        assert!(
            size <= MOST,
            "the module has {size} bytes, more than {MOST}: see CONTRIBUTING.md, \"The module's size\""
        );
    }

    #[test]
    fn the_module_does_not_tell_where_it_was_built() {
        for folder in [env!("CARGO_MANIFEST_DIR").trim_end_matches("plugin"), env!("OUT_DIR"), "/registry/src/"] {
            let found = super::MODULE.windows(folder.len()).any(|bytes| bytes == folder.as_bytes());
            assert!(!found, "{folder} stands in the module");
        }
    }
}
