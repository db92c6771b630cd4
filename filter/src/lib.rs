//! The proxy-wasm module: a thin layer between Envoy's callbacks and [`mirror_core::observer`].
//!
//! It stands in the router's `upstream_http_filters`, where it sees the stream to the primary and the stream to the
//! shadow, both on one worker and so in one VM. It never pauses, buffers or changes a response; the only thing that it
//! ever changes is a shadow's request headers.
//!
//! - `host.rs`: every host call, none of which can panic
//! - `metrics.rs`: metric names to the host's ids
//! - `alive.rs`: the sign of life by which a report sees that a VM has died
//! - this file: the contexts that Envoy calls

mod alive;
mod host;
mod metrics;

use std::cell::RefCell;

use mirror_core::headers::HeaderBlock;
use mirror_core::observer::{Admission, Facts, Observer, Output, Ticket};
use mirror_core::stats::names::{Metric, Text};
use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{Action, ContextType};

use crate::alive::Alive;
use crate::host::{Map, MetricType};
use crate::metrics::Metrics;

/// How often counts are handed to Envoy and overdue pairs are ended. A flush costs a host call for each counter that
/// moved, so it happens beside the traffic and not in it.
const TICK_MS: u32 = 1000;

#[allow(missing_docs, reason = "made by the macro")]
mod entry {
    proxy_wasm::main! {{
        proxy_wasm::set_root_context(|_| Box::new(super::Root));
    }}
}

/// What one VM, and so one worker, knows. All contexts of a VM run on one thread.
struct Worker {
    observer: Observer,
    metrics: Metrics,
    alive: Alive,
    /// The host has ended the root context: no tick will come any more, but streams may still be under way.
    ending: bool,
}

thread_local! {
    static WORKER: RefCell<Option<Worker>> = const { RefCell::new(None) };
}

/// Runs `f` on this worker's state. A callback inside a callback (which Envoy does not do) would find it taken and
/// does nothing.
fn with_worker<T>(f: impl FnOnce(&mut Worker) -> T) -> Option<T> {
    WORKER.try_with(|cell| cell.try_borrow_mut().ok().and_then(|mut worker| worker.as_mut().map(f))).ok().flatten()
}

impl Worker {
    fn start() -> Self {
        let version = Text::new(env!("CARGO_PKG_VERSION"));
        if let Some(build) = host::define_metric(MetricType::Gauge, &Metric::Build { version }.encode()) {
            host::record_metric(build, 1);
        }
        // The clock is as good a seed as any: a client cannot know it to the nanosecond.
        let now = host::now();
        let alive = Alive::claim();
        // A VM that dies before its first tick has lived too.
        alive.beat(now);
        Self { observer: Observer::new(now), metrics: Metrics::default(), alive, ending: false }
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
}

struct Root;

impl Context for Root {
    fn on_done(&mut self) -> bool {
        with_worker(|worker| {
            worker.ending = true;
            worker.flush(host::now());
            worker.alive.retire();
        });
        true
    }
}

impl RootContext for Root {
    fn on_configure(&mut self, _size: usize) -> bool {
        let started = WORKER.try_with(|cell| {
            if let Ok(mut worker) = cell.try_borrow_mut() {
                // A VM that served an earlier configuration goes on with its pairs.
                worker.get_or_insert_with(Worker::start).ending = false;
            }
        });
        started.is_ok() && host::set_tick_period(TICK_MS).is_ok()
    }

    fn on_tick(&mut self) {
        let now = host::now();
        with_worker(|worker| {
            worker.observer.on_tick(now);
            worker.flush(now);
            worker.alive.beat(now);
        });
    }

    fn create_http_context(&self, _context_id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(Stream { ticket: None, complete: false }))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}

/// One upstream stream: a primary's try, or a shadow.
struct Stream {
    ticket: Option<Ticket>,
    complete: bool,
}

impl Stream {
    fn complete(&mut self) {
        let Some(ticket) = self.ticket else { return };
        if self.complete {
            return;
        }
        self.complete = true;
        let now = host::now();
        with_worker(|worker| {
            worker.observer.on_complete(now, ticket, &mut StreamFacts);
            worker.settle(now);
        });
    }
}

impl Context for Stream {
    fn on_done(&mut self) -> bool {
        if let Some(ticket) = self.ticket
            && !self.complete
        {
            let now = host::now();
            with_worker(|worker| {
                worker.observer.on_gone(now, ticket, &mut StreamFacts);
                worker.settle(now);
            });
        }
        true
    }
}

impl HttpContext for Stream {
    fn on_http_request_headers(&mut self, _count: usize, _end_of_stream: bool) -> Action {
        let Some(headers) = host::headers(Map::RequestHeaders).and_then(HeaderBlock::parse) else {
            return Action::Continue;
        };
        #[cfg(all(feature = "trap", target_arch = "wasm32"))]
        if headers.get("x-mirror-test-trap").is_some() {
            core::arch::wasm32::unreachable();
        }
        let now = host::now();
        let admission = with_worker(|worker| {
            let admission = worker.observer.on_request(now, headers, &mut StreamFacts);
            worker.settle(now);
            admission
        });
        if let Some(Admission::Observe { ticket, set_headers }) = admission {
            for (name, value) in set_headers {
                // A shadow whose headers the host will not change is still a shadow; it is compared as it is.
                let _ = host::set_request_header(name, &value);
            }
            self.ticket = Some(ticket);
        }
        Action::Continue
    }

    fn on_http_response_headers(&mut self, _count: usize, end_of_stream: bool) -> Action {
        let Some(ticket) = self.ticket else { return Action::Continue };
        if let Some(headers) = host::headers(Map::ResponseHeaders).and_then(HeaderBlock::parse) {
            with_worker(|worker| worker.observer.on_response_headers(ticket, headers, &mut StreamFacts));
        }
        if end_of_stream {
            self.complete();
        }
        Action::Continue
    }

    fn on_http_response_body(&mut self, size: usize, end_of_stream: bool) -> Action {
        let Some(ticket) = self.ticket else { return Action::Continue };
        if size > 0 && with_worker(|worker| worker.observer.wants_body(ticket, size)) == Some(true) {
            match host::response_body(size) {
                Some(bytes) => with_worker(|worker| worker.observer.on_body(ticket, &bytes)),
                None => with_worker(|worker| worker.observer.on_body_lost(ticket)),
            };
        }
        if end_of_stream {
            self.complete();
        }
        Action::Continue
    }

    fn on_http_response_trailers(&mut self, _count: usize) -> Action {
        let Some(ticket) = self.ticket else { return Action::Continue };
        if let Some(trailers) = host::headers(Map::ResponseTrailers).and_then(HeaderBlock::parse) {
            with_worker(|worker| worker.observer.on_trailers(ticket, trailers));
        }
        self.complete();
        Action::Continue
    }
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
