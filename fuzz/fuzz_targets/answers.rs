//! Whole answers: statuses, headers, trailers and bodies in every encoding. An answer equals itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mirror_core::answer::Answer;
use mirror_core::compare::{Plan, compare};
use mirror_core::config::{Caps, Mirror, Rules, Sampling, Target, VERSION};
use mirror_core::headers::HeaderBlock;

const ENCODINGS: [&str; 8] = ["", "gzip", "deflate", "br", "zstd", "identity", "gzip, br", "x"];
const TYPES: [&str; 8] = [
    "application/json",
    "text/plain",
    "application/grpc",
    "text/event-stream",
    "application/x-ndjson",
    "image/png",
    "",
    "application/problem+json; charset=utf-8",
];

fn answer(status: u16, choice: u8, extra: (&[u8], &[u8]), body: &[u8]) -> Answer {
    let encoding = ENCODINGS[usize::from(choice) % ENCODINGS.len()].as_bytes();
    let content_type = TYPES[usize::from(choice / 8) % TYPES.len()].as_bytes();
    let all: [(&[u8], &[u8]); 4] = [
        (b"content-encoding", encoding),
        (b"content-type", content_type),
        extra,
        (b"set-cookie", extra.1),
    ];
    let headers: Vec<_> = all.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    Answer {
        status,
        headers: HeaderBlock::from_pairs(&headers),
        body: body.to_vec(),
        overflow: None,
        trailers: HeaderBlock::from_pairs(&[extra]),
    }
}

type Side<'a> = (u16, u8, &'a [u8], &'a [u8], &'a [u8]);

fuzz_target!(|input: (Side, Side)| {
    let mirror = Mirror {
        version: VERSION,
        name: "fuzz/fuzz".into(),
        candidate: Target { cluster: "c".into(), knative: None },
        secondary: None,
        hosts: vec!["h".into()],
        methods: vec!["GET".into()],
        sampling: Sampling::Selector,
        split: false,
        rules: Rules::default(),
        caps: Caps { decoded_bytes: 100_000, ..Caps::default() },
    };
    let plan = Plan::new(&mirror);
    let side = |(status, choice, name, value, body): Side| answer(status, choice, (name, value), body);
    let (primary, shadow) = (side(input.0), side(input.1));
    let same = compare(&plan, "GET", &primary, &primary);
    assert!(same.divergences.is_empty(), "an answer differs from itself: {:?}", same.divergences);
    let _ = compare(&plan, "GET", &primary, &shadow);
    let _ = compare(&plan, "HEAD", &shadow, &primary);
});
