//! The proxy-wasm module: a thin layer between Envoy's callbacks and [`mirror_core::observer`].
//!
//! It finds out where it stands. In the router's `upstream_http_filters` it sees the stream to the primary and the stream to
//! the shadow, both on one worker and so in one VM; Envoy makes the copies. As a filter before the router (an Istio
//! WasmPlugin) it sees the clients' streams alone, and sends the copies itself.
//!
//! In both places it never pauses, buffers or changes a request or a response. All that it ever changes is request headers:
//! a shadow's, those by which a client passes a request off as a shadow, and the one that carries a mirror's configuration
//! to it.
//!
//! - `abi.rs`: what Envoy calls
//! - `host.rs`: what Envoy is called for, none of which can panic
//! - `worker.rs`: what one VM knows
//! - `upstream.rs`: what is done in a callback of a stream behind the router
//! - `downstream.rs`: what is done in one of a stream before it, and in one of a copy
//! - `metrics.rs`: metric names to the host's ids
//! - `alive.rs`: the sign of life by which a report sees that a VM has died
//! - this file: which of them a callback is for

mod abi;
mod alive;
mod downstream;
mod host;
mod metrics;
mod upstream;
mod worker;

use mirror_core::headers::HeaderBlock;
use mirror_core::observer::Facts;

use crate::host::{Buffer, Map};
use crate::worker::{Stand, Stream, with_worker};

/// How often counts are handed to Envoy and overdue pairs are ended. A flush costs a host call for each counter that
/// moved, so it happens beside the traffic and not in it.
const TICK_MS: u32 = 1000;

fn on_context_create(context: u32, parent: u32) {
    with_worker(|worker| worker.created = (context, parent));
}

fn on_configure(root: u32, size: usize) -> bool {
    let text = if size > 0 { host::buffer(Buffer::PluginConfiguration, size) } else { None };
    worker::configure(root, &text.unwrap_or_default()) && host::set_tick_period(TICK_MS).is_ok()
}

fn on_tick() {
    let now = host::now();
    with_worker(|worker| worker.tick(now));
}

fn on_request_headers(stream: u32, end: bool) {
    let Some(headers) = host::headers(Map::RequestHeaders).and_then(HeaderBlock::parse) else { return };
    #[cfg(all(feature = "trap", target_arch = "wasm32"))]
    if headers.get("x-mirror-test-trap").is_some() {
        core::arch::wasm32::unreachable();
    }
    with_worker(|worker| match worker.stand_of(stream) {
        Stand::Upstream => upstream::on_request_headers(worker, stream, headers),
        Stand::Downstream { root } => downstream::on_request_headers(worker, root, stream, headers, end),
    });
}

fn on_request_body(stream: u32, size: usize, end: bool) {
    with_worker(|worker| {
        if let Some(Stream::Downstream { root, ticket }) = worker.streams.get(&stream).copied() {
            downstream::on_request_body(worker, root, stream, ticket, size, end);
        }
    });
}

fn on_request_trailers(stream: u32) {
    with_worker(|worker| {
        if let Some(Stream::Downstream { root, ticket }) = worker.streams.get(&stream).copied() {
            let trailers = host::headers(Map::RequestTrailers).and_then(HeaderBlock::parse);
            downstream::on_request_end(worker, root, stream, ticket, trailers.unwrap_or_default());
        }
    });
}

fn on_response_headers(stream: u32, end: bool) {
    with_worker(|worker| {
        let Some(followed) = worker.streams.get(&stream).copied() else { return };
        if let Some(headers) = host::headers(Map::ResponseHeaders).and_then(HeaderBlock::parse) {
            match followed {
                Stream::Upstream(ticket) => worker.observer.on_response_headers(ticket, headers, &mut StreamFacts),
                Stream::Downstream { ticket, .. } => {
                    worker.observer.on_primary_headers(ticket, headers, &mut StreamFacts);
                }
            }
        }
        if end {
            worker.complete(stream);
        }
    });
}

fn on_response_body(stream: u32, size: usize, end: bool) {
    with_worker(|worker| {
        let Some(followed) = worker.streams.get(&stream).copied() else { return };
        worker.take_body(followed.ticket(), Buffer::ResponseBody, size);
        if end {
            worker.complete(stream);
        }
    });
}

fn on_response_trailers(stream: u32) {
    with_worker(|worker| {
        let Some(followed) = worker.streams.get(&stream).copied() else { return };
        if let Some(trailers) = host::headers(Map::ResponseTrailers).and_then(HeaderBlock::parse) {
            worker.observer.on_trailers(followed.ticket(), trailers);
        }
        worker.complete(stream);
    });
}

fn on_call_response(root: u32, token: u32, answered: bool, size: usize, has_trailers: bool) {
    with_worker(|worker| downstream::on_call_response(worker, root, token, answered, size, has_trailers));
}

fn on_done(context: u32) -> bool {
    let mut may_be_deleted = true;
    with_worker(|worker| {
        if let Some(followed) = worker.streams.remove(&context) {
            worker.gone(followed);
        } else if worker.is_root(context) {
            may_be_deleted = worker.root_ends(context);
        }
    });
    may_be_deleted
}

/// The facts of the stream whose callback is running.
struct StreamFacts;

impl Facts for StreamFacts {
    fn has_connection(&mut self) -> bool {
        host::property(b"connection_id").is_some()
    }

    fn mirror_config(&mut self) -> Option<Vec<u8>> {
        host::property(b"xds\0route_metadata\0filter_metadata\0kubectl-mirror\0config")
    }

    fn route_name(&mut self) -> Option<Vec<u8>> {
        host::property(b"xds\0route_name")
    }

    fn route_origin(&mut self) -> Option<Vec<u8>> {
        host::property(b"xds\0route_metadata\0filter_metadata\0istio\0config")
    }

    fn cluster(&mut self) -> Option<Vec<u8>> {
        host::property(b"xds\0cluster_name")
    }

    fn is_from_upstream(&mut self) -> bool {
        host::property(b"response\0code_details").is_some_and(|details| details == b"via_upstream")
    }
}
