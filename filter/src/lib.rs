//! The proxy-wasm module: a thin layer between Envoy's callbacks and [`mirror_core::observer`].
//!
//! It stands in the router's `upstream_http_filters`, where it sees the stream to the primary and the stream to the
//! shadow, both on one worker and so in one VM. It never pauses, buffers or changes a response. All that it ever changes is
//! a shadow's request headers, and that it takes away the header that carries a mirror's configuration to it.
//!
//! - `abi.rs`: what Envoy calls
//! - `host.rs`: what Envoy is called for, none of which can panic
//! - `metrics.rs`: metric names to the host's ids
//! - `alive.rs`: the sign of life by which a report sees that a VM has died
//! - this file: what is done in a callback

mod abi;
mod alive;
mod host;
mod metrics;

use std::cell::RefCell;

use mirror_core::config::carried;
use mirror_core::headers::HeaderBlock;
use mirror_core::observer::{Admission, Facts, Observer, Output, Ticket};
use mirror_core::sorted::Sorted;
use mirror_core::stats::names::{Metric, Text};

use crate::alive::Alive;
use crate::host::{Map, MetricType};
use crate::metrics::Metrics;

/// How often counts are handed to Envoy and overdue pairs are ended. A flush costs a host call for each counter that
/// moved, so it happens beside the traffic and not in it.
const TICK_MS: u32 = 1000;

/// The most streams that are observed at once. The pair table ends far earlier; this holds even if a stream's end never came.
const MOST_STREAMS: usize = 1 << 16;

/// What one VM, and so one worker, knows. All callbacks of a VM run on one thread.
struct Worker {
    observer: Observer,
    metrics: Metrics,
    alive: Alive,
    /// The streams under observation that have not ended: one upstream stream is a primary's try, or a shadow.
    streams: Sorted<u32, Ticket>,
    /// The root context that was configured last.
    root: u32,
    /// The host has ended the root context: no tick will come any more, but streams may still be under way.
    ending: bool,
}

thread_local! {
    static WORKER: RefCell<Option<Worker>> = const { RefCell::new(None) };
}

/// Runs `f` on this worker's state. A callback inside a callback (which Envoy does not do) would find it taken and
/// does nothing.
fn with_worker(f: impl FnOnce(&mut Worker)) {
    let _ = WORKER.try_with(|cell| {
        if let Ok(mut worker) = cell.try_borrow_mut()
            && let Some(worker) = worker.as_mut()
        {
            f(worker);
        }
    });
}

impl Worker {
    fn start() -> Self {
        let version = Text::new(env!("CARGO_PKG_VERSION"));
        if let Some(build) = host::define_metric(MetricType::Gauge, &Metric::Build { version }.encode()) {
            host::record_metric(build, 1);
        }
        // The clock is as good a seed as any: a client cannot know it to the nanosecond.
        let observer = Observer::new(host::now());
        Self {
            observer,
            metrics: Metrics::default(),
            alive: Alive::claim(),
            streams: Sorted::new(),
            root: 0,
            ending: false,
        }
    }

    fn flush(&mut self, now: u64) {
        self.observer.flush(now, &mut self.metrics);
    }

    /// After something that may have concluded a pair.
    fn settle(&mut self, now: u64) {
        if self.ending {
            self.flush(now);
        }
    }

    /// The response of an observed stream is there in full.
    fn complete(&mut self, stream: u32) {
        if let Some(ticket) = self.streams.remove(&stream) {
            let now = host::now();
            self.observer.on_complete(now, ticket, &mut StreamFacts);
            self.settle(now);
        }
    }
}

fn on_configure(root: u32) -> bool {
    let started = WORKER.try_with(|cell| {
        if let Ok(mut worker) = cell.try_borrow_mut() {
            // A VM that served an earlier configuration goes on with its pairs.
            let worker = worker.get_or_insert_with(Worker::start);
            worker.root = root;
            worker.ending = false;
        }
    });
    started.is_ok() && host::set_tick_period(TICK_MS).is_ok()
}

fn on_tick() {
    let now = host::now();
    with_worker(|worker| {
        worker.observer.on_tick(now);
        worker.flush(now);
        worker.alive.beat(now);
    });
}

fn on_request_headers(stream: u32) {
    let Some(headers) = host::headers(Map::RequestHeaders).and_then(HeaderBlock::parse) else { return };
    #[cfg(all(feature = "trap", target_arch = "wasm32"))]
    if headers.get("x-mirror-test-trap").is_some() {
        core::arch::wasm32::unreachable();
    }
    if headers.get(carried::HEADER).is_some() {
        // It is meant for this module and nobody else. What the primary lacks its copies and further tries lack too.
        let _ = host::remove_request_header(carried::HEADER);
    }
    let now = host::now();
    with_worker(|worker| {
        let admission = worker.observer.on_request(now, headers, &mut StreamFacts);
        worker.settle(now);
        if let Admission::Observe { ticket, set_headers } = admission {
            // The pair of a stream that has no room here ends when its time to live does.
            if worker.streams.len() < MOST_STREAMS {
                worker.streams.insert(stream, ticket);
            }
            for (name, value) in set_headers {
                // A shadow whose headers the host will not change is still a shadow; it is compared as it is.
                let _ = host::set_request_header(name, &value);
            }
        }
    });
}

fn on_response_headers(stream: u32, end: bool) {
    with_worker(|worker| {
        let Some(ticket) = worker.streams.get(&stream).copied() else { return };
        if let Some(headers) = host::headers(Map::ResponseHeaders).and_then(HeaderBlock::parse) {
            worker.observer.on_response_headers(ticket, headers, &mut StreamFacts);
        }
        if end {
            worker.complete(stream);
        }
    });
}

fn on_response_body(stream: u32, size: usize, end: bool) {
    with_worker(|worker| {
        let Some(ticket) = worker.streams.get(&stream).copied() else { return };
        if size > 0 && worker.observer.wants_body(ticket, size) {
            match host::response_body(size) {
                Some(bytes) => worker.observer.on_body(ticket, &bytes),
                None => worker.observer.on_body_lost(ticket),
            }
        }
        if end {
            worker.complete(stream);
        }
    });
}

fn on_response_trailers(stream: u32) {
    with_worker(|worker| {
        let Some(ticket) = worker.streams.get(&stream).copied() else { return };
        if let Some(trailers) = host::headers(Map::ResponseTrailers).and_then(HeaderBlock::parse) {
            worker.observer.on_trailers(ticket, trailers);
        }
        worker.complete(stream);
    });
}

fn on_done(context: u32) {
    with_worker(|worker| {
        if let Some(ticket) = worker.streams.remove(&context) {
            let now = host::now();
            worker.observer.on_gone(now, ticket, &mut StreamFacts);
            worker.settle(now);
        } else if context == worker.root {
            worker.ending = true;
            worker.flush(host::now());
            worker.alive.retire();
        }
    });
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
}

impl Output for Metrics {
    fn count(&mut self, name: &str, n: u64) {
        self.add(name, n);
    }

    fn log(&mut self, line: &str) {
        host::log(line);
    }
}
