//! Streams before the router: clients' requests, which are copied as they pass, and the copies' answers.

use mirror_core::headers::HeaderBlock;
use mirror_core::observer::Ticket;

use crate::host::{Buffer, Map};
use crate::worker::{MOST_STREAMS, Stream, Worker};
use crate::{StreamFacts, host};

pub fn on_request_headers(worker: &mut Worker, root: u32, stream: u32, headers: HeaderBlock, end: bool) {
    let now = host::now();
    let has_room = worker.streams.len() < MOST_STREAMS;
    let Some((observer, roster)) = worker.observer_and_roster(root) else { return };
    let passing = observer.on_passing(now, roster, headers, &mut StreamFacts);
    for name in passing.remove {
        // It stays where the host will not take it away; it means nothing on a request that is not copied.
        let _ = host::remove_request_header(name);
    }
    let Some(ticket) = passing.ticket.filter(|_| has_room) else { return };
    worker.streams.insert(stream, Stream::Downstream { root, ticket });
    if end {
        on_request_end(worker, root, stream, ticket, HeaderBlock::default());
    }
}

pub fn on_request_body(worker: &mut Worker, root: u32, stream: u32, ticket: Ticket, size: usize, end: bool) {
    if size > 0 && worker.observer.wants_request_body(ticket, size) {
        match host::buffer(Buffer::RequestBody, size) {
            Some(bytes) => worker.observer.on_request_body(ticket, &bytes),
            None => worker.observer.on_request_body_lost(ticket),
        }
    }
    if end {
        on_request_end(worker, root, stream, ticket, HeaderBlock::default());
    }
}

/// The request is whole: its copies are sent.
pub fn on_request_end(worker: &mut Worker, root: u32, stream: u32, ticket: Ticket, trailers: HeaderBlock) {
    let now = host::now();
    for call in worker.observer.on_request_end(now, ticket, trailers) {
        if !worker.observer.may_send(&call) {
            continue;
        }
        match host::call(root, stream, &call) {
            Ok(token) => worker.observer.on_sent(now, &call, token, root),
            Err(host::Refused) => worker.observer.on_unsent(&call),
        }
    }
}

/// A copy is answered, or (`answered` false) its answer had begun and was cut.
pub fn on_call_response(worker: &mut Worker, root: u32, token: u32, answered: bool, size: usize, has_trailers: bool) {
    let now = host::now();
    let headers = if answered { host::headers(Map::CallHeaders).and_then(HeaderBlock::parse) } else { None };
    if let Some(ticket) = worker.observer.on_answer(now, token, headers, &mut StreamFacts) {
        worker.take_body(ticket, Buffer::CallBody, size);
        if has_trailers && let Some(trailers) = host::headers(Map::CallTrailers).and_then(HeaderBlock::parse) {
            worker.observer.on_trailers(ticket, trailers);
        }
        worker.observer.on_complete(now, ticket, &mut StreamFacts);
    }
    worker.settle(now);
    worker.let_go_of(root);
}
