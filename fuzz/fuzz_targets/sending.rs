//! The observer before the router: any configuration, and any sequence of callbacks with any headers and bodies, in any
//! order. Nothing panics, no copy has a mark that a client wrote, and the pairs that were counted never exceed the requests
//! that came.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mirror_core::config::{Caps, Mirror, MirrorSpec, Rules, Sampling, Selection, Sending, Target, VERSION};
use mirror_core::headers::HeaderBlock;
use mirror_core::observer::{Call, Facts, Observer, Output, Roster, Ticket};
use mirror_core::stats::names::Metric;

const NAME: &str = "fuzz/fuzz";

struct Host {
    cluster: Option<&'static [u8]>,
    local: bool,
    pairs: u64,
}

impl Facts for Host {
    fn has_connection(&mut self) -> bool {
        true
    }

    fn mirror_config(&mut self) -> Option<Vec<u8>> {
        None
    }

    fn route_name(&mut self) -> Option<Vec<u8>> {
        None
    }

    fn route_origin(&mut self) -> Option<Vec<u8>> {
        None
    }

    fn cluster(&mut self) -> Option<Vec<u8>> {
        self.cluster.map(<[u8]>::to_vec)
    }

    fn is_from_upstream(&mut self) -> bool {
        !self.local
    }
}

impl Output for Host {
    fn count(&mut self, name: &str, n: u64) {
        if let Some(Metric::Pairs { .. }) = Metric::decode(name) {
            self.pairs += n;
        }
    }

    fn log(&mut self, line: &str) {
        assert!(!line.contains('\n'));
    }
}

/// A configuration: this text, one whose only mirror it is, or a good one.
fn configuration(choice: u8, text: &[u8]) -> Vec<u8> {
    let mirror = match choice % 4 {
        0 => return text.to_vec(),
        1 => String::from_utf8_lossy(text).into_owned(),
        _ => good(choice).to_json(),
    };
    Sending { mirrors: vec![(NAME.into(), mirror)] }.to_json().to_string().into_bytes()
}

fn good(choice: u8) -> MirrorSpec {
    let target = |cluster: &str| Target { cluster: cluster.into(), knative: None };
    let mirror = Mirror {
        version: VERSION,
        name: NAME.into(),
        candidate: target("candidate"),
        secondary: (choice & 4 != 0).then(|| target("secondary")),
        hosts: vec![if choice & 8 != 0 { "*" } else { "h" }.into()],
        methods: vec!["GET".into()],
        sampling: Sampling::Selector,
        split: choice & 16 != 0,
        rules: Rules::default(),
        caps: Caps {
            pairs: 8,
            pair_bytes: 20_000,
            body_bytes: 1000,
            pair_ttl_ms: 1000,
            copies: 4,
            copy_bytes: 4000,
            copy_timeout_ms: 500,
            ..Caps::default()
        },
    };
    let selection = Selection { token: "0123abcd".into(), ..Selection::everything() };
    MirrorSpec { mirror, selection, candidate_host: None, secondary_host: None }
}

/// A request's headers: the usual ones, and each line of `bytes` as one more.
fn request(which: u8, bytes: &[u8]) -> HeaderBlock {
    let mut headers: Vec<(&[u8], &[u8])> = vec![
        (b":method", b"GET"),
        (b":authority", if which & 64 != 0 { bytes } else { b"h" }),
        (b":path", if which & 128 != 0 { bytes } else { b"/" }),
    ];
    headers.extend(bytes.split(|byte| *byte == b'\n').filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        Some((&line[..colon], &line[colon + 1..]))
    }));
    HeaderBlock::from_pairs(&headers)
}

fn check(call: &Call) {
    let block = HeaderBlock::parse(call.headers.as_bytes().to_vec()).expect("a well-formed block");
    let count = |name: &[u8]| block.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name)).count();
    for name in [&b"x-mirror"[..], b"x-mirror-role", b"x-mirror-pair"] {
        assert!(count(name) == 1, "{call:?}");
    }
    for name in [&b"x-mirror-config"[..], b"connection", b"transfer-encoding", b"x-envoy-retry-on"] {
        assert!(count(name) == 0, "{call:?}");
    }
}

fuzz_target!(|input: (u8, &[u8], Vec<(u8, u8, &[u8])>)| {
    let (choice, text, steps) = input;
    let mut observer = Observer::new(u64::from(choice));
    let Some(mut roster): Option<Roster> = observer.on_configuration(&configuration(choice, text)) else { return };
    let mut host = Host { cluster: None, local: false, pairs: 0 };
    let mut tickets: Vec<Ticket> = Vec::new();
    let (mut now, mut requests, mut calls) = (0_u64, 0_u64, 0_u32);

    for (what, which, bytes) in steps {
        now = now.wrapping_add(u64::from(which) * 10_000_000);
        let ticket = tickets.get(usize::from(which) % tickets.len().max(1)).copied();
        let token = calls.wrapping_sub(u32::from(which % 8));
        match (what % 18, ticket) {
            (0 | 1, _) => {
                requests += 1;
                host.cluster =
                    [Some(&b"primary"[..]), Some(b"secondary"), Some(b"candidate"), None][usize::from(which % 4)];
                tickets.extend(observer.on_passing(now, &roster, request(which, bytes), &mut host).ticket);
            }
            (2, Some(ticket)) => {
                if observer.wants_request_body(ticket, bytes.len()) {
                    observer.on_request_body(ticket, bytes);
                }
            }
            (3 | 4, Some(ticket)) => {
                let trailers = HeaderBlock::from_pairs(&[("x-t", bytes)]);
                for call in observer.on_request_end(now, ticket, trailers) {
                    check(&call);
                    if !observer.may_send(&call) {
                        continue;
                    }
                    if which & 8 != 0 {
                        observer.on_unsent(&call);
                    } else {
                        calls = calls.wrapping_add(1);
                        observer.on_sent(now, &call, calls, u32::from(which % 2));
                    }
                }
            }
            (5, Some(ticket)) => observer.on_request_body_lost(ticket),
            (6, Some(ticket)) => {
                host.local = which & 64 != 0;
                let status = [b'2', b'0', b'0' + which % 10];
                let headers: [(&[u8], &[u8]); 2] = [(b":status", &status), (b"content-type", bytes)];
                observer.on_primary_headers(ticket, HeaderBlock::from_pairs(&headers), &mut host);
            }
            (7, Some(ticket)) => {
                if observer.wants_body(ticket, bytes.len()) {
                    observer.on_body(ticket, bytes);
                }
            }
            (8, Some(ticket)) => observer.on_trailers(ticket, HeaderBlock::from_pairs(&[("x-t", bytes)])),
            (9, Some(ticket)) => observer.on_complete(now, ticket, &mut host),
            (10, Some(ticket)) => observer.on_primary_gone(now, ticket, &mut host),
            (11, Some(ticket)) => observer.on_body_lost(ticket),
            (12, _) => {
                let status: &[u8] = if which & 32 != 0 { b"200" } else { b"504" };
                let served: &[u8] = if which & 64 != 0 { b"x-envoy-upstream-service-time" } else { b"x-other" };
                let headers: [(&[u8], &[u8]); 3] = [(b":status", status), (b"content-type", bytes), (served, b"1")];
                tickets.extend(observer.on_answer(now, token, Some(HeaderBlock::from_pairs(&headers)), &mut host));
            }
            (13, _) => assert!(observer.on_answer(now, token, None, &mut host).is_none()),
            (14, _) => observer.on_tick(now),
            (15, _) => roster = observer.on_configuration(&configuration(which, bytes)).unwrap_or(roster),
            (16, _) => assert!(observer.calls_of(0) + observer.calls_of(1) <= 4096),
            _ => observer.flush(now, &mut host),
        }
    }
    observer.on_tick(now);
    observer.on_tick(now.saturating_add(700_000_000_000));
    observer.flush(now, &mut host);
    assert!(host.pairs <= requests, "{} pairs of {requests} requests", host.pairs);
});
