//! The core's data cases, through a real Envoy: real servers give both answers, and the metrics must name exactly the
//! differences that each case lists.

use std::collections::BTreeSet;

use http::Method;
use mirror_core::testing::{self, FILES, Side};
use mirror_tests::backend::Reply;
use mirror_tests::cases;
use mirror_tests::client::Protocol;
use mirror_tests::on_each_way;

fn reply(side: &Side) -> Reply {
    let mut reply = Reply::status(side.status.unwrap_or(200));
    for (name, value) in side.headers.iter().flatten() {
        reply = reply.header(name, value);
    }
    let body = side.body.as_ref().map_or(Vec::new(), |body| body.bytes().expect("the bytes of a body"));
    if !body.is_empty() {
        reply = reply.body(body);
    }
    for (name, value) in side.trailers.iter().flatten() {
        reply = reply.trailer(name, value);
    }
    reply
}

fn case(case: &testing::Case) -> cases::Case {
    let mut made = cases::Case::new(&case.name, reply(&case.primary), reply(&case.whole_shadow()));
    made.request.method = Method::from_bytes(case.method.as_bytes()).expect("a method");
    made.rules = case.rules.clone();
    made.caps = case.caps.clone();
    made
}

#[test]
fn the_cores_cases_hold_in_a_real_envoy() {
    let read = |(file, text): &(&str, &str)| testing::read(text).unwrap_or_else(|error| panic!("{file}: {error}"));
    let cases: Vec<_> = FILES.iter().flat_map(read).filter(|case| case.wire).collect();
    let made: Vec<_> = cases.iter().map(case).collect();
    on_each_way(async |binary, way| {
        // HTTP/2, since only there trailers travel unasked.
        let mut wrong = Vec::new();
        for (counts, case) in cases::run(binary, way, Protocol::Http2, &made).await.iter().zip(&cases) {
            let outcome = match (&case.skipped, case.divergences.is_empty()) {
                (_, false) => "diverged".to_owned(),
                (Some(reason), true) => format!("skipped ({reason})"),
                (None, true) => "match".to_owned(),
            };
            let expected: BTreeSet<_> = case.divergences.iter().map(|d| format!("{} {}", d.place, d.kind)).collect();
            let found: BTreeSet<_> = counts.diverged().into_keys().collect();
            if !counts.outcomes.contains_key(&outcome) || found != expected {
                wrong.push(format!("{}: {:?} {found:?} instead of {outcome} {expected:?}", case.name, counts.outcomes));
            }
        }
        assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    });
}
