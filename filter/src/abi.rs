//! What the host calls: the exports of proxy-wasm ABI 0.2.1, as far as an HTTP filter needs them. Envoy leaves out the
//! calls for which there is no export.
//!
//! The crate `proxy-wasm` would export a callback for everything that any filter might want, with a context object behind
//! each stream; that is more code than all of the filter, and it panics on a context that it does not know.

#![allow(unsafe_code)]

use std::alloc::Layout;
use std::ptr::{self, NonNull};

/// What a callback that may pause the stream answers; this filter never pauses one.
const CONTINUE: u32 = 0;

unsafe extern "C" {
    /// Made by the linker.
    fn __wasm_call_ctors();
}

/// The version is told by the name.
#[unsafe(no_mangle)]
extern "C" fn proxy_abi_version_0_2_1() {}

#[unsafe(no_mangle)]
extern "C" fn _initialize() {
    // SAFETY: the host calls this once, before anything else.
    unsafe { __wasm_call_ctors() }
}

/// Memory for data that a host call returns; `host.rs` takes it over. Null where there is none: that call then fails.
#[unsafe(no_mangle)]
extern "C" fn proxy_on_memory_allocate(size: usize) -> *mut u8 {
    match Layout::array::<u8>(size) {
        Ok(layout) if size > 0 => {
            // SAFETY: the layout has a size.
            unsafe { std::alloc::alloc(layout) }
        }
        Ok(_) => NonNull::dangling().as_ptr(),
        Err(_) => ptr::null_mut(),
    }
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_context_create(context: u32, parent: u32) {
    crate::on_context_create(context, parent);
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_configure(root: u32, size: usize) -> bool {
    crate::on_configure(root, size)
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_tick(_root: u32) {
    crate::on_tick();
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_request_headers(stream: u32, _count: usize, end: bool) -> u32 {
    crate::on_request_headers(stream, end);
    CONTINUE
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_request_body(stream: u32, size: usize, end: bool) -> u32 {
    crate::on_request_body(stream, size, end);
    CONTINUE
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_request_trailers(stream: u32, _count: usize) -> u32 {
    crate::on_request_trailers(stream);
    CONTINUE
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_response_headers(stream: u32, _count: usize, end: bool) -> u32 {
    crate::on_response_headers(stream, end);
    CONTINUE
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_response_body(stream: u32, size: usize, end: bool) -> u32 {
    crate::on_response_body(stream, size, end);
    CONTINUE
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_response_trailers(stream: u32, _count: usize) -> u32 {
    crate::on_response_trailers(stream);
    CONTINUE
}

/// A call that the module made has an answer, or (without headers) will never have a whole one.
#[unsafe(no_mangle)]
extern "C" fn proxy_on_http_call_response(root: u32, token: u32, headers: usize, size: usize, trailers: usize) {
    crate::on_call_response(root, token, headers > 0, size, trailers > 0);
}

/// The end of a stream, or of a root context. Returns whether it may be deleted at once.
#[unsafe(no_mangle)]
extern "C" fn proxy_on_done(context: u32) -> bool {
    crate::on_done(context)
}
