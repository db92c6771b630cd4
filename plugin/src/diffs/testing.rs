//! Examples for tests.

use mirror_core::divergence::Kind;
use mirror_core::example::{Line, VERSION};
use mirror_core::place::Place;

use super::Example;

/// A value that differs between two answers with status 200.
pub fn line(place: &str, primary: &str, candidate: &str) -> Line {
    Line {
        v: VERSION,
        time: "2026-11-30T17:42:10.143Z".into(),
        mirror: "shop/cart".into(),
        pair: "4f6d-1".into(),
        endpoint: "GET /carts/{id}".into(),
        place: Place::from(place.to_owned()),
        kind: Kind::Value,
        primary: Some(primary.to_owned()),
        candidate: Some(candidate.to_owned()),
        statuses: Some((200, 200)),
        latencies_us: Some((1_821, 3_017)),
    }
}

/// The same as an example from a gateway.
pub fn example(place: &str, primary: &str, candidate: &str) -> Example {
    Example { gateway: Some("istio-system/gw-0".into()), line: line(place, primary, candidate) }
}
