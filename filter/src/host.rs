//! Every call to the host, in one place. None of them can panic: whatever status comes back becomes an `Option` or a
//! `Result`. (The wrappers of the crate `proxy-wasm` panic on statuses that they do not expect, and a panic fails the
//! request at hand.)
//!
//! The functions and numbers are those of proxy-wasm ABI 0.2.1.

#![allow(unsafe_code)]

use std::ptr;

use mirror_core::observer::Call;

/// A status other than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// Whose headers.
#[derive(Clone, Copy)]
pub enum Map {
    RequestHeaders = 0,
    RequestTrailers = 1,
    ResponseHeaders = 2,
    ResponseTrailers = 3,
    CallHeaders = 6,
    CallTrailers = 7,
}

/// Whose bytes.
#[derive(Clone, Copy)]
pub enum Buffer {
    RequestBody = 0,
    ResponseBody = 1,
    CallBody = 4,
    PluginConfiguration = 7,
}

/// What a metric does.
#[derive(Clone, Copy)]
pub enum MetricType {
    Counter = 0,
    Gauge = 1,
}

/// The level at which Istio's gateways print (`warning` is their default).
const LOG_WARN: u32 = 3;
const OK: u32 = 0;

#[link(wasm_import_module = "env")]
unsafe extern "C" {
    fn proxy_get_current_time_nanoseconds(time: *mut u64) -> u32;
    fn proxy_set_tick_period_milliseconds(period: u32) -> u32;
    fn proxy_log(level: u32, message: *const u8, size: usize) -> u32;
    fn proxy_get_header_map_pairs(map: u32, data: *mut *mut u8, size: *mut usize) -> u32;
    fn proxy_replace_header_map_value(map: u32, k: *const u8, k_size: usize, v: *const u8, v_size: usize) -> u32;
    fn proxy_remove_header_map_value(map: u32, k: *const u8, k_size: usize) -> u32;
    fn proxy_get_buffer_bytes(buffer: u32, start: usize, most: usize, data: *mut *mut u8, size: *mut usize) -> u32;
    fn proxy_get_property(path: *const u8, path_size: usize, data: *mut *mut u8, size: *mut usize) -> u32;
    fn proxy_http_call(
        upstream: *const u8,
        upstream_size: usize,
        headers: *const u8,
        headers_size: usize,
        body: *const u8,
        body_size: usize,
        trailers: *const u8,
        trailers_size: usize,
        timeout: u32,
        token: *mut u32,
    ) -> u32;
    fn proxy_set_effective_context(context: u32) -> u32;
    fn proxy_done() -> u32;
    fn proxy_get_shared_data(k: *const u8, k_size: usize, data: *mut *mut u8, size: *mut usize, cas: *mut u32) -> u32;
    fn proxy_set_shared_data(k: *const u8, k_size: usize, v: *const u8, v_size: usize, cas: u32) -> u32;
    fn proxy_define_metric(kind: u32, name: *const u8, size: usize, id: *mut u32) -> u32;
    fn proxy_increment_metric(id: u32, by: i64) -> u32;
    fn proxy_record_metric(id: u32, value: u64) -> u32;
}

/// The wall clock, in nanoseconds since the epoch; 0 where the host has none.
pub fn now() -> u64 {
    let mut time = 0;
    // SAFETY: the host writes one u64.
    unsafe { proxy_get_current_time_nanoseconds(&raw mut time) };
    time
}

/// Asks for `on_tick` every `period` milliseconds.
pub fn set_tick_period(period: u32) -> Result<(), Refused> {
    // SAFETY: no pointers.
    done(unsafe { proxy_set_tick_period_milliseconds(period) })
}

/// Writes one line at a level that gateways print. A host that refuses it loses it.
pub fn log(line: &str) {
    // SAFETY: the host reads `line` during the call.
    unsafe { proxy_log(LOG_WARN, line.as_ptr(), line.len()) };
}

/// All headers of the stream at hand, in the host's own layout.
pub fn headers(map: Map) -> Option<Vec<u8>> {
    // SAFETY: `returned` passes pointers that are valid for the call.
    returned(|data, size| unsafe { proxy_get_header_map_pairs(map as u32, data, size) })
}

/// Sets a request header of the stream at hand, replacing all its values.
pub fn set_request_header(name: &str, value: &str) -> Result<(), Refused> {
    let map = Map::RequestHeaders as u32;
    // SAFETY: the host reads both strings during the call.
    done(unsafe { proxy_replace_header_map_value(map, name.as_ptr(), name.len(), value.as_ptr(), value.len()) })
}

/// Removes a request header of the stream at hand, with all its values.
pub fn remove_request_header(name: &str) -> Result<(), Refused> {
    let map = Map::RequestHeaders as u32;
    // SAFETY: the host reads the name during the call.
    done(unsafe { proxy_remove_header_map_value(map, name.as_ptr(), name.len()) })
}

/// The first `size` bytes of what is at hand of a body, or of another text.
pub fn buffer(buffer: Buffer, size: usize) -> Option<Vec<u8>> {
    // SAFETY: `returned` passes pointers that are valid for the call.
    returned(|data, got| unsafe { proxy_get_buffer_bytes(buffer as u32, 0, size, data, got) })
}

/// Sends a request of the module's own. The context `root`, which must be a root context, hears of its end by this token,
/// whatever becomes of the stream at hand, whose context is `stream`.
pub fn call(root: u32, stream: u32, call: &Call) -> Result<u32, Refused> {
    let (upstream, headers) = (call.cluster.as_bytes(), call.headers.as_bytes());
    let (body, trailers) = (call.body.as_slice(), call.trailers.as_bytes());
    let timeout = u32::try_from(call.timeout_ms).unwrap_or(u32::MAX);
    let mut token = 0;
    // SAFETY: no pointers.
    done(unsafe { proxy_set_effective_context(root) })?;
    // SAFETY: the host reads all of it and writes `token` during the call.
    let status = unsafe {
        proxy_http_call(
            upstream.as_ptr(),
            upstream.len(),
            headers.as_ptr(),
            headers.len(),
            body.as_ptr(),
            body.len(),
            trailers.as_ptr(),
            trailers.len(),
            timeout,
            &raw mut token,
        )
    };
    // SAFETY: no pointers. The stream's context is there as long as its callback runs.
    unsafe { proxy_set_effective_context(stream) };
    done(status).map(|()| token)
}

/// Says that a root context whose end was put off may be deleted now.
pub fn root_is_done(root: u32) {
    // SAFETY: no pointers.
    unsafe {
        if proxy_set_effective_context(root) == OK {
            proxy_done();
        }
    }
}

/// A property of the stream at hand; the parts of `path` are joined by NUL.
pub fn property(path: &[u8]) -> Option<Vec<u8>> {
    // SAFETY: the host reads `path` during the call; `returned` passes pointers that are valid for the call.
    returned(|data, size| unsafe { proxy_get_property(path.as_ptr(), path.len(), data, size) })
}

/// A value that all VMs of this `vm_id` share, with the number that a compare-and-swap needs.
pub fn shared(key: &str) -> (Option<Vec<u8>>, u32) {
    let mut cas = 0;
    // SAFETY: the host reads `key` and writes `cas` during the call.
    let value =
        returned(|data, size| unsafe { proxy_get_shared_data(key.as_ptr(), key.len(), data, size, &raw mut cas) });
    (value, cas)
}

/// Sets a shared value, provided that it is still as [`shared`] returned it (`cas` 0: whatever it is).
pub fn set_shared(key: &str, value: &[u8], cas: u32) -> Result<(), Refused> {
    // SAFETY: the host reads both during the call.
    done(unsafe { proxy_set_shared_data(key.as_ptr(), key.len(), value.as_ptr(), value.len(), cas) })
}

/// Defines a metric, or finds the one that has this name already.
pub fn define_metric(kind: MetricType, name: &str) -> Option<u32> {
    let mut id = 0;
    // SAFETY: the host reads `name` and writes `id` during the call.
    let status = unsafe { proxy_define_metric(kind as u32, name.as_ptr(), name.len(), &raw mut id) };
    (status == OK).then_some(id)
}

/// Adds to a counter.
pub fn increment_metric(id: u32, by: u64) {
    // SAFETY: no pointers.
    unsafe { proxy_increment_metric(id, i64::try_from(by).unwrap_or(i64::MAX)) };
}

/// Sets a gauge.
pub fn record_metric(id: u32, value: u64) {
    // SAFETY: no pointers.
    unsafe { proxy_record_metric(id, value) };
}

fn done(status: u32) -> Result<(), Refused> {
    if status == OK { Ok(()) } else { Err(Refused) }
}

/// Runs a call that returns data. The host puts the bytes into memory that it got from our own allocator, through
/// `proxy_on_memory_allocate`, as a block of exactly the size that it reports.
fn returned(call: impl FnOnce(*mut *mut u8, *mut usize) -> u32) -> Option<Vec<u8>> {
    let mut data: *mut u8 = ptr::null_mut();
    let mut size = 0;
    if call(&raw mut data, &raw mut size) != OK {
        return None;
    }
    if data.is_null() {
        return Some(Vec::new());
    }
    // SAFETY: see above: a block of `size` bytes from this module's allocator that is ours now.
    Some(unsafe { Vec::from_raw_parts(data, size, size) })
}
