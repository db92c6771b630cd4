//! The proxy-wasm module.
