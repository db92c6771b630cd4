//! Streams behind the router: primaries and the shadows that Envoy makes of them.

use mirror_core::config::carried;
use mirror_core::headers::HeaderBlock;
use mirror_core::observer::Admission;

use crate::worker::{MOST_STREAMS, Stream, Worker};
use crate::{StreamFacts, host};

pub fn on_request_headers(worker: &mut Worker, stream: u32, headers: HeaderBlock) {
    if headers.get(carried::HEADER).is_some() {
        // It is meant for this module and nobody else. What the primary lacks its copies and further tries lack too.
        let _ = host::remove_request_header(carried::HEADER);
    }
    let now = host::now();
    let admission = worker.observer.on_request(now, headers, &mut StreamFacts);
    worker.settle(now);
    if let Admission::Observe { ticket, set_headers } = admission {
        // The pair of a stream that has no room here ends when its time to live does.
        if worker.streams.len() < MOST_STREAMS {
            worker.streams.insert(stream, Stream::Upstream(ticket));
        }
        for (name, value) in set_headers {
            // A shadow whose headers the host will not change is still a shadow; it is compared as it is.
            let _ = host::set_request_header(name, &value);
        }
    }
}
