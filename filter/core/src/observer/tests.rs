//! A simulated host, and the stories that the observer is told.

mod carried;
mod config;
mod copies;
mod noise;
mod primaries;
#[cfg(not(target_arch = "wasm32"))]
mod random;
mod sending;
mod time;

use std::cell::Cell;

use super::{Admission, Diagnostics, Facts, Observer, Output, Ticket};
use crate::config::Mirror;
use crate::divergence::Kind;
use crate::headers::HeaderBlock;
use crate::outcome::{Incomplete, Outcome, Skip};
use crate::stats::{Record, Tally};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
const ID: &str = "0e2d5b0c-1d3a-4f1e-9a65-0123456789ab";
const NAME: &str = "default/hello";

/// What was recorded of a pair.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    outcome: Outcome,
    method: String,
    path: String,
    statuses: Option<(u16, u16)>,
    latencies: Option<(u64, u64)>,
    places: Vec<(String, Kind, Tally)>,
    secondary: bool,
}

impl From<&Record<'_>> for Entry {
    fn from(record: &Record<'_>) -> Self {
        let places = record.places.iter().map(|(place, kind, tally)| (place.to_string(), *kind, *tally)).collect();
        Self {
            outcome: record.outcome,
            method: record.method.to_owned(),
            path: record.path.to_owned(),
            statuses: record.statuses,
            latencies: record.latencies,
            places,
            secondary: record.secondary,
        }
    }
}

/// What the host says of one stream, and how often it was asked.
#[derive(Default)]
struct Stream {
    connection: bool,
    config: Option<String>,
    route: Option<String>,
    origin: Option<String>,
    /// None where it is empty.
    cluster: String,
    local: bool,
    asked: Cell<usize>,
}

impl Stream {
    fn count(&self) {
        self.asked.set(self.asked.get() + 1);
    }
}

impl Facts for Stream {
    fn has_connection(&mut self) -> bool {
        self.count();
        self.connection
    }

    fn mirror_config(&mut self) -> Option<Vec<u8>> {
        self.count();
        self.config.clone().map(String::into_bytes)
    }

    fn route_name(&mut self) -> Option<Vec<u8>> {
        self.count();
        self.route.clone().map(String::into_bytes)
    }

    fn route_origin(&mut self) -> Option<Vec<u8>> {
        self.count();
        self.origin.clone().map(String::into_bytes)
    }

    fn cluster(&mut self) -> Option<Vec<u8>> {
        self.count();
        (!self.cluster.is_empty()).then(|| self.cluster.clone().into_bytes())
    }

    fn is_from_upstream(&mut self) -> bool {
        self.count();
        !self.local
    }
}

/// Output that is kept.
#[derive(Debug, Default)]
struct Kept {
    counts: Vec<(String, u64)>,
    lines: Vec<String>,
}

impl Output for Kept {
    fn count(&mut self, name: &str, n: u64) {
        self.counts.push((name.to_owned(), n));
    }

    fn log(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }
}

/// A configuration: the smallest one with `extra` fields.
fn mirror(extra: &str) -> Mirror {
    let comma = if extra.is_empty() { "" } else { "," };
    let json =
        format!(r#"{{"version":1,"name":"{NAME}","candidate":{{"cluster":"v2"}},"hosts":["hello"]{comma}{extra}}}"#);
    Mirror::from_json(json.as_bytes()).expect("a configuration")
}

/// An Envoy worker with one mirror.
struct Host {
    observer: Observer,
    json: String,
    mark: String,
    now: u64,
}

impl Host {
    fn new() -> Self {
        Self::with("")
    }

    /// With `extra` fields in the mirror's configuration.
    fn with(extra: &str) -> Self {
        let mut host =
            Self { observer: Observer::new(7), json: String::new(), mark: String::new(), now: 1000 * SECOND };
        host.configure(extra);
        host
    }

    fn configure(&mut self, extra: &str) {
        let mirror = mirror(extra);
        self.json = mirror.to_json();
        self.mark = format!("{NAME}/{}", mirror.fingerprint());
    }

    fn primary_facts(&self) -> Stream {
        Stream { connection: true, config: Some(self.json.clone()), cluster: "v1".into(), ..Stream::default() }
    }

    fn shadow_facts(cluster: &str) -> Stream {
        Stream { cluster: cluster.into(), ..Stream::default() }
    }

    fn request(&mut self, headers: &[(&str, &str)], facts: &mut Stream) -> Admission {
        let mut all = vec![(":method", "GET"), (":path", "/a?x=1"), ("x-mirror", self.mark.as_str())];
        all.extend(headers);
        // A later `x-mirror` or `:method` stands for another one, not for a second.
        all.reverse();
        let mut seen = std::collections::HashSet::new();
        all.retain(|(name, _)| seen.insert(*name));
        self.observer.on_request(self.now, HeaderBlock::from_pairs(&all), facts)
    }

    /// A primary that is observed.
    fn primary(&mut self, pair: &str) -> Ticket {
        let facts = &mut self.primary_facts();
        observed(self.request(&[("x-mirror-pair", pair), ("x-request-id", ID)], facts)).0
    }

    /// A copy with the role of its policy that is observed.
    fn copy(&mut self, role: &str, pair: &str) -> Ticket {
        let headers = [("x-mirror-role", role), ("x-mirror-pair", pair), ("x-request-id", ID)];
        observed(self.request(&headers, &mut Self::shadow_facts("v2"))).0
    }

    fn shadow(&mut self, pair: &str) -> Ticket {
        self.copy("shadow", pair)
    }

    fn headers(&mut self, ticket: Ticket, headers: &[(&str, &str)]) {
        let facts = &mut self.primary_facts();
        self.observer.on_response_headers(ticket, HeaderBlock::from_pairs(headers), facts);
    }

    fn complete(&mut self, ticket: Ticket) {
        let facts = &mut self.primary_facts();
        self.observer.on_complete(self.now, ticket, facts);
    }

    fn gone(&mut self, ticket: Ticket) {
        let facts = &mut self.primary_facts();
        self.observer.on_gone(self.now, ticket, facts);
    }

    /// A part of a body, as a host offers it. Whether it was wanted.
    fn body(&mut self, ticket: Ticket, bytes: &[u8]) -> bool {
        let wanted = self.observer.wants_body(ticket, bytes.len());
        if wanted {
            self.observer.on_body(ticket, bytes);
        }
        wanted
    }

    /// A whole answer with these headers (beside the status) and this body.
    fn answer_with(&mut self, ticket: Ticket, status: &str, headers: &[(&str, &str)], body: &str) {
        let mut all = vec![(":status", status)];
        all.extend(headers);
        self.headers(ticket, &all);
        self.body(ticket, body.as_bytes());
        self.complete(ticket);
        self.gone(ticket);
    }

    fn answer(&mut self, ticket: Ticket, status: &str) {
        self.answer_with(ticket, status, &[], "hello");
    }

    fn pass(&mut self, time: u64) {
        self.now += time;
    }

    fn tick(&mut self) {
        self.observer.on_tick(self.now);
    }

    fn journal(&self) -> &[Entry] {
        self.observer
            .mirrors
            .by_name(NAME)
            .map_or(&[], |mirror| &self.observer.mirrors.get(mirror).expect("a known mirror").journal)
    }

    fn outcomes(&self) -> Vec<Outcome> {
        self.journal().iter().map(|entry| entry.outcome).collect()
    }

    fn open(&self) -> usize {
        self.observer.table.total().count
    }

    fn bytes(&self) -> usize {
        self.observer.table.total().bytes
    }

    fn diagnostics(&self) -> Diagnostics {
        self.observer.diagnostics
    }

    fn flush(&mut self) -> Kept {
        let mut kept = Kept::default();
        self.observer.flush(self.now, &mut kept);
        kept
    }
}

fn observed(admission: Admission) -> (Ticket, Vec<(&'static str, String)>) {
    match admission {
        Admission::Observe { ticket, set_headers } => (ticket, set_headers),
        Admission::Ignore => panic!("the stream was ignored"),
    }
}

fn ignored(admission: &Admission) -> bool {
    matches!(admission, Admission::Ignore)
}

fn incomplete(reason: Incomplete) -> Vec<Outcome> {
    vec![Outcome::Incomplete(reason)]
}

fn skipped(reason: Skip) -> Vec<Outcome> {
    vec![Outcome::Skipped(reason)]
}
