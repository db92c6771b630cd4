//! What one VM, and so one worker, knows. All callbacks of a VM run on one thread.

use std::cell::RefCell;

use mirror_core::observer::{Observer, Output, Roster, Ticket};
use mirror_core::sorted::Sorted;
use mirror_core::stats::names::{Metric, Text};

use crate::StreamFacts;
use crate::alive::Alive;
use crate::host::{self, Buffer, MetricType};
use crate::metrics::Metrics;

/// The most streams that are observed at once. The pair table ends far earlier; this holds even if a stream's end never came.
pub const MOST_STREAMS: usize = 1 << 16;

/// Where a stream is met.
#[derive(Clone, Copy)]
pub enum Stand {
    /// Behind the router.
    Upstream,
    /// Before it, by the filter whose root context this is.
    Downstream {
        /// The root context.
        root: u32,
    },
}

/// A stream under observation.
#[derive(Clone, Copy)]
pub enum Stream {
    /// A primary's try, or a shadow.
    Upstream(Ticket),
    /// A client's.
    Downstream {
        /// The root context of the filter that met it.
        root: u32,
        /// Its handle.
        ticket: Ticket,
    },
}

impl Stream {
    pub const fn ticket(self) -> Ticket {
        match self {
            Self::Upstream(ticket) | Self::Downstream { ticket, .. } => ticket,
        }
    }
}

/// A root context: one configuration of the filter in one place.
struct Root {
    /// The mirrors whose copies are sent from here; `None` behind the router.
    roster: Option<Roster>,
    /// Whether a stream has shown that the filter stands before the router.
    is_checked: bool,
    /// The host wants to delete it, and waits for the copies that are under way.
    is_ending: bool,
}

/// What one VM knows.
pub struct Worker {
    pub observer: Observer,
    metrics: Metrics,
    alive: Alive,
    /// The streams under observation that have not ended.
    pub streams: Sorted<u32, Stream>,
    /// The context that was created last, and its root: the host creates a stream's right before its first callback.
    pub created: (u32, u32),
    roots: Sorted<u32, Root>,
    /// The root context that was configured last.
    latest: u32,
}

thread_local! {
    static WORKER: RefCell<Option<Worker>> = const { RefCell::new(None) };
}

/// Runs `f` on this worker's state. A callback inside a callback (which Envoy does not do) would find it taken and
/// does nothing.
pub fn with_worker(f: impl FnOnce(&mut Worker)) {
    let _ = WORKER.try_with(|cell| {
        if let Ok(mut worker) = cell.try_borrow_mut()
            && let Some(worker) = worker.as_mut()
        {
            f(worker);
        }
    });
}

/// Takes a root context's configuration. A VM that served an earlier one goes on with its pairs.
pub fn configure(root: u32, text: &[u8]) -> bool {
    let started = WORKER.try_with(|cell| {
        if let Ok(mut worker) = cell.try_borrow_mut() {
            match worker.as_mut() {
                Some(worker) => worker.configure(root, text),
                None => *worker = Some(Worker::start(root, text)),
            }
        }
    });
    started.is_ok()
}

impl Worker {
    fn start(root: u32, text: &[u8]) -> Self {
        let version = Text::new(env!("CARGO_PKG_VERSION"));
        if let Some(build) = host::define_metric(MetricType::Gauge, &Metric::Build { version }.encode()) {
            host::record_metric(build, 1);
        }
        // The clock is as good a seed as any: a client cannot know it to the nanosecond.
        let mut observer = Observer::new(host::now());
        let roster = observer.on_configuration(text);
        let mut worker = Self {
            observer,
            metrics: Metrics::default(),
            alive: Alive::claim(roster.is_some()),
            streams: Sorted::new(),
            created: (0, 0),
            roots: Sorted::new(),
            latest: 0,
        };
        worker.add_root(root, roster);
        worker
    }

    fn configure(&mut self, root: u32, text: &[u8]) {
        let roster = self.observer.on_configuration(text);
        self.add_root(root, roster);
    }

    fn add_root(&mut self, root: u32, roster: Option<Roster>) {
        self.roots.insert(root, Root { roster, is_checked: false, is_ending: false });
        self.latest = root;
    }

    /// Where the filter stands that meets this stream for the first time: before the router if its configuration names
    /// mirrors, and it is there indeed.
    pub fn stand_of(&mut self, stream: u32) -> Stand {
        let (created, parent) = self.created;
        let root = if created == stream { parent } else { self.latest };
        let Some(known) = self.roots.get_mut(&root).filter(|known| known.roster.is_some()) else {
            return Stand::Upstream;
        };
        if !known.is_checked {
            known.is_checked = true;
            // Only behind the router a server has been chosen. Copies made there would be copied once more.
            if host::property(b"upstream\0address").is_some() {
                known.roster = None;
                host::log("kubectl-mirror: this configuration is for a filter before the router; nothing is copied");
                return Stand::Upstream;
            }
        }
        Stand::Downstream { root }
    }

    /// The observer, with the mirrors of a root context.
    pub fn observer_and_roster(&mut self, root: u32) -> Option<(&mut Observer, &Roster)> {
        let roster = self.roots.get(&root)?.roster.as_ref()?;
        Some((&mut self.observer, roster))
    }

    pub fn tick(&mut self, now: u64) {
        self.observer.on_tick(now);
        self.flush(now);
        self.alive.beat(now);
    }

    fn flush(&mut self, now: u64) {
        self.observer.flush(now, &mut self.metrics);
    }

    /// After something that may have concluded a pair. Once the host has ended all root contexts no tick will come any
    /// more, but streams may still be under way.
    pub fn settle(&mut self, now: u64) {
        if self.roots.is_empty() {
            self.flush(now);
        }
    }

    /// Takes a part of a response's body, where it is wanted.
    pub fn take_body(&mut self, ticket: Ticket, buffer: Buffer, size: usize) {
        if size > 0 && self.observer.wants_body(ticket, size) {
            match host::buffer(buffer, size) {
                Some(bytes) => self.observer.on_body(ticket, &bytes),
                None => self.observer.on_body_lost(ticket),
            }
        }
    }

    /// The response of an observed stream is there in full.
    pub fn complete(&mut self, stream: u32) {
        let followed = match self.streams.get(&stream) {
            // A client's stream is followed until it is gone: its request may be under way still.
            Some(Stream::Downstream { ticket, .. }) => Some(*ticket),
            Some(Stream::Upstream(_)) => self.streams.remove(&stream).map(Stream::ticket),
            None => None,
        };
        if let Some(ticket) = followed {
            let now = host::now();
            self.observer.on_complete(now, ticket, &mut StreamFacts);
            self.settle(now);
        }
    }

    /// An observed stream is gone.
    pub fn gone(&mut self, followed: Stream) {
        let now = host::now();
        match followed {
            Stream::Upstream(ticket) => self.observer.on_gone(now, ticket, &mut StreamFacts),
            Stream::Downstream { ticket, .. } => self.observer.on_primary_gone(now, ticket, &mut StreamFacts),
        }
        self.settle(now);
    }

    pub fn is_root(&self, context: u32) -> bool {
        self.roots.get(&context).is_some()
    }

    /// The host wants to delete a root context. Whether it may at once: with it would go the copies that are under way.
    pub fn root_ends(&mut self, root: u32) -> bool {
        if self.observer.calls_of(root) > 0
            && let Some(root) = self.roots.get_mut(&root)
        {
            root.is_ending = true;
            return false;
        }
        self.forget_root(root);
        true
    }

    /// After a copy has ended: a root context that waited for the last one may go.
    pub fn let_go_of(&mut self, root: u32) {
        if self.roots.get(&root).is_some_and(|root| root.is_ending) && self.observer.calls_of(root) == 0 {
            self.forget_root(root);
            host::root_is_done(root);
        }
    }

    fn forget_root(&mut self, root: u32) {
        self.roots.remove(&root);
        if self.roots.is_empty() {
            self.flush(host::now());
            self.alive.retire();
        }
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
