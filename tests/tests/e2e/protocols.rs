//! What travels: trailers, gRPC, content encodings, large and streamed bodies, and answers without a body.

use std::io::Write;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use mirror_tests::backend::{Reply, Step};
use mirror_tests::cases;
use mirror_tests::client::{Answer, Protocol};
use mirror_tests::on_each_way;

/// A case and what must come of it.
#[derive(Clone)]
struct Case {
    case: cases::Case,
    outcome: &'static str,
    /// `PLACE KIND` of each difference, sorted.
    differs: &'static [&'static str],
}

impl Case {
    /// A GET that matches.
    fn new(name: &str, primary: Reply, candidate: Reply) -> Self {
        Self { case: cases::Case::new(name, primary, candidate), outcome: "match", differs: &[] }
    }

    fn request(mut self, method: Method, body: impl Into<Bytes>) -> Self {
        (self.case.request.method, self.case.request.body) = (method, body.into());
        self
    }

    fn header(mut self, name: &str, value: &str) -> Self {
        self.case.request = self.case.request.header(name, value);
        self
    }

    fn outcome(mut self, outcome: &'static str) -> Self {
        self.outcome = outcome;
        self
    }

    fn differs(mut self, places: &'static [&'static str]) -> Self {
        self.differs = places;
        self.outcome("diverged")
    }
}

fn run(protocol: Protocol, cases: &[Case]) {
    on_each_way(async |binary, way| {
        let plain: Vec<_> = cases.iter().map(|case| case.case.clone()).collect();
        for (counts, expected) in cases::run(binary, way, protocol, &plain).await.iter().zip(cases) {
            let name = &expected.case.name;
            let outcomes: Vec<_> = counts.outcomes.keys().map(String::as_str).collect();
            assert_eq!(outcomes, [expected.outcome], "{name}: {counts:#?}");
            let places = counts.diverged();
            assert_eq!(places.keys().map(String::as_str).collect::<Vec<_>>(), expected.differs, "{name}");
        }
    });
}

#[test]
fn trailers_are_passed_on_and_compared() {
    // HTTP/1.1 has trailers only where both sides said so.
    let body = |sum: &str| Reply::ok("body").header("trailer", "x-sum").trailer("x-sum", sum);
    let without = || Reply::ok("body").header("trailer", "x-sum").then(Step::Pause(Duration::ZERO));
    let cases = [
        Case::new("equal", body("1"), body("1")).header("te", "trailers"),
        Case::new("different", body("1"), body("2")).header("te", "trailers").differs(&["trailer:x-sum value"]),
        Case::new("lost", body("1"), without()).header("te", "trailers").differs(&["trailer:x-sum missing"]),
        Case::new("new", without(), body("1")).header("te", "trailers").differs(&["trailer:x-sum added"]),
    ];
    run(Protocol::Http2, &cases);
    run(Protocol::Http1, &cases);
}

/// A gRPC message in its frame.
fn framed(message: &[u8]) -> Bytes {
    let length = u32::try_from(message.len()).expect("a small message").to_be_bytes();
    [&[0], length.as_slice(), message].concat().into()
}

fn grpc(messages: &[&[u8]], status: &str) -> Reply {
    let reply = Reply::status(200).header("content-type", "application/grpc+proto");
    reply.pieces(messages.iter().map(|message| framed(message))).trailer("grpc-status", status)
}

#[test]
fn grpc_calls_are_compared_by_message_and_status() {
    let call = |case: Case| {
        let case = case.request(Method::POST, framed(b"\x0a\x05hello"));
        case.header("content-type", "application/grpc+proto").header("te", "trailers")
    };
    let failed = |status: &str| {
        let reply = Reply::status(200).header("content-type", "application/grpc+proto");
        reply.header("grpc-status", status).header("grpc-message", "no such thing")
    };
    let one = || grpc(&[b"\x08\x01"], "0");
    let three = || grpc(&[b"\x01", b"\x02", b"\x03"], "0");
    let cases = [
        call(Case::new("unary", one(), one())),
        call(Case::new("another answer", one(), grpc(&[b"\x08\x02"], "0"))).differs(&["body value"]),
        call(Case::new("another status", one(), grpc(&[b"\x08\x01"], "13"))).differs(&["trailer:grpc-status value"]),
        call(Case::new("a stream", three(), three())),
        call(Case::new("a longer stream", one(), grpc(&[b"\x08\x01", b"\x02"], "0"))).differs(&["body added"]),
        call(Case::new("equal errors without messages", failed("5"), failed("5"))),
        call(Case::new("an error instead of an answer", grpc(&[b"\x01"], "0"), failed("5"))).differs(&[
            "body missing",
            "trailer:grpc-message added",
            "trailer:grpc-status value",
        ]),
    ];
    run(Protocol::Http2, &cases);
}

fn gzip(text: &str, level: u32) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level));
    encoder.write_all(text.as_bytes()).expect("memory");
    encoder.finish().expect("memory")
}

fn deflate(text: &str, level: u32) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(level));
    encoder.write_all(text.as_bytes()).expect("memory");
    encoder.finish().expect("memory")
}

fn brotli(text: &str, level: u32) -> Vec<u8> {
    let mut packed = Vec::new();
    let quality = i32::try_from(level).expect("a small level");
    let parameters = brotli::enc::BrotliEncoderParams { quality, ..Default::default() };
    brotli::BrotliCompress(&mut text.as_bytes(), &mut packed, &parameters).expect("memory");
    packed
}

fn zstd(text: &str, level: u32) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), i32::try_from(level).expect("a small level")).expect("memory")
}

#[test]
fn encoded_bodies_are_compared_by_what_they_hold() {
    type Pack = fn(&str, u32) -> Vec<u8>;
    let codings: [(&str, Pack); 4] = [("gzip", gzip), ("deflate", deflate), ("br", brotli), ("zstd", zstd)];
    let list = |last: u32| {
        let items: Vec<_> = (0..500).map(|i| serde_json::json!({"id": i, "name": format!("item {i}")})).collect();
        serde_json::json!({"items": items, "last": last}).to_string()
    };
    let mut cases = Vec::new();
    for (coding, pack) in codings {
        let reply = |body: Vec<u8>| {
            let reply = Reply::ok(body).header("content-type", "application/json");
            reply.header("content-encoding", coding)
        };
        let (quick, thorough) = (pack(&list(1), 1), pack(&list(1), 9));
        assert_ne!(quick, thorough, "{coding}: the levels should make different bytes");
        cases.push(Case::new(coding, reply(quick.clone()), reply(thorough)));
        let other = Case::new(&format!("{coding}, another field"), reply(quick), reply(pack(&list(2), 9)));
        cases.push(other.differs(&["/last value"]));
    }
    run(Protocol::Http1, &cases);
}

#[test]
fn large_and_streamed_bodies_reach_the_client_whole() {
    let text = |reply: Reply| reply.header("content-type", "text/plain");
    let streamed = |last: &'static str| {
        let pieces = (0..100).map(|i| Bytes::from(format!("{i}:{}\n", "x".repeat(1000))));
        text(Reply::status(200)).pieces(pieces).body(last)
    };
    let whole = || text(Reply::ok(Answer::of(&streamed("end")).body));
    let huge = |fill: &str| Reply::ok(fill.repeat(5_000_000));
    let huge_pieces = || Reply::status(200).pieces((0..80).map(|_| Bytes::from(vec![b'z'; 64 * 1024])));
    let got = || Reply::ok("got it");
    let mut upload = Case::new("an upload", got(), got()).request(Method::POST, vec![b'u'; 300_000]);
    // What the module copies itself may be no larger than the bodies that it keeps.
    upload.case.caps.body_bytes = 300_000;
    let cases = [
        Case::new("streamed", streamed("end"), streamed("end")),
        Case::new("streamed, another end", streamed("end"), streamed("END")).differs(&["body value"]),
        Case::new("streamed and in one piece", streamed("end"), whole()),
        Case::new("huge", huge("a"), huge("b")).outcome("skipped (too_large)"),
        Case::new("huge and streamed", huge_pieces(), huge_pieces()).outcome("skipped (too_large)"),
        Case::new("huge beside small", Reply::ok("small"), huge("c")).outcome("skipped (too_large)"),
        upload,
    ];
    run(Protocol::Http1, &cases);
    run(Protocol::Http2, &cases);
}

#[test]
fn answers_without_a_body_are_compared_too() {
    let head = |case: Case| case.request(Method::HEAD, "");
    let tagged = |tag: &str| Reply::status(200).header("content-length", "5").header("x-tag", tag);
    let unchanged = || Reply::status(304).header("etag", "\"1\"");
    let cases = [
        head(Case::new("HEAD", tagged("a"), tagged("a"))),
        head(Case::new("HEAD that differs", tagged("a"), tagged("b"))).differs(&["header:x-tag value"]),
        Case::new("204", Reply::status(204), Reply::status(204)),
        Case::new("304", unchanged(), unchanged()),
        Case::new("204 and 200", Reply::status(204), Reply::status(200)).differs(&["status value"]),
        Case::new("empty", Reply::status(200), Reply::status(200)),
        Case::new("empty and not", Reply::ok("here"), Reply::status(200)).differs(&["body missing"]),
    ];
    run(Protocol::Http1, &cases);
    run(Protocol::Http2, &cases);
}
