//! The module before the router: a simulated host that passes clients' requests and sends the copies that it is told to.

mod answers;
mod budgets;
mod calls;
#[cfg(not(target_arch = "wasm32"))]
mod random;
mod requests;

use super::super::{Call, Passing, Roster};
use super::*;
use crate::config::Sending;

const TOKEN: &str = "0123abcd";
/// By this a server's answers are told from those that Envoy makes up.
const FROM_UPSTREAM: (&str, &str) = ("x-envoy-upstream-service-time", "1");
/// The context that hears of calls.
const ROOT: u32 = 1;

/// How a module is told of a mirror; `selection` has fields beside those that must be there.
fn told(mirror: &str, selection: &str) -> String {
    format!(r#"{{"mirror":{mirror},"selection":{{"millionths":1000000,"token":"{TOKEN}"{selection}}}}}"#)
}

/// The smallest mirror with this name and these hosts.
fn named(name: &str, hosts: &str) -> (String, String) {
    let mirror = format!(r#"{{"version":1,"name":"{name}","candidate":{{"cluster":"v2"}},"hosts":{hosts}}}"#);
    (name.to_owned(), told(&mirror, ""))
}

/// A copy under way.
struct Sent {
    token: u32,
    call: Call,
}

/// An Envoy worker whose module sends the copies.
struct Proxy {
    host: Host,
    roster: Roster,
    /// The token of the call before.
    token: u32,
    /// The cluster that cannot be called.
    nowhere: &'static str,
}

impl Proxy {
    /// With these mirrors.
    fn of(mirrors: Vec<(String, String)>) -> Self {
        let mut proxy = Self { host: Host::new(), roster: Roster::default(), token: 0, nowhere: "" };
        proxy.configure(mirrors);
        proxy
    }

    /// With one mirror, which has `extra` fields.
    fn with(extra: &str) -> Self {
        Self::selecting(extra, "")
    }

    /// With one mirror whose selection has fields of its own.
    fn selecting(extra: &str, selection: &str) -> Self {
        Self::of(vec![(NAME.to_owned(), told(&mirror(extra).to_json(), selection))])
    }

    fn new() -> Self {
        Self::with("")
    }

    fn configure(&mut self, mirrors: Vec<(String, String)>) {
        let text = Sending { mirrors }.to_json().to_string();
        self.roster = self.host.observer.on_configuration(text.as_bytes()).expect("mirrors");
    }

    /// A client's request headers, over those that each request has.
    fn pass_by(&mut self, headers: &[(&str, &str)], facts: &mut Stream) -> Passing {
        let usual =
            [(":method", "GET"), (":authority", "hello"), (":path", "/a?x=1"), ("x-request-id", ID)].into_iter();
        let others = usual.filter(|(name, _)| headers.iter().all(|(other, _)| other != name));
        let all: Vec<_> = others.chain(headers.iter().copied()).collect();
        self.host.observer.on_passing(self.host.now, &self.roster, HeaderBlock::from_pairs(&all), facts)
    }

    fn pass(&mut self, headers: &[(&str, &str)]) -> Passing {
        let facts = &mut self.host.primary_facts();
        self.pass_by(headers, facts)
    }

    /// A request that is followed.
    fn follow(&mut self, headers: &[(&str, &str)]) -> Ticket {
        self.pass(headers).ticket.expect("it is followed")
    }

    /// A part of a request's body, as a host offers it. Whether it was wanted.
    fn upload(&mut self, ticket: Ticket, bytes: &[u8]) -> bool {
        let wanted = self.host.observer.wants_request_body(ticket, bytes.len());
        if wanted {
            self.host.observer.on_request_body(ticket, bytes);
        }
        wanted
    }

    fn end_with(&mut self, ticket: Ticket, trailers: &[(&str, &str)], root: u32) -> Vec<Sent> {
        let (now, observer) = (self.host.now, &mut self.host.observer);
        let mut sent = Vec::new();
        for call in observer.on_request_end(now, ticket, HeaderBlock::from_pairs(trailers)) {
            if !observer.may_send(&call) {
                continue;
            }
            if call.cluster == self.nowhere {
                observer.on_unsent(&call);
                continue;
            }
            self.token += 1;
            observer.on_sent(now, &call, self.token, root);
            sent.push(Sent { token: self.token, call });
        }
        sent
    }

    /// The request is whole. What was sent.
    fn end(&mut self, ticket: Ticket) -> Vec<Sent> {
        self.end_with(ticket, &[], ROOT)
    }

    /// A whole request, and the token of its only copy.
    fn request(&mut self) -> (Ticket, u32) {
        let ticket = self.follow(&[]);
        let sent = self.end(ticket);
        assert_eq!(sent.len(), 1);
        (ticket, sent[0].token)
    }

    fn primary_headers(&mut self, ticket: Ticket, headers: &[(&str, &str)]) {
        let facts = &mut self.host.primary_facts();
        self.host.observer.on_primary_headers(ticket, HeaderBlock::from_pairs(headers), facts);
    }

    fn primary_gone(&mut self, ticket: Ticket) {
        let facts = &mut self.host.primary_facts();
        self.host.observer.on_primary_gone(self.host.now, ticket, facts);
    }

    /// The primary's whole answer.
    fn answer(&mut self, ticket: Ticket, status: &str) {
        self.primary_headers(ticket, &[(":status", status)]);
        self.host.body(ticket, b"hello");
        self.host.complete(ticket);
        self.primary_gone(ticket);
    }

    /// What became of a copy: its answer's headers, if it was answered. The ticket for the rest of it.
    fn hear(&mut self, token: u32, headers: Option<&[(&str, &str)]>) -> Option<Ticket> {
        let facts = &mut self.host.primary_facts();
        self.host.observer.on_answer(self.host.now, token, headers.map(HeaderBlock::from_pairs), facts)
    }

    /// A copy's whole answer.
    fn copy_answer(&mut self, token: u32, status: &str) {
        if let Some(ticket) = self.hear(token, Some(&[(":status", status), FROM_UPSTREAM])) {
            self.host.body(ticket, b"hello");
            self.host.complete(ticket);
        }
    }

    /// Envoy's own answer in the place of a server's.
    fn copy_refused(&mut self, token: u32, status: &str) {
        assert_eq!(self.hear(token, Some(&[(":status", status)])), None);
    }

    fn copy_cut(&mut self, token: u32) {
        assert_eq!(self.hear(token, None), None);
    }

    fn pass_time(&mut self, time: u64) {
        self.host.pass(time);
        self.host.tick();
    }

    /// Nothing is open, neither pairs nor copies, and nothing is accounted for them.
    fn assert_empty(&self) {
        assert_eq!((self.host.open(), self.host.bytes()), (0, 0));
        assert_eq!(self.host.observer.flights.total(), Default::default());
        assert_eq!(self.host.observer.calls_of(ROOT), 0);
    }
}
