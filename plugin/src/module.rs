//! The module, built by `build.rs` and carried in the plugin's binary, so that both are always of one version.

/// The WebAssembly module for Envoy.
pub static MODULE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/module.wasm"));

#[cfg(test)]
mod tests {
    #[test]
    fn the_module_is_webassembly() {
        assert!(super::MODULE.starts_with(b"\0asm"));
    }
}
